"""ListPartitionReassignments, version 0: which partitions move (KIP-455)."""

from barnabas.controller.reassignment import listed
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


async def list_partition_reassignments(
    controller: Controller, asked: Asked, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Tell which partitions are being reassigned."""
    asked.caller.check_cluster(Operation.DESCRIBE)
    return await controller.read(lambda state: listed(state, request))
