"""One member of the quorum, put together: its disk, its connections, its listener.

    ┌───────────────── Member ──────────────────┐
    │  servers ─▶ Quorum ─▶ peers               │
    │               │                           │
    │            storage   __cluster_metadata   │
    └───────────────────────────────────────────┘

A voter listens on each of its endpoints, an observer has none.  What stands on the log (a state
machine, a metadata loader) is handed in as listeners of the quorum.  The same parts in the
simulator and on a host.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from barnabas.log.config import LogConfig
from barnabas.net.peers import Peers
from barnabas.net.server import Context, Server, serve
from barnabas.net.versions import Features
from barnabas.raft.asking import KRAFT_VERSION
from barnabas.raft.config import RaftConfig
from barnabas.raft.listener import Listener
from barnabas.raft.opening import METADATA_LOG
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


class Member:
    """A member at work."""

    def __init__(self, quorum: Quorum, peers: Peers, servers: Sequence[Server]) -> None:
        self.quorum: Final = quorum
        self.peers: Final = peers
        self.servers: Final = servers

    async def close(self, timeout_ms: int) -> None:
        """End in good order, within a time."""
        await self.quorum.stop(timeout_ms)
        for server in self.servers:
            await server.close()
        await self.peers.close()


async def open_member(
    runtime: Runtime,
    config: RaftConfig,
    directory: str,
    listen: Sequence[Address],
    configured: VoterSet = NO_VOTERS,
    listeners: Sequence[Listener] = (),
    log: LogConfig = METADATA_LOG,
    claims: bool = True,
) -> Member:
    """Read what is in the metadata directory, listen for each endpoint, and begin.

    ``claims`` is False where the broker of the node has claimed the directory.  ``OSError`` if an
    address cannot be had; what ``Storage.open`` says if the directory is not to be believed.
    """
    assert len(listen) == len(config.endpoints), f"{listen} for {config.endpoints}"
    storage = await Storage.open(runtime.disk, directory, configured, runtime.clock, log, claims)
    peers = Peers(runtime, f"raft-client-{config.key.id}")
    quorum = Quorum(runtime, config, storage, peers.ask)
    served = ServedApis("controller", (*QUORUM_APIS, ApiKey.API_VERSIONS))
    servers = [
        await serve(
            runtime,
            address,
            served,
            {key: partial(answered, quorum) for key in QUORUM_APIS},
            name=endpoint.listener,
            features=partial(told_features, quorum),
        )
        for endpoint, address in zip(config.endpoints, listen, strict=True)
    ]
    quorum.start(listeners)
    return Member(quorum, peers, servers)


async def answered(quorum: Quorum, context: Context, request: Request) -> Response:
    """Let the quorum answer."""
    return await quorum.answer(request, context.api_version, context.listener)


def told_features(quorum: Quorum) -> Features:
    """Return what ApiVersions tells: the kraft.versions there could be, and the one in force."""
    low, high = quorum.config.versions
    node = quorum.node
    return Features(
        {KRAFT_VERSION: range(low, high + 1)},
        {KRAFT_VERSION: node.voters.version},
        node.high_watermark - 1,
    )
