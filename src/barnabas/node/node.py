"""A node's life: who it is, which parts its roles need, and in which order they come and go.

    identify the directories, claim them ─▶ quorum ─▶ metadata ─▶ broker ─▶ until it is stopped
                  marks ◀─ metadata ◀─ hand over, flush ◀─ leave the cluster ◀─┘

Being stopped is being cancelled: a broker leaves in good order first, which may take a while; then
a leader of the quorum tells the others that it goes; everything that was written is made durable,
and last of all the directories are marked.  A broker that cannot go on ends the node in the same
order, and the reason is raised.  Being killed is an ordinary event, and recovery sees to it.
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final

from barnabas.model.ids import uuid_text
from barnabas.net.peers import Peers
from barnabas.node.broker import open_broker
from barnabas.node.config import NodeConfig
from barnabas.node.controller import mind_of, presence
from barnabas.node.directories import claim
from barnabas.node.member import open_member
from barnabas.node.meta_properties import identify
from barnabas.node.metadata import follow
from barnabas.runtime.runtime import Runtime

# How long a leader that is stopped waits for somebody to take over.
HANDOVER_MS: Final = 3_000

log: Final = logging.getLogger("barnabas.node")


async def run_node(runtime: Runtime, config: NodeConfig) -> None:
    """Be this node until cancelled; ``Misconfigured`` if what it is told cannot be.

    ``BrokerFailed`` if its broker cannot go on.
    """
    identity = await identify(
        runtime.disk,
        runtime.entropy,
        config.name,
        config.node_id,
        config.metadata_log_dir,
        config.log_dirs,
    )
    directory_id = identity.directory_ids[config.metadata_log_dir]
    raft = config.raft(identity.cluster_id, directory_id)
    # What comes last goes first.
    async with AsyncExitStack() as ending:
        ending.callback(log.info, "[node %s] stopped", config.node_id)
        directories = await claim(runtime.disk, config, identity.directory_ids)
        ending.push_async_callback(directories.close)
        member = await open_member(
            runtime,
            raft,
            config.metadata_log_dir,
            [listener.bound for listener in config.own_controller_listeners],
            config.configured_voters,
            log=config.metadata_log,
            claims=config.metadata_log_dir not in directories.opened,
            mind=mind_of(runtime, config, identity.cluster_id) if config.is_controller else None,
        )
        log.info(
            "[node %s] started cluster=%s directory=%s listening=%s",
            config.node_id,
            identity.cluster_id,
            uuid_text(directory_id),
            ",".join(str(server.address) for server in member.servers),
        )
        metadata = await follow(runtime, member.quorum, config)
        # A connection of its own: what a leader registers waits for its followers' fetches, which
        # must not wait behind the registration in turn.
        peers = Peers(runtime, f"presence-{config.node_id}")
        ending.push_async_callback(peers.close)
        ending.push_async_callback(metadata.stop)
        ending.push_async_callback(member.close, HANDOVER_MS)
        if config.is_controller:
            await metadata.install(presence(runtime, config, raft.endpoints, member.quorum, peers))
        if config.is_broker:
            role = await open_broker(
                runtime, config, identity.cluster_id, directories, member.quorum, metadata
            )
            ending.push_async_callback(role.close)
            await role.work()
        else:
            await asyncio.get_running_loop().create_future()
