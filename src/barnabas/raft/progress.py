"""What a leader keeps while it leads: how far everybody is, who waits, which change is under way.

Nothing of it is durable and nothing survives the epoch.  What a replica has is known only from its
fetches in this very epoch, and ``offset`` of a fetch says what is on its *disk* (R-11).
"""

from dataclasses import dataclass, field
from typing import Final

from barnabas.raft.messages import AddVoter, Fetch, RemoveVoter
from barnabas.raft.voters import ReplicaKey, Voter, VoterSet, high_watermark

# How long an observer is remembered that does not fetch, and how recently one must have fetched
# that is to become a voter; both are Kafka's.
OBSERVER_MS: Final = 300_000
CAUGHT_UP_MS: Final = 3_600_000


@dataclass(slots=True)
class Progress:
    """How far one replica is."""

    end_offset: int = -1
    fetched_ms: int = -1
    caught_up_ms: int = -1
    leader_end: int = -1
    """Where the leader's log ended when the replica fetched last."""

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> None:
        """Learn of a fetch: it has caught up if it has all there was when it fetched before."""
        if offset >= leader_end:
            self.caught_up_ms = now_ms
        elif offset >= self.leader_end >= 0:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end_offset, self.fetched_ms, self.leader_end = offset, now_ms, leader_end


@dataclass(slots=True)
class Change:
    """A change of the voters that somebody waits for."""

    token: int
    question: AddVoter | RemoveVoter
    record_offset: int | None = None
    """Where the voters record is, once it is in the log."""
    is_answered: bool = False
    """Whether who asked was satisfied with less than the commit."""


@dataclass(slots=True)
class Leadership:
    """One epoch's leading."""

    epoch: int
    start_offset: int
    granting: tuple[int, ...]
    """Who voted for it."""
    described: VoterSet
    """The voters as they have described themselves since: while voters are configured, no log
    holds it, and ``kraft.version`` cannot be raised before everybody has."""
    high_watermark: int | None = None
    """Known only when something of this very epoch is committed (R-11)."""
    progress: dict[ReplicaKey, Progress] = field(default_factory=dict)
    heard: dict[ReplicaKey, None] = field(default_factory=dict)
    """The voters that have fetched since the last majority did (R-27)."""
    parked: dict[int, Fetch] = field(default_factory=dict)
    """Fetches that wait for something to send, by token."""
    change: Change | None = None

    def fetched(self, replica: ReplicaKey, offset: int, leader_end: int, now_ms: int) -> None:
        """Learn of a fetch of a replica whose log is a beginning of this one."""
        self.progress.setdefault(replica, Progress()).fetched(offset, leader_end, now_ms)

    def of(self, voter: Voter) -> Progress | None:
        """Return how far a voter is; one of unknown directory is who fetched last by its id."""
        known = [each for key, each in self.progress.items() if voter.key.matches(key)]
        return max(known, key=lambda each: each.fetched_ms, default=None)

    def reached(self, voters: VoterSet, own: ReplicaKey, own_offset: int) -> int | None:
        """Return what a majority has on its disks, or None if that says nothing yet."""
        ends: dict[int, int] = {}
        for voter in voters.voters:
            # A leader that is no voter counts itself nowhere.
            progress = self.of(voter)
            if voter.key.matches(own):
                ends[voter.key.id] = own_offset
            elif progress is not None:
                ends[voter.key.id] = progress.end_offset
        return high_watermark(ends, voters, self.start_offset)

    def hear(self, replica: ReplicaKey, voters: VoterSet, own: ReplicaKey) -> bool:
        """Learn that a replica is there; tell whether a majority has been since last time."""
        if not voters.contains(replica):
            return False
        self.heard[replica] = None
        # Only who is still a voter counts.
        there = sum(any(map(voter.key.matches, self.heard)) for voter in voters.voters)
        if there < voters.majority - (1 if voters.contains(own) else 0):
            return False
        self.heard.clear()
        return True

    def is_caught_up(self, replica: ReplicaKey, now_ms: int) -> bool:
        """Tell whether a replica would not hold the high watermark back as a voter."""
        progress = self.progress.get(replica)
        return (
            progress is not None
            and progress.caught_up_ms >= 0
            and now_ms - progress.fetched_ms < CAUGHT_UP_MS
        )

    def successors(self, voters: VoterSet, own: ReplicaKey) -> tuple[ReplicaKey, ...]:
        """Return the other voters, who has most first."""
        others = voters.others(own)

        def end(voter: Voter) -> int:
            progress = self.of(voter)
            return -1 if progress is None else progress.end_offset

        return tuple(voter.key for voter in sorted(others, key=end, reverse=True))

    def forget_idle(self, voters: VoterSet, now_ms: int) -> None:
        """Forget observers that have gone."""
        for key, progress in list(self.progress.items()):
            if not voters.contains(key) and now_ms - progress.fetched_ms > OBSERVER_MS:
                del self.progress[key]
