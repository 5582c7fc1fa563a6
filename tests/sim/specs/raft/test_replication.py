"""Appending, fetching, committing, voters and snapshots: each action and each of its guards."""

from dataclasses import replace
from typing import Any

import pytest

from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.log import PLAIN, Key, Log, Run
from barnabas.sim.specs.raft.node import (
    Asked,
    Diverging,
    FetchAnswer,
    FetchRequest,
    Node,
    Records,
    Role,
    Snapshot,
    Step,
)
from barnabas.sim.specs.raft.replication import (
    accept,
    append,
    ask_fetch,
    began,
    change_voters,
    clean,
    commit,
    cut,
    fall_back,
    flush,
    hear_leader,
    hear_part,
    install,
    refuse_fetch,
    send_diverging,
    send_records,
    send_snapshot,
    take,
    take_snapshot,
)
from tests.sim.specs.raft.replicas import ONE, THREE, TWO, VOTERS, done, replica, why_not

OBSERVER = Key(9, "a")


def leader(**more: Any) -> Node:  # noqa: ANN401 -- the fields of a node
    """Return the leader of epoch 2, with two records of its own that are flushed."""
    log = Log(start_voters=VOTERS).append(1, PLAIN).append(2, PLAIN, 2)
    given = {"log": log, "flushed": log.end, "on_disk": log.end}
    return replica(Role.LEADER, 2, epoch_start=1, **(given | more))


def fetch(key: Key = TWO, offset: int = 1, last_epoch: int = 1, epoch: int = 2) -> FetchRequest:
    """Return what a replica asks the leader."""
    return FetchRequest(key, epoch, offset, last_epoch)


def told(node: Node, *ends: tuple[Key, int]) -> Node:
    """Return a leader that knows what others have."""
    return replace(node, progress=frozenset(ends))


# --- A leader's log --------------------------------------------------------------------------


def test_a_leader_appends_and_what_is_flushed_counts() -> None:
    after = done(append(leader(), count=3))
    assert (after.log.end, after.log.last_epoch, after.flushed) == (6, 2, 3)
    assert flush(after, 5).node.flushed == 5
    assert flush(after, 9).node.flushed == 6, "what was cut meanwhile is not there"
    assert flush(after, 1).node.flushed == 3
    assert why_not(append(replica())) is Guard.LEADS


def test_what_a_majority_has_flushed_is_committed() -> None:
    assert done(commit(told(leader(), (TWO, 3)), 3)).hwm == 3
    assert done(commit(told(leader(flushed=1), (TWO, 3), (THREE, 2)), 2)).hwm == 2
    assert why_not(commit(told(leader(), (TWO, 2)), 3)) is Guard.MAJORITY
    assert why_not(commit(told(leader(flushed=1), (TWO, 3)), 3)) is Guard.MAJORITY
    assert why_not(commit(told(leader(), (TWO, 9)), 4)) is Guard.HWM_WITHIN
    assert why_not(commit(told(leader(hwm=3), (TWO, 3)), 3)) is Guard.HWM_RISES
    assert why_not(commit(replica(), 1)) is Guard.LEADS


def test_nothing_is_committed_without_a_record_of_the_epoch() -> None:
    assert why_not(commit(told(leader(), (TWO, 3)), 1)) is Guard.OWN_EPOCH


def test_only_voters_with_their_disks_are_counted() -> None:
    strangers = told(leader(), (OBSERVER, 3), (Key(2, "b"), 3))
    assert why_not(commit(strangers, 3)) is Guard.MAJORITY
    two = frozenset({TWO, THREE})
    departing = leader(log=leader().log.append(2, two), hwm=3)
    assert why_not(commit(told(departing, (TWO, 4)), 4)) is Guard.MAJORITY
    assert done(commit(told(departing, (TWO, 4), (THREE, 4)), 4)).hwm == 4


def test_a_single_voter_commits_what_it_has_flushed() -> None:
    log = Log(start_voters=frozenset({ONE})).append(1, PLAIN).append(2, PLAIN)
    assert done(commit(leader(log=log), 2)).hwm == 2
    assert why_not(commit(leader(log=log, flushed=1), 2)) is Guard.MAJORITY


def test_voters_change_one_at_a_time_when_the_last_change_is_committed() -> None:
    ready = leader(hwm=2)
    after = done(change_voters(ready, VOTERS | {OBSERVER}))
    assert (after.voters, after.log.voters_offset) == (VOTERS | {OBSERVER}, 3)
    assert done(change_voters(ready, VOTERS)).log.voters_offset == 3, "the same again, updated"
    assert why_not(change_voters(after, VOTERS)) is Guard.SETTLED
    assert done(change_voters(replace(after, hwm=4), VOTERS)).voters == VOTERS
    assert why_not(change_voters(leader(hwm=1), VOTERS)) is Guard.READY
    assert why_not(change_voters(ready, frozenset({ONE}))) is Guard.ONE_AT_A_TIME
    assert why_not(change_voters(replica(), VOTERS)) is Guard.LEADS


