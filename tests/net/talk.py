"""Both ends for tests: worlds to run in, a client that says exactly what it is told, handlers."""

import asyncio
import struct
from collections.abc import Callable
from typing import cast

from barnabas.model.errors import RemoteProtocolError
from barnabas.net.server import Context, Handler, Limits, PromptHandler, Server, serve
from barnabas.net.versions import Features
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.world import Settings
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.connection import ClientConnection, IncomingResponse
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.structs import Request, Response
from tests.host.process import run_on_host
from tests.runtime.network_contract import Main, Peer
from tests.sim.worlds import run_in_world

FETCH = 17

# Small enough that every message is cut, in any order between hosts.
NASTY = Settings(policy="random", slack_ns=50_000, window_bytes=4_096, buggify=True)


class OnHost:
    """Runs a test on this machine's loopback."""

    host = "127.0.0.1"

    def run(self, main: Main) -> None:
        run_on_host(main)


class InSim:
    """Runs a test in a simulated world."""

    host = "here"

    def run(self, main: Main) -> None:
        run_in_world(main)


class InNastySim:
    """Runs a test in several simulated worlds, none of them kind."""

    host = "here"

    def run(self, main: Main) -> None:
        for seed in range(1, 6):
            run_in_world(main, seed=seed, settings=NASTY)


class Caller(Peer):
    """A client that sends what it is told and remembers the answers."""

    def __init__(self) -> None:
        super().__init__()
        self.wire = ClientConnection("caller")
        self.answers: list[IncomingResponse] = []
        self.complaint: RemoteProtocolError | None = None

    def take(self, data: memoryview) -> int:
        consumed, responses, error = self.wire.receive(data)
        self.answers += responses
        self.complaint = self.complaint or error
        return consumed

    def ask(self, *asked: tuple[Request, int]) -> list[int]:
        """Send requests together; return their correlation ids."""
        ids = [self.wire.send(request, version) for request, version in asked]
        self.connection.send(self.wire.to_send())
        return ids

    async def answered(self, count: int) -> list[IncomingResponse]:
        """Return the answers once there are so many."""
        await self.until(lambda: len(self.answers) >= count)
        assert self.complaint is None
        assert len(self.answers) == count
        return self.answers


async def call(runtime: Runtime, address: Address) -> Caller:
    """Return a client connected there."""
    caller = Caller()
    await runtime.network.connect(address, caller, 10_000)
    return caller


def fetch(number: int) -> tuple[Request, int]:
    """Return a request that is known again by a number."""
    return FetchRequest(max_wait_ms=number), FETCH


def numbers(answers: list[IncomingResponse]) -> list[int]:
    """Return the numbers that answers to ``fetch`` carry."""
    return [cast(FetchResponse, it.message).session_id for it in answers]


def number_of(request: Request) -> int:
    """Return the number of a ``fetch``."""
    return cast(FetchRequest, request).max_wait_ms


async def echo(context: Context, request: Request) -> Response:
    """Answer with the number that came."""
    return FetchResponse(session_id=number_of(request))


def echo_at_once(context: Context, request: Request) -> Response:
    """Answer with the number that came, promptly."""
    return FetchResponse(session_id=number_of(request))


class Gate:
    """A handler that keeps requests waiting until a test lets them go."""

    def __init__(self) -> None:
        self.came: list[int] = []
        self.inside = 0
        self.most_inside = 0
        self._open: dict[int, asyncio.Event] = {}
        self._changed = asyncio.Event()

    async def __call__(self, context: Context, request: Request) -> Response:
        number = number_of(request)
        self.came.append(number)
        self._changed.set()
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        await self._event(number).wait()
        self.inside -= 1
        return FetchResponse(session_id=number)

    def let(self, *numbers: int) -> None:
        """Let these requests be answered, now or when they come."""
        for number in numbers:
            self._event(number).set()

    async def until_came(self, *numbers: int) -> None:
        """Return when exactly these have come, in this order."""
        while len(self.came) < len(numbers):
            self._changed.clear()
            await self._changed.wait()
        assert self.came == list(numbers)

    def _event(self, number: int) -> asyncio.Event:
        return self._open.setdefault(number, asyncio.Event())


async def serving(
    runtime: Runtime,
    host: str,
    handler: Handler = echo,
    *,
    port: int = 0,
    prompt: PromptHandler | None = None,
    limits: Limits | None = None,
    features: Callable[[], Features] | None = None,
) -> Server:
    """Serve Fetch, as a controller would, and ApiVersions."""
    return await serve(
        runtime,
        Address(host, port),
        ServedApis("controller", [ApiKey.FETCH, ApiKey.API_VERSIONS]),
        {ApiKey.FETCH: handler},
        prompt={ApiKey.FETCH: prompt} if prompt is not None else None,
        name="CONTROLLER",
        limits=limits or Limits(),
        features=features,
    )


def versions_of(response: object) -> dict[int, tuple[int, int]]:
    """Return what an answer to ApiVersions says is served."""
    assert isinstance(response, ApiVersionsResponse)
    return {it.api_key: (it.min_version, it.max_version) for it in response.api_keys}


def api_versions(name: str = "test", version: str = "1.0") -> ApiVersionsRequest:
    """Return a request as a client would make it."""
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


def raw_request(key: int, version: int, correlation_id: int, body: bytes = b"") -> bytes:
    """Return a frame that no codec would write."""
    rest = struct.pack(">hhih", key, version, correlation_id, -1) + body
    return struct.pack(">i", len(rest)) + rest
