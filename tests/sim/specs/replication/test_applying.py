"""What a replica learns from the metadata log."""

from dataclasses import replace
from typing import Any

import pytest

from barnabas.sim.specs.replication.applying import Kind, apply, kind_of
from barnabas.sim.specs.replication.cluster import (
    NOBODY,
    AlterRequest,
    Broker,
    Failed,
    Fetcher,
    Partition,
    Peer,
    Pending,
    Phase,
    Position,
    Record,
    Role,
    Step,
    View,
)
from barnabas.sim.specs.replication.guards import Guard
from barnabas.sim.specs.replication.leading import append
from barnabas.sim.specs.replication.log import Log
from tests.sim.specs.replication.clusters import broker, done, ids, why_not

ALL = ids(1, 2, 3)
NOW = Partition(ALL, ALL, 1, 1, 1)


def then(**changes: Any) -> Partition:  # noqa: ANN401 -- the fields of a partition
    """Return the partition after a change."""
    return replace(NOW, partition_epoch=2, **changes)


def applied(which: Broker, partition: Partition) -> Step:
    """Return what becomes of a broker that learns of a partition."""
    step = apply(which, Record(partition), 2)
    assert isinstance(step, Step), step
    assert step.broker.applied == 2
    return step


@pytest.mark.parametrize(
    ("number", "partition", "kind"),
    [
        (1, NOW, Kind.NOTHING),
        (1, then(isr=ids(1, 2)), Kind.REMAIN_LEADER),
        (1, then(leader_epoch=2), Kind.BECOME_LEADER),
        (2, then(leader=2, leader_epoch=2), Kind.BECOME_LEADER),
        (2, then(isr=ids(1, 2)), Kind.REMAIN_FOLLOWER),
        (2, then(leader=3, leader_epoch=2), Kind.BECOME_FOLLOWER),
        (2, then(leader_epoch=2), Kind.BECOME_FOLLOWER),
        (1, then(leader=2, leader_epoch=2), Kind.BECOME_FOLLOWER),
        (2, then(leader=NOBODY, leader_epoch=2), Kind.WAIT),
        (3, then(replicas=ids(1, 2), leader_epoch=2), Kind.DELETE),
    ],
)
def test_an_update_means_something_to_each_replica(
    number: int, partition: Partition, kind: Kind
) -> None:
    assert kind_of(broker(number), partition) is kind


def test_who_is_no_replica_before_or_after_does_nothing() -> None:
    gone = replace(broker(3), view=View(), role=Role.NONE, fetchers=())
    step = applied(gone, then(replicas=ids(1, 2), isr=ids(1, 2)))
    assert step.broker == replace(gone, applied=2)
    assert kind_of(gone, then(isr=ids(1, 2))) is Kind.BECOME_FOLLOWER


def test_a_leader_that_remains_settles_the_proposal_that_this_decides() -> None:
    request = AlterRequest(1, ids(1, 2), ((1, 1), (2, 0)), 1, 1, 1)
    leader = replace(done(append(broker(), 7)), pending=Pending(2, request))
    leader = leader.with_peer(Peer(2, 1, 2))
    after = applied(leader, then(isr=ids(1, 2))).broker
    assert (after.view.isr, after.view.maximal, after.pending) == (ids(1, 2), ids(1, 2), None)
    assert after.hwm == 1, "3, which had not fetched, counts no longer"
    later = replace(leader, pending=Pending(3, request))
    assert applied(later, then(isr=ids(1, 2))).broker.pending == Pending(3, request)


def test_who_leads_again_forgets_those_outside_of_the_isr() -> None:
    leader = replace(broker(), log=Log().append(1, 0, 4))
    leader = leader.with_peer(Peer(2, 4, 2)).with_peer(Peer(3, 4, 3))
    after = applied(leader, then(isr=ids(1, 2), leader_epoch=2)).broker
    assert (after.epoch_start, after.peers) == (4, (Peer(2, 4, 2),))


def test_who_begins_to_lead_fetches_no_more() -> None:
    waits = broker(2).with_fetcher(Fetcher(1, Position(0, 0), waits=True))
    after = applied(waits, then(isr=ids(2, 3), leader=2, leader_epoch=2)).broker
    assert (after.role, after.epoch_start) == (Role.LEADER, 0)
    assert after.fetchers == (Fetcher(1, None, waits=True),), "the answer is still under way"


def test_who_follows_begins_at_the_end_of_its_log() -> None:
    leader = replace(done(append(broker(), 7)), peers=(Peer(2, 1, 2),))
    step = applied(leader, then(isr=ids(2, 3), leader=2, leader_epoch=2))
    after = step.broker
    assert after.fetchers == (Fetcher(2, Position(1, 1)),)
    assert (after.role, after.peers, after.floor, after.epoch_start) == (
        Role.FOLLOWER, (), None, None,
    )  # fmt: skip
    assert step.told == (Failed(leader.log, 0, 0),), "nobody will acknowledge it"


def test_who_follows_another_leader_leaves_the_one_before() -> None:
    waits = broker(2).with_fetcher(Fetcher(1, Position(0, 0), waits=True))
    after = applied(waits, then(isr=ids(2, 3), leader=3, leader_epoch=2)).broker
    assert after.fetchers == (Fetcher(1, None, True), Fetcher(3, Position(0, 0)))


def test_where_nobody_leads_replicas_wait() -> None:
    after = applied(broker(2), then(isr=ids(), leader=NOBODY, leader_epoch=2)).broker
    assert (after.role, after.fetchers, after.view.leader) == (Role.NONE, (), NOBODY)


def test_a_replica_that_leaves_deletes_its_log() -> None:
    full = replace(broker(3), log=Log().append(1, 0, 3), hwm=2)
    after = applied(full, then(replicas=ids(1, 2), isr=ids(1, 2), leader_epoch=2)).broker
    assert (after.log, after.hwm, after.view, after.role) == (Log(), 0, View(), Role.NONE)


def test_the_log_is_applied_forwards_by_whoever_is_registered() -> None:
    assert why_not(apply(broker(), Record(NOW), 1)) is Guard.GOES_ON
    starting = broker(phase=Phase.STARTING)
    assert why_not(apply(starting, Record(NOW), 2)) is Guard.IS_REGISTERED
    assert why_not(apply(broker(registered_at=3), Record(NOW), 2)) is Guard.SEES_ITSELF
