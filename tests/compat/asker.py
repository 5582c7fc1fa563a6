"""Questions to any node on loopback, one connection each, through ``net.peers``."""

import asyncio
from typing import Final

from barnabas.host.world import live
from barnabas.net.peers import Peers
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.structs import Request, Response

ANSWER_MS: Final = 10_000


def address_of(place: str) -> Address:
    """Return ``host:port`` as an address."""
    host, _, port = place.rpartition(":")
    return Address(host, int(port))


def ask(place: str, request: Request, version: int | None = None) -> Response:
    """Ask a node, in the newest version that both know or in the one given."""
    answers: list[Response] = []

    async def main(runtime: Runtime) -> None:
        peers = Peers(runtime, "asker")
        try:
            to = address_of(place)
            if version is None:
                answers.append(await peers.ask(to, request, ANSWER_MS))
            else:
                answers.append(await peers.ask_version(to, request, version, ANSWER_MS))
        finally:
            await peers.close()

    asyncio.run(live("asker", main))
    (answer,) = answers
    return answer
