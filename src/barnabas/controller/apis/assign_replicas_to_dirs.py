"""AssignReplicasToDirs, version 0: a broker tells where its replicas lie (KIP-858)."""

import logging
from typing import Final

from barnabas.controller.directories import assign
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)

log: Final = logging.getLogger("barnabas.controller")


async def assign_replicas_to_dirs(
    controller: Controller, asked: Asked, request: AssignReplicasToDirsRequest
) -> AssignReplicasToDirsResponse:
    """Note where replicas lie."""
    asked.caller.check_cluster(Operation.CLUSTER_ACTION)
    assigned = await controller.submit(lambda state, _: assign(state, controller.config, request))
    for refused in assigned.refusals:
        log.info("[%s] AssignReplicasToDirs of %d: %s", controller, request.broker_id, refused)
    return assigned.response
