"""Who votes: replicas by id *and* directory, sets of them, and the sets a log has seen.

A replica is known by its node id and by the id of the directory its log lies in (KIP-853): a node
that comes back with an empty disk has given its word nowhere, so it is somebody else.  Where the
voters are configured statically (kraft.version 0) nobody knows the directories, and the id alone
has to do.

    configured or 0-0.checkpoint ──▶ voters record ──▶ voters record ──▶ …   (in the log)
                                          ▲ truncated: the one before is in force again

The set in force is always the last one in the *local log*, committed or not (R-21).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.model.ids import ZERO_UUID, Uuid, uuid_text
from barnabas.model.value import value
from barnabas.runtime.network import Address

# What kraft.version says: whether voters are in the log, and may change.
STATIC: Final = 0
RECONFIGURABLE: Final = 1


@value
class ReplicaKey:
    """One replica: a node, and the directory in which it keeps its log, if that is known."""

    id: int
    directory_id: Uuid = ZERO_UUID

    def __str__(self) -> str:
        directory = uuid_text(self.directory_id) if self.directory_id != ZERO_UUID else "-"
        return f"{self.id}:{directory}"

    def matches(self, other: "ReplicaKey") -> bool:
        """Tell whether the other is meant by this key, which may leave the directory open."""
        return self.id == other.id and self.directory_id in (ZERO_UUID, other.directory_id)


@value
class Endpoint:
    """Where a listener of a controller is reached."""

    listener: str
    host: str
    port: int

    @property
    def address(self) -> Address:
        """Return what to connect to."""
        return Address(self.host, self.port)


Endpoints = tuple[Endpoint, ...]


@value
class Voter:
    """A voter: who it is, where it is, and which kraft.versions it can work with."""

    key: ReplicaKey
    endpoints: Endpoints
    versions: tuple[int, int] = (STATIC, STATIC)

    def describes(self, other: "Voter") -> bool:
        """Tell whether nothing is new about the other; no order of endpoints means anything."""
        mine, others = (frozenset(each.endpoints) for each in (self, other))
        return (self.key, mine, self.versions) == (other.key, others, other.versions)


@value
class VoterSet:
    """The voters of a quorum, in the order of their ids."""

    voters: tuple[Voter, ...]

    @staticmethod
    def of(voters: Iterable[Voter]) -> "VoterSet":
        """Return a set of voters; two with one id are a mistake of whoever asks."""
        ordered = tuple(sorted(voters, key=lambda voter: voter.key.id))
        ids = [voter.key.id for voter in ordered]
        assert len(set(ids)) == len(ids), f"two voters share an id: {ids}"
        return VoterSet(ordered)

    def __len__(self) -> int:
        return len(self.voters)

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids, ascending."""
        return tuple(voter.key.id for voter in self.voters)

    @property
    def majority(self) -> int:
        """How many voters decide."""
        return len(self.voters) // 2 + 1

    def by_id(self, node_id: int) -> Voter | None:
        """Return the voter of an id."""
        return next((voter for voter in self.voters if voter.key.id == node_id), None)

    def contains(self, key: ReplicaKey) -> bool:
        """Tell whether this very replica votes."""
        voter = self.by_id(key.id)
        return voter is not None and voter.key.matches(key)

    def others(self, key: ReplicaKey) -> tuple[Voter, ...]:
        """Return the voters that this replica is not."""
        return tuple(voter for voter in self.voters if not voter.key.matches(key))

    def with_voter(self, voter: Voter) -> "VoterSet":
        """Return the set with one more, or with a voter's new description."""
        kept = (each for each in self.voters if each.key.id != voter.key.id)
        return VoterSet.of((*kept, voter))

    def without(self, key: ReplicaKey) -> "VoterSet":
        """Return the set with one less, if there is exactly this one."""
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))


NO_VOTERS: Final = VoterSet(())


def high_watermark(
    ends: Mapping[int, int], voters: VoterSet, epoch_start_offset: int
) -> int | None:
    """Return the offset below which a majority has everything on its disk, or None.

    ``ends`` holds, by id, what is known to be flushed on the voters; who is missing there has
    shown nothing.  A leader may count a record of an earlier epoch as committed only through one
    of its own (Raft, figure 8; R-11), so nothing up to the start of its epoch will do.
    """
    known = sorted((ends.get(node_id, -1) for node_id in voters.ids), reverse=True)
    if not known:
        return None
    reached = known[voters.majority - 1]
    return reached if reached > epoch_start_offset else None


class History:
    """The voter sets and kraft.versions of one log, by the offset of their records.

    What lies in no log at all (a configured set, the one of a formatted 0-0 checkpoint) has the
    offset -1.
    """

    def __init__(self, configured: VoterSet = NO_VOTERS, version: int = STATIC) -> None:
        self._offsets: Final = [-1]
        self._sets: Final = [configured]
        self._version_offsets: Final = [-1]
        self._versions: Final = [version]

    @property
    def current(self) -> VoterSet:
        """The voters in force."""
        return self._sets[-1]

    @property
    def current_offset(self) -> int:
        """Where the record of the voters in force is; -1 if they are in no log."""
        return self._offsets[-1]

    @property
    def version(self) -> int:
        """The kraft.version in force."""
        return self._versions[-1]

    @property
    def reconfigurable(self) -> bool:
        """Whether voters may be added and removed."""
        return self.version >= RECONFIGURABLE

    def set_at(self, end_offset: int) -> VoterSet:
        """Return the voters in force for whoever knows the log up to an offset."""
        return self._sets[max(0, bisect_left(self._offsets, end_offset) - 1)]

    def version_at(self, end_offset: int) -> int:
        """Return the kraft.version in force for whoever knows the log up to an offset."""
        return self._versions[max(0, bisect_left(self._version_offsets, end_offset) - 1)]

    def add_voters(self, offset: int, voters: VoterSet) -> None:
        """Take a voters record."""
        assert offset > self._offsets[-1], f"voters at {offset}, after those at {self._offsets[-1]}"
        self._offsets.append(offset)
        self._sets.append(voters)

    def add_version(self, offset: int, version: int) -> None:
        """Take a kraft.version record."""
        last = self._version_offsets[-1]
        assert offset > last, f"kraft.version at {offset}, after the one at {last}"
        self._version_offsets.append(offset)
        self._versions.append(version)

    def truncate(self, end_offset: int) -> None:
        """Forget the records at an offset and behind it."""
        keep = max(1, bisect_left(self._offsets, end_offset))
        del self._offsets[keep:], self._sets[keep:]
        keep = max(1, bisect_left(self._version_offsets, end_offset))
        del self._version_offsets[keep:], self._versions[keep:]

    def restart(self, end_offset: int, voters: VoterSet | None, version: int) -> None:
        """Begin anew with what a snapshot says that ends at an offset.

        A snapshot of a quorum whose voters are configured says nothing of them.
        """
        configured = self._sets[0]
        self.truncate(0)
        if voters is not None:
            self._offsets[0], self._sets[0] = end_offset - 1, voters
        else:
            self._offsets[0], self._sets[0] = -1, configured
        self._version_offsets[0], self._versions[0] = end_offset - 1, version
