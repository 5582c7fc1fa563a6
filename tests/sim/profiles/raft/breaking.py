"""The machine of the quorum with one line wrong, in a way that somebody has got wrong before.

``BREAKS`` has, for each, how it is broken and what the validation of traces must call it: one of
these actions, at the latest when the mistake is *made*, not when something is lost by it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.value import value
from barnabas.raft import changes, elections, following, leading, news, progress, replica
from barnabas.raft.effects import Effect, PersistElection
from barnabas.raft.messages import Fetch, FetchAnswer, Lent, Standing, Vote, VoteAnswer
from barnabas.raft.outline import Agrees, Diverges, Outline
from barnabas.raft.progress import Leadership, Progress
from barnabas.raft.replica import Replica
from barnabas.raft.states import (
    Candidate,
    Election,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from barnabas.raft.voters import Endpoints, ReplicaKey, Voter, VoterSet, high_watermark

Patch = pytest.MonkeyPatch


@value
class Break:
    """A mistake, and the actions that must not go through."""

    make: Callable[[Patch], None]
    actions: frozenset[str]


def votes_without_looking(patch: Patch) -> None:
    """A vote is given to a candidate whose log is not as complete (R-18)."""

    def may_grant(self: Replica, state: State, vote: Vote) -> bool:
        match state:
            case Unattached(_, leader_id, voted) if not vote.pre_vote:
                return voted.matches(vote.candidate) if voted is not None else leader_id is None
            case _:
                return original(self, state, vote)

    original = elections._may_grant
    patch.setattr(elections, "_may_grant", may_grant)


def votes_twice(patch: Patch) -> None:
    """A second vote is given in one epoch (R-02)."""

    def may_grant(self: Replica, state: State, vote: Vote) -> bool:
        return original(self, state, vote) or (
            isinstance(state, Unattached)
            and not vote.pre_vote
            and state.leader_id is None
            and vote.last.rank >= self.outline.last.rank
        )

    original = elections._may_grant
    patch.setattr(elections, "_may_grant", may_grant)


def forgets_its_vote(patch: Patch) -> None:
    """A vote is told, and neither kept nor written down (R-04)."""
    patch.setattr(elections, "_voting", lambda state, candidate: state)


def tells_before_it_writes(patch: Patch) -> None:
    """A vote is told before it is on the disk (MR-03)."""

    def vote_asked(self: Replica, token: int, vote: Vote) -> list[Effect]:
        effects = original(self, token, vote)
        late = [effect for effect in effects if isinstance(effect, PersistElection)]
        return [effect for effect in effects if effect not in late] + late

    original = elections.vote_asked
    patch.setattr(elections, "vote_asked", vote_asked)


def never_writes_its_vote(patch: Patch) -> None:
    """The epoch is written down, the vote is not."""

    def persist(self: Replica) -> list[Effect]:
        return [
            PersistElection(replace(effect.election, voted=None))
            for effect in original(self)
            if isinstance(effect, PersistElection)
        ]

    original = Replica.persist
    patch.setattr(Replica, "persist", persist)


def disturbs_a_leader(patch: Patch) -> None:
    """A follower says yes to a pre-vote although its leader answers (MR-14)."""

    def may_grant(self: Replica, state: State, vote: Vote) -> bool:
        complete = vote.last.rank >= self.outline.last.rank
        return complete if vote.pre_vote else original(self, state, vote)

    original = elections._may_grant
    patch.setattr(elections, "_may_grant", may_grant)


def leads_with_a_minority(patch: Patch) -> None:
    """One vote less than a majority will do."""
    patch.setattr(VoterSet, "majority", property(lambda self: max(1, len(self) // 2)))


def leads_on_after_a_restart(patch: Patch) -> None:
    """Who led before it died may vote in that epoch again (MR-23)."""

    def first_state(self: Replica, election: Election) -> State:
        state = original(self, election)
        return Unattached(state.epoch) if isinstance(state, Resigned) else state

    original = Replica._first_state
    patch.setattr(Replica, "_first_state", first_state)


def forgets_its_vote_with_the_round(patch: Patch) -> None:
    """Who loses a pre-vote forgets whom it has voted for (R-04, MR-04)."""

    def become(self: Replica, after: State) -> list[Effect]:
        if isinstance(self.state, Prospective) and after.epoch == self.epoch:
            after = replace(after, voted=None) if isinstance(after, Unattached) else after
        return original(self, after)

    original = Replica.become
    patch.setattr(Replica, "become", become)
    patch.setattr(replica, "check", lambda before, after, self_id: None)


def leads_before_it_is_elected(patch: Patch) -> None:
    """A candidate does not wait for the others' votes."""

    def count(self: Replica) -> list[Effect]:
        if isinstance(self.state, Candidate):
            return self.become(Leader(self.epoch, self.outline.end_offset))
        return original(self)

    original = elections.count
    patch.setattr(elections, "count", count)


