"""Producer ids: no id is given to two."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.producer_ids import BLOCK, LAST, allocate
from barnabas.controller.state import ControllerState
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from tests.controller.scene import three


def allocated(
    state: ControllerState, broker: int, epoch: int, caller: Caller = ANYBODY
) -> tuple[ControllerState, AllocateProducerIdsResponse]:
    """Return the state after a broker asked, and what it was told."""
    request = AllocateProducerIdsRequest(broker_id=broker, broker_epoch=epoch)
    decision = allocate(state, request, caller)
    return state.apply(decision.records), decision.reply


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(100, 104)), max_size=30))
def test_blocks_are_disjoint_and_rise_whoever_asks(asked: list[tuple[int, int]]) -> None:
    state, given_to = three(), []
    for broker, epoch in asked:
        state, reply = allocated(state, broker, epoch)
        if broker == 4 or epoch != 100 + broker:
            assert reply.error_code == ErrorCode.STALE_BROKER_EPOCH
        else:
            assert reply.error_code == 0
            given_to.append((reply.producer_id_start, reply.producer_id_len))
    # C-18.
    assert given_to == [(number * BLOCK, BLOCK) for number in range(len(given_to))]


def test_a_record_tells_who_was_given_the_block() -> None:
    request = AllocateProducerIdsRequest(broker_id=2, broker_epoch=102)
    assert allocate(three(), request, ANYBODY).records == (
        ProducerIdsRecord(broker_id=2, broker_epoch=102, next_producer_id=BLOCK),
    )


def test_ids_end_where_numbers_do() -> None:
    for following, code in ((LAST - BLOCK, 0), (LAST - BLOCK + 1, -1)):
        state = three(ProducerIdsRecord(next_producer_id=following))
        after, reply = allocated(state, 1, 101)
        assert reply.error_code == code
        assert (after.image == state.image) is bool(code)


def test_only_brokers_are_given_ids() -> None:
    caller = Caller("User:m", lambda operation, kind, name: False)
    after, reply = allocated(three(), 1, 101, caller)
    assert reply.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert after.image.producer_ids.is_empty
