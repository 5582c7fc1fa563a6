"""What a role keeps in mind for as long as it lasts: votes counted, answers had, goodbyes said.

Dropped whole when the role or the epoch changes, so that nothing of an earlier life can be
mistaken for news of this one.  A leader's is larger, and in ``progress``.
"""

from dataclasses import dataclass, field

from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import ReplicaKey, VoterSet


@dataclass(slots=True)
class Ballot:
    """One round of asking for votes, or pre-votes; by id, since a set has one voter of an id."""

    granted: dict[int, None]
    refused: dict[int, None] = field(default_factory=dict)
    yields: bool = False
    """Whether somebody with a better claim asks at this moment, and goes first."""

    @staticmethod
    def of(candidate: ReplicaKey) -> "Ballot":
        """Begin with the candidate's own vote."""
        return Ballot({candidate.id: None})

    def counted(self, voter_id: int) -> bool:
        """Tell whether a voter has answered."""
        return voter_id in self.granted or voter_id in self.refused

    def is_won(self, voters: VoterSet) -> bool:
        """Tell whether a majority said yes."""
        return len(self.granted) >= voters.majority

    def is_lost(self, voters: VoterSet) -> bool:
        """Tell whether a majority can no longer say yes."""
        return len(voters) - len(self.refused) < voters.majority


@dataclass(slots=True)
class Following:
    """What a follower has from its leader."""

    has_fetched: bool = False
    """Whether the leader has answered, and not been silent for too long since: it lives (R-19)."""
    failures: int = 0
    """How many fetches in a row came to nothing."""
    complaint: str = ""
    """What was wrong with the last answer that made no sense, so that it is told once."""
    receiving: SnapshotId | None = None
    received_bytes: int = 0
    is_introduced: bool = False
    """Whether the leader has heard how this voter is reached."""


@dataclass(slots=True)
class Farewell:
    """What a leader that has resigned tells the others, and who has heard it."""

    successors: tuple[ReplicaKey, ...] = ()
    told: dict[int, None] = field(default_factory=dict)