def takes_no_for_yes(patch: Patch) -> None:
    """Every answer to a vote request counts as a vote."""

    def vote_answered(self: Replica, vote: Vote, answer: VoteAnswer) -> list[Effect]:
        return original(self, vote, replace(answer, granted=True))

    original = elections.vote_answered
    patch.setattr(elections, "vote_answered", vote_answered)


def counts_whoever_fetches(patch: Patch) -> None:
    """What anybody has on its disk counts, voter or not (R-32)."""

    def of(self: Leadership, voter: Voter) -> Progress | None:
        return max(self.progress.values(), key=lambda each: each.end_offset, default=None)

    patch.setattr(Leadership, "of", of)


def commits_what_is_old(patch: Patch) -> None:
    """Records of an earlier epoch count as committed without one of this epoch (MR-01)."""

    def reached_so_far(
        ends: dict[int, int], voters: VoterSet, epoch_start_offset: int
    ) -> int | None:
        return high_watermark(ends, voters, epoch_start_offset - 1)

    patch.setattr(progress, "high_watermark", reached_so_far)


def counts_its_own_unflushed(patch: Patch) -> None:
    """A leader counts what it has appended and not flushed (invariants, 11.8)."""

    def commit(self: Replica) -> list[Effect]:
        kept, self.flushed_offset = self.flushed_offset, self.outline.end_offset
        effects = original(self)
        self.flushed_offset = kept
        return effects

    original = leading.commit
    patch.setattr(leading, "commit", commit)


def fetches_what_is_not_flushed(patch: Patch) -> None:
    """A follower asks for more before what it has is on its disk (MR-02)."""

    def may_ask(self: Replica) -> bool:
        return not self.asking(Fetch) and not self.is_installing and not self.is_stopping

    patch.setattr(following, "_may_ask", may_ask)


def counts_itself_departing(patch: Patch) -> None:
    """A leader that is no voter counts itself (MR-12)."""

    def reached(self: Leadership, voters: VoterSet, own: ReplicaKey, own_offset: int) -> int | None:
        if voters.contains(own) or not voters.voters:
            return original(self, voters, own, own_offset)
        others = voters.voters[1:]
        return original(self, VoterSet((Voter(own, ()), *others)), own, own_offset)

    original = Leadership.reached
    patch.setattr(Leadership, "reached", reached)


def does_not_heed_epochs(patch: Patch) -> None:
    """News of a higher epoch without a leader are not taken."""

    def learn(
        self: Replica, leader_id: int | None, epoch: int, endpoints: Endpoints
    ) -> list[Effect]:
        return [] if leader_id is None else original(self, leader_id, epoch, endpoints)

    original = news.learn
    patch.setattr(news, "learn", learn)


def believes_old_answers(patch: Patch) -> None:
    """Answers are believed by whoever the replica has become since it asked (R-16)."""

    def become(self: Replica, after: State) -> list[Effect]:
        asked = dict(self._asked)
        effects = original(self, after)
        self._asked.update(asked)
        return effects

    original = Replica.become
    patch.setattr(Replica, "become", become)


def sends_without_comparing(patch: Patch) -> None:
    """Records are sent to who has something else before them."""
    patch.setattr(Outline, "compare", lambda self, offset, epoch: Agrees())


def answers_every_epoch(patch: Patch) -> None:
    """A leader answers fetches of other epochs as if they were of its own."""

    def leader_only(self: Replica, epoch: int) -> ErrorCode:
        leads = isinstance(self.state, Leader)
        return ErrorCode.NONE if leads else original(self, epoch)

    original = leading.leader_only
    patch.setattr(leading, "leader_only", leader_only)


def shows_old_commits(patch: Patch) -> None:
    """A leader tells the high watermark that it knew as a follower (R-12)."""
    patch.setattr(leading, "exposed", lambda self: self.high_watermark)


def takes_the_leaders_word(patch: Patch) -> None:
    """A follower takes for committed what it does not have."""

    def raise_high_watermark(self: Replica, offset: int) -> list[Effect]:
        return original(self, min(offset + 1, self.outline.end_offset))

    original = Replica.raise_high_watermark
    patch.setattr(Replica, "raise_high_watermark", raise_high_watermark)


def changes_voters_too_soon(patch: Patch) -> None:
    """Voters change before the last change, or anything of the epoch, is committed (MR-11)."""

    def append_voters(self: Replica, voters: VoterSet) -> list[Effect]:
        leader = self.leadership
        known, leader.high_watermark = leader.high_watermark, self.outline.end_offset
        effects = original(self, voters)
        leader.high_watermark = known
        return effects

    original = leading.append_voters
    patch.setattr(leading, "append_voters", append_voters)
    patch.setattr(changes, "_not_now", lambda self: None)


