"""Each property says no to what it is there for, and yes beside it."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.cluster import (
    NOBODY,
    AlterRequest,
    Broker,
    Controller,
    Elected,
    Failed,
    Fetcher,
    Ids,
    Partition,
    Pending,
    Phase,
    Position,
    Raised,
    Record,
    Role,
    Sent,
)
from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Rules
from barnabas.sim.specs.replication.log import Log
from barnabas.sim.specs.replication.properties import (
    CANDIDATE_COMPLETENESS,
    CONSISTENT_READ,
    EPOCH_DISCIPLINE,
    LEADER_COMPLETENESS,
    LOG_MATCHING,
    METADATA_MATCHING,
    RECORD_IDENTITY,
    RECOVERY_QUORUM,
    SUPERSET,
    VALID_BROKER,
    VALID_CONTROLLER,
    VALID_FETCHER,
    VALID_REPLICA,
    VALID_SETS,
    History,
    is_kept,
    of_broker,
    of_controller,
    of_history,
    of_logs,
    of_standing,
)
from tests.sim.specs.replication.clusters import broker, controller, ids

ALL = ids(1, 2, 3)
NOW = Partition(ALL, ALL, 1, 1, 1)
LOG = Log().append(1, 5).append(1, 6)
NEXT = replace(NOW, partition_epoch=2)


def having(*partitions: Partition, fenced: Ids = ids()) -> Controller:  # noqa: B008 -- a value
    """Return a controller that has decided these."""
    the = controller()
    brokers = tuple(replace(each, fenced=each.epoch in fenced) for each in the.brokers)
    return replace(the, brokers=brokers, log=tuple(Record(each) for each in partitions))


@pytest.mark.parametrize(
    ("the", "broken"),
    [
        (having(NOW), []),
        (having(NOW, fenced=ids(3)), [VALID_CONTROLLER]),
        (having(replace(NOW, isr=ids(1, 4))), [VALID_CONTROLLER, VALID_SETS]),
        (having(replace(NOW, isr=ids(1), elr=ids(2))), []),
        (having(replace(NOW, isr=ids(1), elr=ids(1))), [VALID_SETS]),
        (having(replace(NOW, isr=ids(1, 3), elr=ids(2))), [VALID_SETS]),
        (having(replace(NOW, isr=ids(1), elr=ids(4))), [VALID_SETS]),
        (having(replace(NOW, isr=ids(2, 3))), [VALID_SETS]),
        (having(replace(NOW, isr=ids(), leader=NOBODY, elr=ids(1))), []),
        (having(replace(NOW, isr=ids(), leader=NOBODY)), [RECOVERY_QUORUM]),
        (having(replace(NOW, isr=ids(), leader=NOBODY, last_known=ids(1, 2))), []),
        (having(NOW, NEXT), []),
        (having(NOW, NOW), []),
        (having(NOW, replace(NOW, leader_epoch=2)), [EPOCH_DISCIPLINE]),
        (having(NOW, replace(NEXT, leader=2)), [EPOCH_DISCIPLINE]),
        (having(NOW, replace(NEXT, leader=2, leader_epoch=2)), []),
        (having(NOW, replace(NEXT, leader=2, leader_epoch=3)), [EPOCH_DISCIPLINE]),
        (having(NOW, replace(NEXT, partition_epoch=3)), [EPOCH_DISCIPLINE]),
    ],
)
def test_a_controller_is_as_it_may_be(the: Controller, broken: list[str]) -> None:
    assert list(of_controller(the, SPECIFIED)) == broken


def test_as_built_who_led_last_is_enough_to_recover() -> None:
    the = having(replace(NOW, isr=ids(), leader=NOBODY, last_known=ids(1)))
    assert list(of_controller(the, SPECIFIED)) == [RECOVERY_QUORUM]
    assert list(of_controller(the, BUILT)) == []


FETCHES = (Fetcher(1, Position(0, 0)),)


@pytest.mark.parametrize(
    ("which", "broken"),
    [
        (broker(), []),
        (broker(2), []),
        (broker(epoch=0), [VALID_BROKER]),
        (broker(epoch=0, phase=Phase.STARTING), []),
        (broker(2, role=Role.LEADER, fetchers=()), [VALID_REPLICA]),
        (broker(log=Log().append(2, 5).append(1, 6)), [VALID_REPLICA]),
        (broker(hwm=1), [VALID_REPLICA]),
        (broker(fetchers=FETCHES), [VALID_FETCHER]),
        (broker(2, fetchers=()), [VALID_FETCHER]),
        (broker(2, fetchers=(*FETCHES, Fetcher(3, Position(0, 0)))), [VALID_FETCHER]),
        (broker(2, fetchers=(*FETCHES, Fetcher(3, None, True))), []),
        (broker(2, fetchers=(Fetcher(1, Position(1, 0)),)), [VALID_FETCHER]),
        (broker(2, log=LOG), [VALID_FETCHER]),
    ],
)
def test_a_broker_is_as_it_may_be(which: Broker, broken: list[str]) -> None:
    assert list(of_broker(which)) == broken


PENDING = Pending(2, AlterRequest(1, ALL, (), 1, 1, 1))


def viewing(isr: Ids, maximal: Ids, pending: Pending | None = PENDING) -> Broker:
    """Return a leader that knows these as in sync, and counts those."""
    found = broker(pending=pending)
    return replace(found, view=replace(found.view, isr=isr, maximal=maximal))


ANOTHER = replace(NEXT, leader=2, leader_epoch=2)
MISLED = replace(broker(2).view, leader=3)


@pytest.mark.parametrize(
    ("the", "which", "rules", "broken"),
    [
        (having(NOW), broker(), SPECIFIED, []),
        (having(NOW, replace(NEXT, isr=ids(1, 2))), broker(), SPECIFIED, []),
        (having(replace(NOW, isr=ids(1, 2)), NEXT), viewing(ids(1, 2), ALL), SPECIFIED, []),
        (having(NEXT), viewing(ids(1, 2), ids(1, 2), None), SPECIFIED, [SUPERSET]),
        (having(NEXT), viewing(ids(1, 2), ALL, None), SPECIFIED, [SUPERSET]),
        # Below the minimum it commits nothing, so it need not know.
        (having(NEXT), viewing(ids(1), ids(1, 2)), SPECIFIED, []),
        (having(NEXT), viewing(ids(1), ids(1, 2)), Rules(min_isr=1), [SUPERSET]),
        # Somebody else leads by now.
        (having(ANOTHER), viewing(ids(1, 2), ALL, None), SPECIFIED, []),
        (having(NOW), broker(2, view=MISLED), SPECIFIED, [METADATA_MATCHING]),
        (having(NOW), broker(2, view=MISLED, applied=0), SPECIFIED, []),
    ],
)  # fmt: skip
def test_a_leader_counts_all_who_may_lead_after_it(
    the: Controller, which: Broker, rules: Rules, broken: list[str]
) -> None:
    assert list(of_standing(the, which, rules)) == broken


KNOWN = History(acked=ids(5, 6), consumed=LOG)
OTHER = Log().append(1, 5).append(2, 9)


@pytest.mark.parametrize(
    ("number", "log", "partition", "broken"),
    [
        (1, LOG, NOW, []),
        (1, Log(), NOW, [CANDIDATE_COMPLETENESS, LEADER_COMPLETENESS, CONSISTENT_READ]),
        (2, Log(), NOW, [CANDIDATE_COMPLETENESS]),
        (2, OTHER, NOW, [CANDIDATE_COMPLETENESS]),
        (2, Log(), replace(NOW, isr=ids(1), elr=ids(2)), [CANDIDATE_COMPLETENESS]),
        (2, Log(), replace(NOW, isr=ids(1)), []),
    ],
)
def test_whoever_may_lead_has_all_that_was_read(
    number: int, log: Log, partition: Partition, broken: list[str]
) -> None:
    assert list(of_history(having(partition), broker(number, log=log), KNOWN)) == broken
    down = broker(number, log=log, phase=Phase.LOST, role=Role.NONE)
    assert list(of_history(having(partition), down, KNOWN)) == []


def test_what_was_acknowledged_is_in_the_leaders_log_and_somewhere() -> None:
    acked = replace(KNOWN, acked=ids(5, 6, 7))
    assert list(of_history(having(NOW), broker(log=LOG), acked)) == [LEADER_COMPLETENESS]
    assert is_kept([Log(), LOG], KNOWN)
    assert not is_kept([Log(), OTHER], KNOWN)


@pytest.mark.parametrize(
    ("one", "other", "hwm", "broken"),
    [
        (LOG, LOG, 2, []),
        (LOG, OTHER, 1, []),
        (LOG, OTHER, 2, [LOG_MATCHING]),
        (LOG, Log().append(1, 5).append(1, 9), 1, [RECORD_IDENTITY]),
        (LOG, Log().append(1, 5), 2, []),
    ],
)
def test_logs_are_alike_where_they_may_be_read(
    one: Log, other: Log, hwm: int, broken: list[str]
) -> None:
    pair = broker(log=one, hwm=hwm), broker(2, log=other, hwm=hwm)
    assert list(of_logs(*pair)) == broken


def test_clients_are_told_what_becomes_of_what_they_send() -> None:
    def told(history: History, *more: Sent | Raised | Failed | Elected) -> History:
        for each in more:
            history = history.after(each)
        return history

    sent = told(History(), Sent(5), Sent(6))
    assert sent.sent == ids(5, 6)
    acked = told(sent, Raised(LOG, 0, 1, 0))
    assert (acked.acked, acked.hwm, acked.consumed) == (ids(5), 1, LOG.cut(1))
    assert told(acked, Raised(LOG, 0, 1, 0)) == acked, "by a leader that did not know"
    # Who leads now has not appended the first of them itself.
    assert told(sent, Raised(LOG, 0, 2, 1)).acked == ids(6)
    assert told(sent, Raised(LOG, 0, 2, None)).acked == ids()
    failed = told(acked, Failed(LOG, 1, 0), Raised(LOG, 1, 2, 0))
    assert (failed.acked, failed.nacked, failed.hwm) == (ids(5), ids(6), 2)
    assert told(failed, Elected(1)) == failed


def test_what_an_unclean_leader_lacks_was_said_to_be_lost() -> None:
    assert KNOWN.cut(LOG) == KNOWN
    assert KNOWN.cut(OTHER) == replace(KNOWN, acked=ids(5), consumed=LOG.cut(1))
    assert KNOWN.cut(Log()) == History()
