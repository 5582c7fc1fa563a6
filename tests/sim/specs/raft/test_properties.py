"""Each property says no to what it is there for, and yes beside it."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.raft.log import PLAIN, Key, Log
from barnabas.sim.specs.raft.node import Node, Role
from barnabas.sim.specs.raft.properties import (
    APPEND_ONLY,
    COMMITTED_PREFIX,
    ELECTION_SAFETY,
    EPOCH_MONOTONIC,
    HWM_IN_LOG,
    HWM_MONOTONIC,
    LEADER_COMPLETENESS,
    LEGAL_TRANSITION,
    LOG_MATCHING,
    NO_AMNESIA,
    NO_CUT_BELOW_HWM,
    ONE_CHANGE,
    RECORD_IDENTITY,
    VALID_ROLES,
    VOTE_ONCE,
    Fact,
    Issued,
    Led,
    Shown,
    Voted,
    contradiction,
    is_durable,
    of_logs,
    of_node,
    of_step,
)
from tests.sim.specs.raft.replicas import ONE, THREE, TWO, VOTERS, replica

SHORT, LONG = Log().append(1, PLAIN), Log().append(1, PLAIN, 2)
OTHER = Log().append(2, PLAIN)


@pytest.mark.parametrize(
    ("one", "other", "broken"),
    [
        (Led(1, ONE, SHORT), Led(1, TWO, SHORT), ELECTION_SAFETY),
        (Led(1, ONE, SHORT), Led(2, TWO, SHORT), ""),
        (Voted(1, ONE, TWO), Voted(1, ONE, THREE), VOTE_ONCE),
        (Voted(1, ONE, TWO), Voted(1, TWO, THREE), ""),
        (Voted(1, ONE, TWO), Voted(2, ONE, THREE), ""),
        (Voted(1, ONE, TWO), Voted(1, Key(1, "b"), THREE), ""),
        (Shown(1, SHORT), Shown(2, OTHER), COMMITTED_PREFIX),
        (Shown(1, SHORT), Shown(2, LONG), ""),
        (Led(2, ONE, SHORT), Shown(1, LONG), LEADER_COMPLETENESS),
        (Led(2, ONE, OTHER), Shown(1, SHORT), LEADER_COMPLETENESS),
        (Led(2, ONE, LONG), Shown(1, SHORT), ""),
        (Led(1, ONE, SHORT), Shown(1, LONG), ""),
        (Issued(1, 4, PLAIN), Issued(1, 4, 7), RECORD_IDENTITY),
        (Issued(1, 4, PLAIN), Issued(2, 4, 7), ""),
        (Issued(1, 4, PLAIN), Shown(1, LONG), ""),
    ],
)
def test_two_facts_contradict_each_other_in_either_order(
    one: Fact, other: Fact, broken: str
) -> None:
    assert contradiction(one, other) == broken
    assert contradiction(other, one) == broken


NO_VOTER = replica(Role.PROSPECTIVE, key=Key(1, "b"))
REMOVED = Log(start_voters=VOTERS).append(1, frozenset({TWO, THREE}))


@pytest.mark.parametrize(
    ("node", "broken"),
    [
        (replica(), []),
        (replica(Role.LEADER), []),
        (replica(hwm=2), [HWM_IN_LOG]),
        (replica(log=Log(3), flushed=3, hwm=2), [HWM_IN_LOG]),
        (replica(flushed=2), [HWM_IN_LOG]),
        (NO_VOTER, [VALID_ROLES]),
        (replica(granted=frozenset({2})), [VALID_ROLES]),
        (replica(Role.LEADER, leader=2), [VALID_ROLES]),
        (replica(Role.LEADER, log=REMOVED, hwm=0), []),
        (replica(Role.LEADER, log=REMOVED, hwm=1), [VALID_ROLES]),
    ],
)
def test_a_replica_is_as_its_role_allows(node: Node, broken: list[str]) -> None:
    assert list(of_node(node)) == broken


FOLLOWER = replica(Role.FOLLOWER, 2, log=LONG, flushed=2, hwm=1)
LEADER = replica(Role.LEADER, 2, log=LONG, flushed=2)


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        (FOLLOWER, FOLLOWER, []),
        (FOLLOWER, replica(Role.FOLLOWER, 1, log=LONG, hwm=1), [EPOCH_MONOTONIC]),
        (FOLLOWER, replace(FOLLOWER, leader=3), [LEGAL_TRANSITION]),
        (FOLLOWER, replica(Role.UNATTACHED, 2, log=LONG, hwm=1), [LEGAL_TRANSITION]),
        (FOLLOWER, replica(Role.CANDIDATE, 4, log=LONG, hwm=1), [LEGAL_TRANSITION]),
        (FOLLOWER, replica(Role.CANDIDATE, 3, log=LONG, hwm=1), []),
        (replica(voted=TWO), replica(voted=THREE), [NO_AMNESIA]),
        (replica(voted=TWO), replica(), [NO_AMNESIA]),
        (replica(Role.CANDIDATE), replica(Role.LEADER), []),
        (FOLLOWER, replace(FOLLOWER, hwm=0), [HWM_MONOTONIC]),
        (FOLLOWER, replace(FOLLOWER, log=Log(), flushed=0), [NO_CUT_BELOW_HWM]),
        (FOLLOWER, replace(FOLLOWER, log=OTHER, flushed=1), [NO_CUT_BELOW_HWM]),
        (LEADER, replace(LEADER, log=SHORT), [APPEND_ONLY]),
        (LEADER, replace(LEADER, log=LONG.append(2, VOTERS)), [ONE_CHANGE]),
        (LEADER, replace(LEADER, log=LONG.append(2, frozenset({ONE}))), []),
    ],
)
def test_a_step_leads_to_what_may_follow(before: Node, after: Node, broken: list[str]) -> None:
    found = list(of_step(before, after))
    assert found == broken or set(broken) < set(found)


def test_logs_that_meet_have_been_alike_all_along() -> None:
    assert of_logs(SHORT, LONG) == ""
    assert of_logs(SHORT, OTHER) == "", "they have nothing in common"
    forked = Log().append(1, PLAIN).append(3, PLAIN)
    assert of_logs(forked, OTHER.append(3, PLAIN)) == LOG_MATCHING
    assert of_logs(Log().append(1, 7), SHORT) == LOG_MATCHING
    assert of_logs(LONG.begin_at(1), LONG) == ""


def test_what_is_committed_is_on_the_disks_of_a_majority() -> None:
    log = Log(start_voters=VOTERS).append(1, PLAIN, 2)
    leader = replica(Role.LEADER, log=log, flushed=2, hwm=2)
    second = replica(Role.FOLLOWER, key=TWO, log=log, flushed=2)
    third = replica(Role.FOLLOWER, key=THREE, log=log, flushed=1)
    assert is_durable(leader, [leader, second, third])
    assert not is_durable(leader, [leader, replace(second, flushed=1), third])
    forked = replace(second, log=Log().append(2, PLAIN, 2))
    assert not is_durable(leader, [leader, forked, third])


def test_a_voter_that_lost_its_disk_had_kept_its_word() -> None:
    log = Log(start_voters=VOTERS).append(1, PLAIN, 2)
    leader = replica(Role.LEADER, log=log, flushed=2, hwm=2)
    fresh = replica(key=Key(2, "b"), log=log, flushed=2)
    third = replica(key=THREE, log=log, flushed=0)
    assert not is_durable(leader, [leader, fresh, third]), "who has its id is somebody else"
    knew = replace(leader, progress=frozenset({(TWO, 2)}))
    assert is_durable(knew, [knew, fresh, third])
