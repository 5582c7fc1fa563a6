"""Roles and votes: each action with what it does, and each of its guards."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.raft.elections import (
    ask_vote,
    count,
    detach,
    follow,
    give_up,
    grant,
    lead,
    lose_pre_vote,
    miss_leader,
    refuse,
    resign,
    restart,
    stand,
    stay,
    win_pre_vote,
)
from barnabas.sim.specs.raft.guards import Guard, without
from barnabas.sim.specs.raft.log import LEADER_CHANGE, PLAIN, Key, Log
from barnabas.sim.specs.raft.node import Asked, Election, Node, Role, Snapshot, Step, VoteAnswer
from tests.sim.specs.raft.replicas import ONE, THREE, TWO, VOTERS, done, replica, vote, why_not


def test_a_voter_stands_from_every_role_that_waits() -> None:
    for role in (Role.UNATTACHED, Role.FOLLOWER, Role.CANDIDATE):
        after = done(stand(replica(role, voted=THREE)))
        assert (after.role, after.epoch, after.voted) == (Role.PROSPECTIVE, 1, THREE)
        assert after.granted == {1}
    assert done(stand(replica(Role.FOLLOWER))).leader == 2, "it remembers the leader that it lost"
    for role in (Role.PROSPECTIVE, Role.LEADER, Role.RESIGNED):
        assert why_not(stand(replica(role))) is Guard.RIGHT_ROLE
    assert why_not(stand(replica(key=Key(1, "b")))) is Guard.IS_VOTER


def test_a_pre_vote_that_is_won_raises_the_epoch_and_votes_for_itself() -> None:
    prospective = replica(Role.PROSPECTIVE, granted=frozenset({1, 3}))
    after = done(win_pre_vote(prospective))
    assert (after.role, after.epoch, after.leader, after.voted) == (Role.CANDIDATE, 2, None, ONE)
    assert after.saved == Election(2, None, ONE)
    alone = replica(Role.PROSPECTIVE)
    assert why_not(win_pre_vote(alone)) is Guard.PRE_VOTED
    assert done(win_pre_vote(alone, is_known=False)).epoch == 2, "somebody knows no pre-votes"


def test_a_pre_vote_that_is_lost_leads_back_to_the_leader_or_to_nobody() -> None:
    lost = replica(Role.PROSPECTIVE, leader=2, voted=THREE)
    assert done(lose_pre_vote(lost, follows=True)).role is Role.FOLLOWER
    assert done(lose_pre_vote(lost, follows=False)).voted == THREE
    nobody = replica(Role.PROSPECTIVE)
    assert why_not(lose_pre_vote(nobody, follows=True)) is Guard.ONE_LEADER
    assert done(lose_pre_vote(nobody, follows=False)).role is Role.UNATTACHED


def test_a_candidate_with_a_majority_leads_with_the_first_record_of_its_epoch() -> None:
    elected = replica(Role.CANDIDATE, 2, granted=frozenset({1, 2}))
    after = done(lead(elected))
    assert (after.role, after.leader, after.voted, after.epoch_start) == (Role.LEADER, 1, None, 1)
    assert after.log == elected.log.append(2, LEADER_CHANGE)
    assert after.flushed == 1, "it is not on the disk yet"
    with_voters = done(lead(elected, (PLAIN, VOTERS)))
    assert (with_voters.log.end, with_voters.log.voters_offset) == (4, 3)
    fewer = frozenset({ONE})
    assert why_not(lead(elected, (PLAIN, fewer))) is Guard.ONE_AT_A_TIME
    assert why_not(lead(replica(Role.CANDIDATE, 2))) is Guard.ELECTED
    # Whoever said yes and votes no more does not count.
    others = replica(Role.CANDIDATE, 2, granted=frozenset({1, 4}))
    assert why_not(lead(others)) is Guard.ELECTED


def test_a_leader_resigns_and_gives_the_epoch_up() -> None:
    resigned = done(resign(replica(Role.LEADER, 2)))
    assert (resigned.role, resigned.epoch, resigned.leader) == (Role.RESIGNED, 2, 1)
    left = done(give_up(resigned))
    assert (left.role, left.epoch, left.leader) == (Role.UNATTACHED, 3, None)
    assert why_not(resign(replica())) is Guard.LEADS
    assert why_not(give_up(replica())) is Guard.RIGHT_ROLE


def test_whoever_hears_of_a_leader_follows_it_and_keeps_its_vote() -> None:
    for role in (Role.UNATTACHED, Role.PROSPECTIVE, Role.CANDIDATE):
        after = done(follow(replica(role, voted=ONE), 2, 1))
        assert (after.role, after.leader, after.voted) == (Role.FOLLOWER, 2, ONE)
    assert done(follow(replica(Role.LEADER), 2, 5)).voted is None
    assert why_not(follow(replica(epoch=2), 2, 1)) is Guard.GOES_FORWARD
    assert why_not(follow(replica(Role.FOLLOWER), 3, 1)) is Guard.ONE_LEADER
    assert why_not(follow(replica(), 1, 1)) is Guard.ONE_LEADER, "nobody follows itself"
    rules = without(Guard.ONE_LEADER)
    assert why_not(follow(replica(Role.LEADER), 2, 1, rules)) is Guard.RIGHT_ROLE


def test_a_higher_epoch_is_taken_on_and_clears_the_vote() -> None:
    after = done(detach(replica(voted=TWO), 4, 3))
    assert (after.role, after.epoch, after.leader, after.voted) == (Role.UNATTACHED, 4, 3, None)
    assert why_not(detach(replica(), 1)) is Guard.GOES_FORWARD


def test_news_may_only_be_left_alone_if_they_are_none() -> None:
    for node, epoch, leader in (
        (replica(), 0, 3),
        (replica(), 1, None),
        (replica(), 1, 1),
        (replica(Role.FOLLOWER), 1, 2),
        (replica(Role.FOLLOWER), 1, 3),
    ):
        assert done(stay(node, epoch, leader)) == node
    assert why_not(stay(replica(), 2, None)) is Guard.NOTHING_NEW
    assert why_not(stay(replica(), 1, 3)) is Guard.NOTHING_NEW


# --- Votes -----------------------------------------------------------------------------------


def test_a_candidate_asks_with_the_end_of_its_log() -> None:
    step = ask_vote(replica(Role.CANDIDATE, 2), TWO, number=9)
    assert isinstance(step, Step)
    request = replace(vote(2), candidate=ONE, voter=TWO)
    assert step.said == request
    assert step.node.stands(Asked(9, request))
    before = ask_vote(replica(Role.PROSPECTIVE), TWO)
    assert isinstance(before, Step)
    assert before.said == replace(request, epoch=1, pre_vote=True)
    assert why_not(ask_vote(replica(Role.CANDIDATE), ONE)) is Guard.IS_VOTER
    assert why_not(ask_vote(replica(), TWO)) is Guard.RIGHT_ROLE


def test_a_vote_is_given_once_and_written_down() -> None:
    step = grant(replica(), vote())
    assert isinstance(step, Step)
    assert step.said == VoteAnswer(vote(), 1, True)
    assert (step.node.voted, step.node.saved) == (TWO, Election(1, None, TWO))
    again = done(grant(step.node, vote(rank=(0, 0))))
    assert again == step.node, "it is given again, whatever the log looks like now"
    prospective = done(grant(replica(Role.PROSPECTIVE), vote()))
    assert (prospective.role, prospective.voted) == (Role.PROSPECTIVE, TWO)


@pytest.mark.parametrize(
    ("node", "epoch", "guard"),
    [
        (replica(key=Key(1, "b")), 1, Guard.ADDRESSEE),
        (replica(epoch=2), 1, Guard.VOTE_EPOCH),
        (replica(Role.FOLLOWER), 1, Guard.FREE_TO_VOTE),
        (replica(Role.RESIGNED), 1, Guard.FREE_TO_VOTE),
        (replica(leader=3), 1, Guard.FREE_TO_VOTE),
        (replica(voted=THREE), 1, Guard.VOTES_ONCE),
        (replica(log=Log().append(1, PLAIN, 2)), 1, Guard.LOG_COMPLETE),
        (replica(log=Log().append(2, PLAIN)), 1, Guard.LOG_COMPLETE),
    ],
)
def test_a_vote_is_refused_for_a_reason(node: Node, epoch: int, guard: Guard) -> None:
    assert why_not(grant(node, vote(epoch))) is guard
    step = refuse(node, vote(epoch))
    assert isinstance(step, Step)
    assert step.node == node
    assert step.said == VoteAnswer(vote(epoch), node.epoch, False)


def test_a_vote_is_not_refused_without_a_reason() -> None:
    assert why_not(refuse(replica(), vote())) is Guard.REASON_TO_REFUSE


def test_a_pre_vote_changes_nothing() -> None:
    request = vote(pre_vote=True)
    for role in (Role.UNATTACHED, Role.PROSPECTIVE, Role.CANDIDATE, Role.RESIGNED, Role.FOLLOWER):
        node = replica(role, voted=THREE)
        assert done(grant(node, request)) == node
    lives = replica(Role.FOLLOWER, has_fetched=True)
    assert why_not(grant(lives, request)) is Guard.LEADER_IS_SILENT
    assert why_not(grant(replica(Role.LEADER), request)) is Guard.LEADER_IS_SILENT
    longer = replica(log=Log().append(1, PLAIN, 2))
    assert why_not(grant(longer, request)) is Guard.LOG_COMPLETE


def test_an_observer_that_misses_its_leader_grants_pre_votes_again() -> None:
    stranger = Key(4, "a")
    lives = replica(Role.FOLLOWER, key=stranger, has_fetched=True)
    request = replace(vote(pre_vote=True), voter=stranger)
    assert why_not(grant(lives, request)) is Guard.LEADER_IS_SILENT
    misses = done(miss_leader(lives))
    assert misses == replace(lives, has_fetched=False)
    assert done(grant(misses, request)) == misses
    # Who votes stands for election instead.
    assert why_not(miss_leader(replica(Role.FOLLOWER))) is Guard.RIGHT_ROLE
    assert why_not(miss_leader(replica(key=stranger))) is Guard.RIGHT_ROLE


def test_an_answer_counts_once_in_the_round_that_asked() -> None:
    step = ask_vote(replica(Role.CANDIDATE, 2), TWO)
    assert isinstance(step, Step)
    request = replace(vote(2), candidate=ONE, voter=TWO)
    asked, yes = Asked(0, request), VoteAnswer(request, 2, True)
    after = done(count(step.node, asked, yes))
    assert after.granted == {1, 2}
    assert why_not(count(after, asked, yes)) is Guard.OUTSTANDING
    assert done(count(step.node, asked, VoteAnswer(request, 2, False))).granted == {1}
    rules = without(Guard.OUTSTANDING)
    assert why_not(count(replica(), asked, yes, rules)) is Guard.RIGHT_ROLE
    later = replica(Role.CANDIDATE, 3)
    assert why_not(count(later, asked, yes, rules)) is Guard.VOTE_COUNTS


# --- Restarts --------------------------------------------------------------------------------


def test_a_restart_keeps_what_is_on_the_disk_and_some_of_the_rest() -> None:
    node = replica(voted=TWO, log=Log(start_voters=VOTERS).append(1, PLAIN, 3), hwm=2)
    for kept in (1, 2, 3):
        after = done(restart(node, kept, Role.UNATTACHED))
        assert (after.log.end, after.flushed, after.hwm, after.voted) == (kept, kept, 0, TWO)
    assert why_not(restart(node, 0, Role.UNATTACHED)) is Guard.KEEPS_FLUSHED
    assert why_not(restart(node, 4, Role.UNATTACHED)) is Guard.KEEPS_FLUSHED
    careful = done(restart(node, 2, Role.UNATTACHED, flushed=0))
    assert (careful.flushed, careful.on_disk) == (0, 1), "it believes in less than is there"
    snapshot = Snapshot(1, 1, VOTERS)
    assert done(restart(replica(snapshots=(snapshot,)), 1, Role.UNATTACHED)).hwm == 1


def test_who_led_comes_back_resigned_and_nobody_else_does() -> None:
    leader = replica(Role.LEADER, 2)
    assert done(restart(leader, 1, Role.RESIGNED)).role is Role.RESIGNED
    for role in (Role.UNATTACHED, Role.LEADER, Role.CANDIDATE):
        assert why_not(restart(leader, 1, role)) is Guard.LEADS_NO_MORE
    for role in (Role.LEADER, Role.RESIGNED, Role.PROSPECTIVE, Role.CANDIDATE, Role.FOLLOWER):
        assert why_not(restart(replica(), 1, role)) is Guard.RIGHT_ROLE
    assert done(restart(replica(Role.FOLLOWER), 1, Role.FOLLOWER)).leader == 2


def test_a_candidate_that_lost_records_comes_back_with_its_vote_alone() -> None:
    longer = Log(start_voters=VOTERS).append(1, PLAIN, 2)
    candidate = replica(Role.CANDIDATE, 2, log=longer)
    again = done(restart(candidate, 2, Role.CANDIDATE))
    assert (again.role, again.granted) == (Role.CANDIDATE, frozenset({1}))
    assert why_not(restart(candidate, 1, Role.CANDIDATE)) is Guard.KEEPS_CLAIM
    waits = done(restart(candidate, 1, Role.UNATTACHED))
    assert (waits.role, waits.epoch, waits.voted) == (Role.UNATTACHED, 2, ONE)