# --- Fetching --------------------------------------------------------------------------------


def test_a_fetch_says_that_everything_below_is_flushed() -> None:
    step = ask_fetch(replica(Role.FOLLOWER), number=4)
    assert isinstance(step, Step)
    request = FetchRequest(ONE, 1, 1, 1)
    assert step.said == request
    assert step.node.stands(Asked(4, request))
    assert done(ask_fetch(replica())).asked, "who knows no leader asks somebody"
    for role in (Role.FOLLOWER, Role.UNATTACHED):
        assert why_not(ask_fetch(replica(role, flushed=0))) is Guard.FETCHES_FLUSHED
    assert why_not(ask_fetch(replica(Role.LEADER))) is Guard.RIGHT_ROLE


def test_a_leader_learns_from_fetches_of_its_epoch_from_a_beginning_of_its_log() -> None:
    after = done(accept(leader(), fetch(offset=2, last_epoch=2)))
    assert after.progress == {(TWO, 2)}
    assert done(accept(after, fetch(offset=3, last_epoch=2))).progress == {(TWO, 3)}
    assert done(accept(leader(), fetch(OBSERVER))).progress == {(OBSERVER, 1)}
    assert why_not(accept(leader(), fetch(offset=2))) is Guard.FETCH_POSITION
    assert why_not(accept(leader(), fetch(epoch=3))) is Guard.FETCH_EPOCH
    assert why_not(accept(replica(epoch=2), fetch())) is Guard.LEADS


def said(step: object) -> FetchAnswer:
    """Return the answer to a fetch."""
    assert isinstance(step, Step), step
    assert isinstance(step.said, FetchAnswer), step.said
    return step.said


def test_a_leader_sends_what_follows_and_its_own_high_watermark() -> None:
    answer = said(send_records(leader(hwm=2), fetch()))
    assert answer == FetchAnswer(fetch(), 2, 2, Records((Run(3, 2, PLAIN),)))
    assert said(send_records(leader(hwm=1), fetch())).hwm == -1, "not of this epoch yet"
    assert said(send_records(leader(), fetch(), end=2)).content == Records((Run(2, 2, PLAIN),))
    assert why_not(send_records(leader(), fetch(), end=4)) is Guard.HWM_WITHIN
    assert why_not(send_records(leader(), fetch(offset=2))) is Guard.FETCH_POSITION


def test_a_leader_says_where_an_epoch_ends_to_who_has_something_else() -> None:
    assert said(send_diverging(leader(), fetch(offset=2))).content == Diverging(1, 1)
    assert said(send_diverging(leader(), fetch(offset=9, last_epoch=2))).content == Diverging(2, 3)
    assert why_not(send_diverging(leader(), fetch())) is Guard.DIVERGES


def test_a_leader_sends_a_snapshot_of_what_it_has_no_more() -> None:
    snapshot = Snapshot(2, 2, VOTERS)
    node = leader(snapshots=(snapshot,), log=leader().log.begin_at(2))
    assert said(send_snapshot(node, fetch())).content == snapshot
    assert said(send_snapshot(node, fetch(offset=0, last_epoch=0))).content == snapshot
    assert why_not(send_records(node, fetch())) is Guard.FETCH_POSITION
    assert why_not(send_diverging(node, fetch())) is Guard.DIVERGES
    here = fetch(offset=2, last_epoch=2)
    assert why_not(send_snapshot(node, here)) is Guard.SNAPSHOT_THERE
    assert why_not(send_snapshot(leader(), fetch(offset=0))) is Guard.SNAPSHOT_THERE


def test_a_fetch_is_refused_only_with_a_reason() -> None:
    assert done(refuse_fetch(replica(), fetch())) == replica()
    assert done(refuse_fetch(leader(), fetch(epoch=1))) == leader()
    assert why_not(refuse_fetch(leader(), fetch())) is Guard.REASON_TO_REFUSE


# --- Following -------------------------------------------------------------------------------


def answered(content: Records | Diverging, hwm: int = -1) -> tuple[Node, Asked, FetchAnswer]:
    """Return a follower that has asked, and the answer to it."""
    step = ask_fetch(replica(Role.FOLLOWER, 2))
    assert isinstance(step, Step)
    request = FetchRequest(ONE, 2, 1, 1)
    return step.node, Asked(0, request), FetchAnswer(request, 2, hwm, content)


