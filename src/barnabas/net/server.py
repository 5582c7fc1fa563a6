"""A listener: requests in, handlers, answers out in the order of the requests.

    received ─▶ ServerConnection ─▶ requests ─┬─▶ prompt handler ─▶ answer ─┬─▶ one send
                                              │                             │
                                              └─▶ pending ─▶ worker: await ─┘
                                                             handler

One connection is a ``Session``. Its requests are handled one at a time and in their order; sessions
do not wait for each other. Most requests can be answered at once, and an API may have a *prompt*
handler for those: a plain function, called while the bytes are being read, whose answers leave in
one send with all others of that read. What it cannot answer at once (``LATER``) goes to the API's
coroutine. Coroutines run in workers, tasks that take over a session for as long as it has requests
pending and then wait for the next session; an idle connection has no task.

A handler answers with a response, or with None where the protocol has no answer (Produce with
acks=0).  It makes codes of refusals itself.  Whatever it raises is a bug and stops the node.

ApiVersions is answered here, from what is served.

**Bounds.** A frame is no larger than ``socket.request.max.bytes``; a session that has more than
``PENDING_BYTES_MAX`` waiting is not read until it has caught up; one whose answers are not taken is
not served until they are; one on which nothing happens for ``connections.max.idle.ms`` is closed;
beyond ``max.connections`` and ``max.connections.per.ip`` a newcomer is closed at once.

Non-obvious:

- A session that waits for a handler is not idle, however long that takes: who waits is ours.
- A peer that breaks the protocol gets the answers to what it asked before, then the end.
- A session whose peer is gone is served to its end all the same: what was read was sent, and a
  producer with acks=0 hangs up without waiting.
- An answer that cannot be written in the version that was asked (``LocalProtocolError``) is our
  mistake; nothing of it is sent, the connection closes and the log says so.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Final, cast

from barnabas.model.errors import LocalProtocolError, RemoteProtocolError
from barnabas.model.value import value
from barnabas.net.versions import NO_FEATURES, Features, answer, told_apis
from barnabas.runtime.clock import Timer
from barnabas.runtime.network import Address, Connection, Listener
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.connection import IncomingRequest, ServerConnection
from barnabas.wire.frames import FRAME_BYTES_MAX
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.structs import Request, Response

# A session with more than this pending is not read: as much as one read brings.
PENDING_BYTES_MAX: Final = 65_536

# A session with more than this unsent is not served.
UNSENT_BYTES_MAX: Final = 1_048_576

# Workers kept for the next session; a burst may need more for a while.
FREE_WORKERS_MAX: Final = 64

# Idle sessions are found at most this part of the idle time late: looking costs a pass over all.
IDLE_PASSES: Final = 16

log: Final = logging.getLogger("barnabas.net")


class Context:
    """What is known of a request beside the request.  Plain slots: one is made per request."""

    __slots__ = ("api_version", "client_id", "correlation_id", "listener", "peer")

    def __init__(
        self, listener: str, peer: Address, client_id: str, api_version: int, correlation_id: int
    ) -> None:
        self.listener: Final = listener
        """The name of the listener it came through."""
        self.peer: Final = peer
        """Where it came from."""
        self.client_id: Final = client_id
        self.api_version: Final = api_version
        self.correlation_id: Final = correlation_id

    def __repr__(self) -> str:
        return (
            f"v{self.api_version} #{self.correlation_id} of {self.client_id!r} "
            f"from {self.peer} at {self.listener}"
        )


class Later(Enum):
    """The word of a prompt handler that cannot answer at once; it must have done nothing yet."""

    LATER = "later"


LATER: Final = Later.LATER

Handler = Callable[[Context, Request], Awaitable[Response | None]]
PromptHandler = Callable[[Context, Request], Response | Later | None]


@value
class Limits:
    """How much of us one listener's clients may have; the defaults are Kafka's."""

    request_bytes_max: int = FRAME_BYTES_MAX
    """``socket.request.max.bytes``"""
    connections_max: int = 2_147_483_647
    """``max.connections``"""
    connections_per_ip_max: int = 2_147_483_647
    """``max.connections.per.ip``"""
    idle_ms: int = 600_000
    """``connections.max.idle.ms``; below zero for ever."""


KAFKAS_LIMITS: Final = Limits()


async def serve(
    runtime: Runtime,
    address: Address,
    served: ServedApis,
    handlers: Mapping[ApiKey, Handler],
    *,
    prompt: Mapping[ApiKey, PromptHandler] | None = None,
    name: str = "PLAINTEXT",
    limits: Limits = KAFKAS_LIMITS,
    features: Callable[[], Features] | None = None,
) -> "Server":
    """Listen and serve until ``close``; ``OSError`` if that address cannot be had."""
    server = Server(
        runtime, served, handlers, prompt=prompt, name=name, limits=limits, features=features
    )
    await server.listen(address)
    return server


class Server:
    """One listener and its sessions."""

    def __init__(
        self,
        runtime: Runtime,
        served: ServedApis,
        handlers: Mapping[ApiKey, Handler],
        *,
        prompt: Mapping[ApiKey, PromptHandler] | None = None,
        name: str = "PLAINTEXT",
        limits: Limits = KAFKAS_LIMITS,
        features: Callable[[], Features] | None = None,
    ) -> None:
        self.name: Final = name
        self.limits: Final = limits
        self.served: Final = served
        self.runtime: Final = runtime
        self.clock: Final = runtime.clock
        self.handlers: Final = dict(handlers)
        self.prompt: Final = {**(prompt or {}), ApiKey.API_VERSIONS: self._api_versions}
        self.sessions: Final[dict[Session, None]] = {}
        missing = [
            api.name
            for key, api in served.apis.items()
            if key not in self.handlers and key not in self.prompt
        ]
        assert not missing, f"{name} serves {', '.join(missing)} without a handler"
        self._told_apis: Final = told_apis(served)
        self._features: Final = features
        self._per_host: Final[dict[str, int]] = {}
        self._tasks: Final = runtime.tasks.child(f"net-{name}")
        self._free: Final[list[asyncio.Future[Session]]] = []
        self._workers = 0
        self._listener: Listener | None = None
        self._idle_timer: Timer | None = None

    @property
    def address(self) -> Address:
        """Where it listens; the port is the real one even if 0 was asked for."""
        assert self._listener is not None, f"{self.name} does not listen"
        return self._listener.address

    def __str__(self) -> str:
        return f"{self.runtime.tasks.name} {self.name}"

    async def listen(self, address: Address) -> None:
        """Begin to accept connections."""
        assert self._listener is None, f"{self.name} listens already"
        self._listener = await self.runtime.network.listen(address, self._accept)
        log.info("[%s] listening address=%s", self, self.address)

    async def close(self) -> None:
        """Accept no more, cancel handlers that wait, send what is answered, and end."""
        if self._listener is not None:
            self._listener.close()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        for session in list(self.sessions):
            session.connection.close()
        await self._tasks.close()

    # ---- sessions

    def _accept(self) -> "Session":
        return Session(self)

    def admit(self, session: "Session") -> str:
        """Take a session in; return why not, if not."""
        limits = self.limits
        host = session.peer.host
        here = self._per_host.get(host, 0)
        if len(self.sessions) >= limits.connections_max:
            return f"max.connections={limits.connections_max}"
        if here >= limits.connections_per_ip_max:
            return f"max.connections.per.ip={limits.connections_per_ip_max}"
        self._per_host[host] = here + 1
        self.sessions[session] = None
        if self._idle_timer is None and limits.idle_ms >= 0:
            self._look_for_idle_at(session.active_ms + limits.idle_ms)
        return ""

    def dismiss(self, session: "Session") -> None:
        """Forget a session that is over."""
        if session not in self.sessions:
            return
        del self.sessions[session]
        host = session.peer.host
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]
        if not self.sessions and self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def work(self, session: "Session") -> None:
        """Give a session a worker."""
        if self._free:
            self._free.pop().set_result(session)
        else:
            self._workers += 1
            self._tasks.spawn(self._worker(session), f"worker-{self._workers}")

    async def _worker(self, session: "Session") -> None:
        loop = asyncio.get_running_loop()
        while True:
            await session.catch_up()
            if len(self._free) >= FREE_WORKERS_MAX:
                return
            called: asyncio.Future[Session] = loop.create_future()
            self._free.append(called)
            session = await called

    # ---- idleness

    def _look_for_idle_at(self, at_ms: int) -> None:
        self._idle_timer = self.clock.call_at(at_ms, self._close_idle)

    def _close_idle(self) -> None:
        """Close what has been idle for too long; look again when the next may be."""
        self._idle_timer = None
        now_ms, idle_ms = self.clock.now_ms(), self.limits.idle_ms
        oldest_ms = now_ms
        for session in list(self.sessions):
            active_ms = session.last_active_ms(now_ms)
            if now_ms - active_ms < idle_ms:
                oldest_ms = min(oldest_ms, active_ms)
                continue
            log.debug("[%s] idle peer=%s ms=%s", self, session.peer, now_ms - active_ms)
            session.expire()
        if self.sessions:
            self._look_for_idle_at(max(oldest_ms + idle_ms, now_ms + idle_ms // IDLE_PASSES + 1))

    # ---- ApiVersions

    def _api_versions(self, context: Context, request: Request) -> ApiVersionsResponse:
        features = NO_FEATURES if self._features is None else self._features()
        return answer(
            self._told_apis, features, cast(ApiVersionsRequest, request), context.api_version
        )


class Session:
    """One connection of a client."""

    __slots__ = (
        "_error",
        "_paused",
        "_pending",
        "_pending_bytes",
        "_server",
        "_unsent_bytes",
        "_wire",
        "_working",
        "active_ms",
        "connection",
        "peer",
    )

    connection: Connection
    peer: Address

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self._wire: Final = ServerConnection(server.served, server.limits.request_bytes_max)
        # Requests behind the one that a worker has, and what they weigh.
        self._pending: Final[deque[IncomingRequest]] = deque()
        self._pending_bytes = 0
        self._working = False
        self._paused = False
        self._error: RemoteProtocolError | None = None
        self._unsent_bytes = 0
        self.active_ms = server.clock.now_ms()

    def opened(self, connection: Connection) -> None:
        """Take the connection, unless there are too many."""
        self.connection = connection
        self.peer = connection.remote
        why_not = self._server.admit(self)
        if why_not:
            log.info("[%s] refused peer=%s %s", self._server, self.peer, why_not)
            connection.close()

    def received(self, data: memoryview) -> int:
        """Read whole frames; answer what can be answered at once."""
        wire = self._wire
        self.active_ms = self._server.clock.now_ms()
        consumed, requests, error = wire.receive(data)
        if error is not None:
            self._broken(error)
        elif consumed < len(data):
            self.connection.expect(wire.wanted_bytes)
        if not self._working:
            self._answer_at_once(requests)
        else:
            self._pending.extend(requests)
        if self._working:
            self._pending_bytes += consumed
            if self._pending_bytes > PENDING_BYTES_MAX and not self._paused:
                self._paused = True
                self.connection.pause()
        elif self._error is not None:
            self.connection.close()
        return consumed

    def closed(self, error: Exception | None) -> None:
        """Forget the connection; what is pending is still handled."""
        self._server.dismiss(self)
        log.debug("[%s] closed peer=%s error=%s", self._server, self.peer, error)

    async def catch_up(self) -> None:
        """Handle what is pending, one after the other.  Runs in a worker."""
        pending, connection, handlers = self._pending, self.connection, self._server.handlers
        while pending:
            if connection.unsent_bytes > UNSENT_BYTES_MAX:
                await self._taken()
            request = pending[0]
            if not self._answered(request):
                context = self._context(request)
                self._reply(request, await handlers[request.api.key](context, request.message))
                self.active_ms = self._server.clock.now_ms()
            pending.popleft()
            self._send()
        self._working = False
        self._pending_bytes = 0
        if self._error is not None:
            connection.close()
        elif self._paused:
            self._paused = False
            connection.resume()

    async def _taken(self) -> None:
        """Return when the peer has taken what was sent, or is gone."""
        try:
            await self.connection.drained()
        except ConnectionError as gone:
            log.debug("[%s] not taken peer=%s error=%s", self._server, self.peer, gone)

    def last_active_ms(self, now_ms: int) -> int:
        """Return when something last happened."""
        unsent_bytes = self.connection.unsent_bytes
        if unsent_bytes != self._unsent_bytes or (self._working and not unsent_bytes):
            self._unsent_bytes = unsent_bytes
            self.active_ms = now_ms
        return self.active_ms

    def expire(self) -> None:
        """End for idleness."""
        if self.connection.unsent_bytes:
            # Closing would wait for a peer that has stopped to read.
            self.connection.abort()
        else:
            self.connection.close()

    def _answer_at_once(self, requests: list[IncomingRequest]) -> None:
        """Answer as many as can be, in one send; from the first that cannot, ask for a worker."""
        # What is answered at once in the simulator only most of the time may as well be answered
        # later on a host.
        later = self._server.runtime.probes.buggify("net.server.later")
        for at, request in enumerate(requests):
            later = later or self.connection.unsent_bytes > UNSENT_BYTES_MAX
            if later or not self._answered(request):
                self._pending.extend(requests[at:])
                self._working = True
                self._server.work(self)
                break
        self._send()

    def _answered(self, request: IncomingRequest) -> bool:
        """Answer by the prompt handler, if there is one and it can."""
        prompt = self._server.prompt.get(request.api.key)
        if prompt is None:
            return False
        response = prompt(self._context(request), request.message)
        if response is LATER:
            return False
        self._reply(request, response)
        return True

    def _send(self) -> None:
        parts = self._wire.to_send()
        if parts:
            self.connection.send(parts)

    def _context(self, request: IncomingRequest) -> Context:
        return Context(
            self._server.name, self.peer, request.client_id, request.version, request.correlation_id
        )

    def _reply(self, request: IncomingRequest, response: Response | None) -> None:
        try:
            self._wire.reply(request, response)
        except LocalProtocolError as ours:
            log.error(
                "[%s] unsendable peer=%s api=%s version=%s error=%s",
                self._server, self.peer, request.api.name, request.version, ours,
            )  # fmt: skip
            self.connection.abort()

    def _broken(self, error: RemoteProtocolError) -> None:
        """Learn that the peer broke the protocol: nothing it says from now on is heard."""
        self._error = error
        log.debug("[%s] broken peer=%s error=%s", self._server, self.peer, error)
        self._server.runtime.probes.trace("net.broken", listener=self._server.name, why=str(error))
