"""Producer ids: a block for a broker, which nobody else is ever given (C-18).

Brokers hand the ids of their blocks to producers, one each.  A block that a broker has not used up
when it stops is lost: there are enough.

Fixed by Kafka's ProducerIdControlManager.java.
"""

from typing import Final

from barnabas.controller.brokers import stale
from barnabas.controller.state import ControllerState
from barnabas.model.acls import Operation
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.structs import Message

BLOCK: Final = 1_000
LAST: Final = (1 << 63) - 1


def allocate(
    state: ControllerState, request: AllocateProducerIdsRequest, caller: Caller
) -> Decision[Message, AllocateProducerIdsResponse]:
    """Answer AllocateProducerIds."""
    try:
        caller.check_cluster(Operation.CLUSTER_ACTION)
        broker = state.image.cluster.brokers.get(request.broker_id)
        if broker is None or broker.epoch != request.broker_epoch:
            raise stale(request.broker_id, request.broker_epoch, broker)
        start = max(0, state.image.producer_ids.next_producer_id)
        if start > LAST - BLOCK:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids there are were given.")
    except Refused as refused:
        return Decision((), AllocateProducerIdsResponse(error_code=refused.code))
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + BLOCK,
    )
    return Decision(
        (record,), AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK)
    )