def test_a_follower_takes_what_its_leader_answers_to_what_it_asked() -> None:
    node, asked, answer = answered(Records((Run(3, 2, PLAIN),)), hwm=2)
    heard = done(hear_leader(node, asked, answer))
    assert heard.has_fetched
    after = done(take(heard, answer))
    assert (after.log.end, after.log.last_epoch, after.hwm, after.flushed) == (3, 2, 2, 1)
    assert why_not(hear_leader(heard, asked, answer)) is Guard.OUTSTANDING
    stale = replace(answer, epoch=1)
    assert why_not(hear_leader(node, asked, stale)) is Guard.LEADER_ANSWERS
    moved = replace(node, log=node.log.append(2, PLAIN))
    assert why_not(hear_leader(moved, asked, answer)) is Guard.SAME_POSITION
    alone = replace(node, role=Role.UNATTACHED)
    assert why_not(hear_leader(alone, asked, answer)) is Guard.RIGHT_ROLE


@pytest.mark.parametrize(("own", "told_", "then"), [(0, 9, 1), (0, -1, 0), (1, 0, 1), (0, 1, 1)])
def test_the_high_watermark_rises_and_stays_within_the_log(own: int, told_: int, then: int) -> None:
    node, _, answer = answered(Records(()), hwm=told_)
    assert done(take(replace(node, hwm=own), answer)).hwm == then


def test_a_follower_cuts_where_both_logs_may_still_be_alike() -> None:
    log = Log(start_voters=VOTERS).append(1, PLAIN, 2).append(2, PLAIN, 2)
    node, _, answer = answered(Diverging(1, 1))
    longer = replace(node, log=log, flushed=4, on_disk=4)
    after = done(cut(longer, answer))
    assert (after.log.end, after.flushed, after.on_disk) == (1, 1, 1)
    assert why_not(cut(replace(longer, hwm=2), answer)) is Guard.KEEPS_COMMITTED
    nowhere = replace(answer, content=Diverging(2, 9))
    assert why_not(cut(longer, nowhere)) is Guard.CUTS_WHERE_TOLD


def test_a_part_of_a_snapshot_shows_that_the_leader_lives() -> None:
    assert done(hear_part(replica(Role.FOLLOWER), 1)).has_fetched
    assert why_not(hear_part(replica(Role.FOLLOWER), 0)) is Guard.LEADER_ANSWERS
    assert why_not(hear_part(replica(), 1)) is Guard.RIGHT_ROLE


# --- Snapshots -------------------------------------------------------------------------------


def test_only_what_is_committed_is_summed_up() -> None:
    node = replica(log=Log(start_voters=VOTERS).append(1, PLAIN, 2).append(2, PLAIN), hwm=2)
    after = done(take_snapshot(node, 2, 1))
    assert after.snapshots == (Snapshot(2, 1, VOTERS),)
    assert done(take_snapshot(after, 1, 1)).latest == Snapshot(2, 1, VOTERS)
    assert why_not(take_snapshot(node, 3, 2)) is Guard.COMMITTED
    assert why_not(take_snapshot(node, 2, 2)) is Guard.SNAPSHOT_THERE
    cleaned = done(clean(done(take_snapshot(after, 1, 1)), 2))
    assert (cleaned.log.start, cleaned.log.end, cleaned.log.start_epoch) == (2, 3, 1)
    assert cleaned.snapshots == (Snapshot(2, 1, VOTERS),)
    assert why_not(clean(node, 1)) is Guard.SNAPSHOT_THERE


def test_an_installed_snapshot_takes_the_place_of_the_log() -> None:
    snapshot = Snapshot(5, 3, frozenset({ONE}))
    after = done(install(replica(Role.FOLLOWER), snapshot))
    assert (after.log, after.voters) == (Log(5, 3, frozenset({ONE})), frozenset({ONE}))
    assert after.flushed == after.on_disk == after.hwm == 5
    assert why_not(install(leader(), snapshot)) is Guard.NOT_LEADING
    further = replica(Role.FOLLOWER, log=Log().append(1, PLAIN, 9), hwm=6)
    assert why_not(install(further, snapshot)) is Guard.HWM_RISES


def test_a_snapshot_may_outlive_the_records_that_it_sums_up() -> None:
    snapshot = Snapshot(3, 1, VOTERS)
    log = Log(start_voters=VOTERS).append(1, PLAIN, 4)
    node = replica(log=log, on_disk=2, flushed=2, snapshots=(snapshot,))
    assert done(fall_back(node, snapshot)).log == Log(3, 1, VOTERS)
    assert why_not(fall_back(replace(node, on_disk=4), snapshot)) is Guard.KEEPS_FLUSHED
    assert why_not(fall_back(node, Snapshot(4, 1, VOTERS))) is Guard.SNAPSHOT_THERE


def test_a_replica_begins_unattached_with_nothing() -> None:
    node = began(ONE, VOTERS)
    assert (node.role, node.epoch, node.log.end, node.voters) == (Role.UNATTACHED, 0, 0, VOTERS)
