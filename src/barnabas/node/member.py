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

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from barnabas.controller.handlers import handlers
from barnabas.controller.shell import Controller
from barnabas.log.config import LogConfig
from barnabas.net.peers import Peers
from barnabas.net.server import Context, Handler, Server, serve
from barnabas.net.versions import Features
from barnabas.node.features import of_quorum, told_features
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

    def __init__(
        self,
        quorum: Quorum,
        peers: Peers,
        servers: Sequence[Server],
        controller: Controller | None = None,
    ) -> None:
        self.quorum: Final = quorum
        self.controller: Final = controller
        self.peers: Final = peers
        self.servers: Final = servers

    async def close(self, timeout_ms: int) -> None:
        """End in good order, within a time."""
        await self.quorum.stop(timeout_ms)
        if self.controller is not None:
            await self.controller.stop()
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
    mind: Callable[[Quorum], Controller] | None = None,
) -> Member:
    """Read what is in the metadata directory, listen for each endpoint, and begin.

    ``claims`` is False where the broker of the node has claimed the directory.  ``mind`` makes the
    controller that decides when this member leads, if it is to have one.  ``OSError`` if an
    address cannot be had; what ``Storage.open`` says if the directory is not to be believed.
    """
    assert len(listen) == len(config.endpoints), f"{listen} for {config.endpoints}"
    storage = await Storage.open(runtime.disk, directory, configured, runtime.clock, log, claims)
    peers = Peers(runtime, f"raft-client-{config.key.id}")
    quorum = Quorum(runtime, config, storage, peers.ask)
    controller = None if mind is None else mind(quorum)
    answers: dict[ApiKey, Handler] = {key: partial(answered, quorum) for key in QUORUM_APIS}
    if controller is not None:
        answers = handlers(controller, answers)
        listeners = [*listeners, controller]
    served = ServedApis("controller", (*answers, ApiKey.API_VERSIONS))

    def features() -> Features:
        if controller is None:
            return of_quorum(quorum)
        image = controller.states.committed.image
        return told_features(quorum, image, controller.config.unstable_features)

    servers = [
        await serve(
            runtime,
            address,
            served,
            answers,
            name=endpoint.listener,
            features=features,
        )
        for endpoint, address in zip(config.endpoints, listen, strict=True)
    ]
    quorum.start(listeners)
    return Member(quorum, peers, servers, controller)


async def answered(quorum: Quorum, context: Context, request: Request) -> Response:
    """Let the quorum answer."""
    return await quorum.answer(request, context.api_version, context.listener)