def knows_voters_by_id(patch: Patch) -> None:
    """A node with another disk passes for the voter it was (MR-17)."""
    patch.setattr(ReplicaKey, "matches", lambda self, other: self.id == other.id)


def runs_as_an_observer(patch: Patch) -> None:
    """Who does not vote stands for election (MR-10)."""
    patch.setattr(Replica, "is_voter", property(lambda self: bool(self.voters.current.voters)))


def cuts_too_much(patch: Patch) -> None:
    """A follower cuts what both logs share."""

    def cut_for(self: Outline, diverges: Diverges) -> int:
        return max(self.start_offset, original(self, diverges) - 1)

    original = Outline.cut_for
    patch.setattr(Outline, "cut_for", cut_for)


def appends_for_another_epoch(patch: Patch) -> None:
    """A leader begins with nothing of its own: records come before its first one."""

    def begin(self: Replica, now_ms: int) -> list[Effect]:
        self.outline.append(self.outline.end_offset + 1, self.epoch)
        return original(self, now_ms)

    original = leading.begin
    patch.setattr(leading, "begin", begin)


def stays_when_removed(patch: Patch) -> None:
    """A leader goes on when its own removal is committed (R-22)."""

    def commit(self: Replica) -> list[Effect]:
        is_voter = Replica.is_voter
        patch.setattr(Replica, "is_voter", property(lambda self: True))
        effects = original(self)
        patch.setattr(Replica, "is_voter", is_voter)
        return effects

    original = leading.commit
    patch.setattr(leading, "commit", commit)


def says_another_leader(patch: Patch) -> None:
    """Answers name a leader that the replica does not know of."""

    def standing(self: Replica, error: ErrorCode = ErrorCode.NONE) -> Standing:
        told = original(self, error)
        return replace(told, leader_id=self.config.key.id) if told.leader_id is None else told

    original = Replica.standing
    patch.setattr(Replica, "standing", standing)


def refuses_everybody(patch: Patch) -> None:
    """No vote is ever given."""
    patch.setattr(elections, "_may_grant", lambda self, state, vote: False)


def replies_in_another_name(patch: Patch) -> None:
    """The answer to a fetch lends records from one offset too far."""

    def lent(self: Replica, fetch: Fetch) -> FetchAnswer:
        answer = original(self, fetch)
        assert isinstance(answer.content, Lent), "records are lent"
        content = replace(answer.content, offset=answer.content.offset + 1)
        return replace(answer, content=content)

    original = leading._lent
    patch.setattr(leading, "_lent", lent)


def named(*actions: str) -> frozenset[str]:
    """Return the actions of which one must be called wrong."""
    return frozenset(f"TV-raft-{action}" for action in actions)


BREAKS: Final[tuple[Break, ...]] = (
    Break(votes_without_looking, named("grant")),
    Break(votes_twice, named("grant")),
    Break(forgets_its_vote, named("grant")),
    Break(tells_before_it_writes, named("grant", "refuse", "ask")),
    Break(never_writes_its_vote, named("grant", "ask")),
    Break(disturbs_a_leader, named("grant")),
    Break(leads_with_a_minority, named("win_pre_vote", "lead", "commit")),
    Break(leads_on_after_a_restart, named("restart")),
    Break(forgets_its_vote_with_the_round, named("lose_pre_vote")),
    Break(leads_before_it_is_elected, named("lead")),
    Break(takes_no_for_yes, named("win_pre_vote", "lead")),
    Break(counts_whoever_fetches, named("commit")),
    Break(commits_what_is_old, named("commit", "send_records")),
    Break(counts_its_own_unflushed, named("commit")),
    Break(fetches_what_is_not_flushed, named("ask_fetch")),
    Break(counts_itself_departing, named("commit")),
    Break(does_not_heed_epochs, named("stay")),
    Break(believes_old_answers, named("take", "win_pre_vote", "lead", "cut", "detach")),
    Break(sends_without_comparing, named("send_records", "commit")),
    Break(answers_every_epoch, named("send_records", "send_diverging", "send_snapshot")),
    Break(shows_old_commits, named("send_records", "send_diverging", "send_snapshot")),
    Break(takes_the_leaders_word, named("take", "commit")),
    Break(changes_voters_too_soon, named("change_voters", "send_records")),
    Break(knows_voters_by_id, named("grant", "commit", "stand", "ask_vote")),
    Break(runs_as_an_observer, named("stand")),
    Break(cuts_too_much, named("cut")),
    Break(appends_for_another_epoch, named("lead")),
    Break(stays_when_removed, named("commit", "send_records")),
    Break(says_another_leader, named("reply")),
    Break(refuses_everybody, named("refuse")),
    Break(replies_in_another_name, named("send_records")),
)
