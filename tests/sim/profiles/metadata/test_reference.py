"""The reference fold: every fact at every offset."""

import pytest

from barnabas.sim.profiles.metadata.marks import ABORTED, ENDED
from barnabas.sim.profiles.metadata.reference import difference, spelled
from barnabas.sim.profiles.metadata.spelling import facts_in
from barnabas.sim.world import Violation
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message
from tests.metadata.histories import history
from tests.sim.profiles.metadata.committed import LEVEL, Log, committed


def config(name: str, text: str | None) -> Message:
    return ConfigRecord(resource_type=4, resource_name="1", name=name, value=text)


KEY = ("config", 4, "1", "a")
BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()


def test_a_fact_is_known_as_it_was_at_every_offset() -> None:
    log = committed([LEVEL], [config("a", "1"), config("a", "2")], [config("a", None)])
    assert [log.reference.at(KEY, offset) for offset in range(4)] == [None, "1", "2", None]
    assert [change.key for change in log.reference.changed(0, 2)] == [KEY, KEY]
    assert log.reference.whole(2) == {KEY: "2", ("feature", "metadata.version"): 30}
    assert [log.reference.is_boundary(offset) for offset in range(4)] == [True, False, True, True]
    assert log.reference.values == {"1": 3, "2": 3}


def test_what_is_said_in_a_transaction_is_hidden_until_it_ends() -> None:
    log = committed([LEVEL], [config("a", "1"), BEGIN, config("a", "2")], [END, config("b", "3")])
    reference = log.reference
    seen = [reference.is_visible(offset) for offset in range(6)]
    assert seen == [True, True, False, False, True, True]
    assert reference.is_end(1)
    assert not reference.is_boundary(1)
    assert reference.at(KEY, 4) == "2"
    assert log.marked == [ENDED]


def test_an_aborted_transaction_never_was() -> None:
    log = committed([LEVEL], [config("a", "1")], [BEGIN, config("a", "2"), config("b", "3")])
    assert log.reference.in_transaction
    assert not log.reference.is_visible(4)
    log.commit(ABORT)
    assert log.reference.whole(5) == {KEY: "1", ("feature", "metadata.version"): 30}
    assert [change.aborted for change in log.reference.changed(1, 5)] == [True, True]
    assert log.marked == [ABORTED]
    log.commit(config("a", "4"))
    assert log.reference.at(KEY, 5) == "1"
    assert log.reference.at(KEY, 6) == "4"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_it_says_what_the_product_says_of_random_histories(seed: int) -> None:
    told, log = history(seed, 80, without=("<lambda>",)), Log()
    for offset in range(len(told)):
        log.take([told.values[offset]])
        if told.seen[offset] is not None:
            assert facts_in(log.image) == log.reference.whole(offset)


def test_a_snapshot_is_refused_for_what_is_wrong_with_it() -> None:
    log = committed([LEVEL], [config("a", "1")], [BEGIN, config("a", "2")])
    right = [encode_record(each, 0) for each in (LEVEL, config("a", "1"))]
    assert not log.reference.objection(2, right)
    assert "config 4 1 a is None" in log.reference.objection(2, right[:1])
    with pytest.raises(Violation, match="M-11"):
        log.reference.objection(2, right[::-1])
    with pytest.raises(Violation, match="M-09"):
        log.reference.objection(4, right)
    with pytest.raises(Violation, match="M-06"):
        log.reference.objection(2, [*right, encode_record(BEGIN, 0)])


def test_the_first_difference_is_told_as_people_read_it() -> None:
    assert difference({KEY: 1}, {KEY: 1}) == ""
    assert difference({KEY: 1}, {}) == "config 4 1 a is 1, the committed records say None"
    assert spelled(("acl", bytes(16))) == "acl 00000000"
