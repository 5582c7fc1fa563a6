"""A node's life: who it is, which parts its roles need, and in which order they come and go.

    identify the directories ─▶ metadata log, listeners, quorum ─▶ metadata ─▶ until it is stopped
                                                                            ─▶ hand over, flush, end

Being stopped is being cancelled: a leader tells the others that it goes, and everything that was
written is made durable.  Being killed is an ordinary event, and recovery sees to it.
"""

import asyncio
import logging
from typing import Final

from barnabas.model.errors import Misconfigured
from barnabas.model.ids import uuid_text
from barnabas.node.config import BROKER, NodeConfig
from barnabas.node.member import open_member
from barnabas.node.meta_properties import identify
from barnabas.node.metadata import follow
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime

# How long a leader that is stopped waits for somebody to take over.
HANDOVER_MS: Final = 3_000

EVERYWHERE: Final = ""

log: Final = logging.getLogger("barnabas.node")


async def run_node(runtime: Runtime, config: NodeConfig) -> None:
    """Be this node until cancelled; ``Misconfigured`` if what it is told cannot be."""
    if BROKER in config.roles:
        raise Misconfigured(
            f"{config.name}: process.roles names the broker, which is not built yet; "
            f"process.roles=controller takes part in the quorum of the metadata log"
        )
    identity = await identify(
        runtime.disk,
        runtime.entropy,
        config.name,
        config.node_id,
        config.metadata_log_dir,
        config.log_dirs,
    )
    directory_id = identity.directory_ids[config.metadata_log_dir]
    member = await open_member(
        runtime,
        config.raft(identity.cluster_id, directory_id),
        config.metadata_log_dir,
        listening(config),
        config.configured_voters,
        log=config.metadata_log,
    )
    log.info(
        "[node %s] started cluster=%s directory=%s listening=%s",
        config.node_id,
        identity.cluster_id,
        uuid_text(directory_id),
        ",".join(str(server.address) for server in member.servers),
    )
    metadata = await follow(runtime, member.quorum, config)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await member.close(HANDOVER_MS)
        await metadata.stop()
        log.info("[node %s] stopped", config.node_id)


def listening(config: NodeConfig) -> list[Address]:
    """Return where a controller listens, in the order of its controller listeners."""
    places = {listener.name: listener for listener in config.listeners}
    own = [places[name.upper()] for name in config.controller_listener_names]
    return [
        Address(
            EVERYWHERE if listener.is_everywhere else listener.host or EVERYWHERE, listener.port
        )
        for listener in own
    ]
