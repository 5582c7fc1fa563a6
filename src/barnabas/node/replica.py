"""One replica of the quorum, put together: its disk, its connections, its listener.

    ┌───────────────── Replica ─────────────────┐
    │  server ─▶ Quorum ─▶ peers                │
    │              │                            │
    │           storage     __cluster_metadata  │
    └───────────────────────────────────────────┘

A voter listens, an observer does not.  What stands on the log (a state machine, a metadata loader)
is handed in as listeners of the quorum.  The same parts in the simulator and on a host.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from barnabas.net.peers import Peers
from barnabas.net.server import Context, Server, serve
from barnabas.net.versions import Features
from barnabas.raft.asking import KRAFT_VERSION
from barnabas.raft.config import RaftConfig
from barnabas.raft.listener import Listener
from barnabas.raft.shell import Quorum
from barnabas.raft.storage import Storage
from barnabas.raft.voters import NO_VOTERS, VoterSet
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.structs import Request, Response

# What replicas ask each other, and what operators ask of a quorum.
QUORUM_APIS: Final = (
    ApiKey.FETCH,
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_RAFT_VOTER,
)


class Replica:
    """A running replica."""

    def __init__(self, quorum: Quorum, peers: Peers, server: Server | None) -> None:
        self.quorum: Final = quorum
        self.peers: Final = peers
        self.server: Final = server

    async def close(self, timeout_ms: int) -> None:
        """End in good order, within a time."""
        await self.quorum.stop(timeout_ms)
        if self.server is not None:
            await self.server.close()
        await self.peers.close()


async def open_replica(
    runtime: Runtime,
    config: RaftConfig,
    directory: str,
    listen: Address | None,
    configured: VoterSet = NO_VOTERS,
    listeners: Sequence[Listener] = (),
) -> Replica:
    """Read what is in the metadata directory, listen, and begin.

    ``OSError`` if the address cannot be had; whatever the disk says if it does not hold a replica.
    """
    storage = await Storage.open(runtime.disk, directory, configured, runtime.clock)
    peers = Peers(runtime, f"raft-client-{config.key.id}")
    quorum = Quorum(runtime, config, storage, peers.ask)
    server = None
    if listen is not None:
        server = await serve(
            runtime,
            listen,
            ServedApis("controller", (*QUORUM_APIS, ApiKey.API_VERSIONS)),
            {key: partial(answered, quorum) for key in QUORUM_APIS},
            name=config.listener,
            features=partial(told_features, quorum),
        )
    quorum.start(listeners)
    return Replica(quorum, peers, server)


async def answered(quorum: Quorum, context: Context, request: Request) -> Response:
    """Let the quorum answer."""
    return await quorum.answer(request, context.api_version)


def told_features(quorum: Quorum) -> Features:
    """Return what ApiVersions tells: the kraft.versions there could be, and the one in force."""
    low, high = quorum.config.versions
    node = quorum.node
    return Features(
        {KRAFT_VERSION: range(low, high + 1)},
        {KRAFT_VERSION: node.voters.version},
        node.high_watermark - 1,
    )
