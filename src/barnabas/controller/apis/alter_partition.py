"""AlterPartition, versions 2 and 3: a leader proposes who is in sync (KIP-497).

Version 3 names the life of each replica (KIP-903).
"""

import logging
from typing import Final

from barnabas.controller.alter_partition import alter
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

log: Final = logging.getLogger("barnabas.controller")


async def alter_partition(
    controller: Controller, asked: Asked, request: AlterPartitionRequest
) -> AlterPartitionResponse:
    """Decide on the ISRs that a leader proposes."""
    asked.caller.check_cluster(Operation.CLUSTER_ACTION)
    altered = await controller.submit(
        lambda state, _: alter(state, controller.config, asked.version, request)
    )
    for refused in altered.refusals:
        log.info("[%s] AlterPartition of broker %d: %s", controller, request.broker_id, refused)
    return altered.response
