"""AlterPartitionReassignments, versions 0 and 1: other replicas (KIP-455).

Version 1 may forbid that a partition gets more replicas or fewer (KIP-860).
"""

from barnabas.controller.reassignment import reassign
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)


async def alter_partition_reassignments(
    controller: Controller, asked: Asked, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Begin reassignments, redirect them, or cancel them."""
    asked.caller.check_cluster(Operation.ALTER)
    return await controller.submit(lambda state, _: reassign(state, controller.config, request))
