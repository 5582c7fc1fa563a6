"""What becomes of one partition: who leads it, who is in sync, where its replicas lie.

    partition ─┐
    aim ───────┤
    rules ─────┼──▶ decide ──▶ Change, or None
    leaders ───┘        │
                        ├ 1 is its reassignment complete?                       (KIP-455)
                        ├ 2 who is eligible, now that so few are in sync?       (KIP-966)
                        ├ 3 who leads?
                        ├ 4 does that need another leader epoch?
                        └ 5 what of this is new?

Everything that happens to a partition once it exists goes through here: brokers that come, go, ask
for another ISR or move a directory, and people who reassign or elect.  They differ in the *aim*,
what the partition is to become; what follows from it is decided in one place, so that no two of
them can leave a partition in a state that the third does not expect.

Who may lead, in this order, is

- who leads, if it still may; the preferred replica first in a preferred election;
- whoever is in the ISR, or in the ELR once the ISR is empty, in the order of the replicas: all of
  these have every committed record;
- if both are empty, who led last.  Nobody else is known to have as much, but it may have lost some
  of it: it leads *recovering* (KIP-704), in an ISR of its own.  A partition of a single replica
  goes to it in the same way, for there is nobody else to wait for;
- anybody, if the topic or an operator allows an unclean election; recovering, too.

The ELR is who left the ISR when fewer than ``min.insync.replicas`` were left in it: the high
watermark stands still from then on, so they have every committed record as well, until they lose
data in a crash.  A partition without ELR keeps its last replica in the ISR, because nothing else
remembers which it was.

A change does not depend on the epochs of the partition.  Whoever decides on thousands remembers
what came of partitions that are otherwise the same (``Memory`` in ``elections``).

Fixed by Kafka's PartitionChangeBuilder.java; where we differ stands in decision 0019.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.levels import DIRECTORIES
from barnabas.metadata.topics import (
    MIGRATING,
    NO_LEADER,
    NO_LEADER_CHANGE,
    NO_RECOVERY_CHANGE,
    RECOVERING,
    Ids,
    PartitionRegistration,
)
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord

UNASSIGNED: Final = Uuid((1).to_bytes(16))
"""The directory of a replica for which its broker has not chosen one yet."""
LOST: Final = Uuid((2).to_bytes(16))
"""A directory that is offline, of which nobody remembers which it was."""

QUIET_SHRINKS: Final = 12
"""From this metadata.version on, brokers need no new leader epoch when the ISR shrinks."""

NOBODY: Final = -1


class Election(Enum):
    """How far an election may go."""

    ONLINE = auto()
    """Keep the partition online, as long as no committed record can be lost."""
    PREFERRED = auto()
    """Prefer the first replica to whoever leads."""
    UNCLEAN = auto()
    """Keep the partition online, whatever may be lost."""


@value
class Rules:
    """What is in force for the partitions of a topic."""

    level: int
    """The metadata.version."""
    elr: bool
    """Whether eligible leaders are remembered (KIP-966)."""
    min_in_sync: int
    """min.insync.replicas, whether the partition has so many replicas or not."""


class Aim(NamedTuple):
    """What a partition is to become; None is as it is."""

    isr: Ids | None = None
    replicas: Ids | None = None
    removing: Ids | None = None
    adding: Ids | None = None
    directories: tuple[tuple[int, Uuid], ...] = ()
    """Where some of its replicas lie now."""
    recovery_state: int | None = None
    unclean: int = NOBODY
    """A broker that may have lost what it had: it leaves the ISR, and is not eligible."""
    election: Election = Election.ONLINE


class Change(NamedTuple):
    """What is new about a partition, as a record says it: None is as before."""

    isr: Ids | None = None
    leader: int = NO_LEADER_CHANGE
    replicas: Ids | None = None
    removing_replicas: Ids | None = None
    adding_replicas: Ids | None = None
    leader_recovery_state: int = NO_RECOVERY_CHANGE
    directories: tuple[Uuid, ...] | None = None
    eligible_leader_replicas: Ids | None = None
    last_known_elr: Ids | None = None

    def said(self) -> Mapping[str, Any]:
        """Return what is new, by the names of the record's fields."""
        return {
            name: told
            for name, told, usual in zip(self._fields, self, NO_CHANGE, strict=True)
            if told != usual
        }

    def record(self, topic_id: Uuid, index: int) -> PartitionChangeRecord:
        """Return the change of a certain partition."""
        return PartitionChangeRecord(topic_id=topic_id, partition_id=index, **self.said())


NO_CHANGE: Final = Change()


class Leaders:
    """Who may lead, for the time of one decision."""

    def __init__(
        self,
        brokers: Mapping[int, BrokerRegistration],
        *,
        without: int = NOBODY,
        unfenced: int = NOBODY,
    ) -> None:
        self._brokers = brokers
        self._active = {
            broker.id
            for broker in brokers.values()
            if broker.id != without
            and not broker.in_controlled_shutdown
            and (not broker.fenced or broker.id == unfenced)
        }

    def may_lead(self, broker: int, directory: Uuid) -> bool:
        """Tell whether a broker is active, and has the directory of its replica online."""
        return broker in self._active and is_online(self._brokers[broker], directory)

    def default_directory(self, broker: int) -> Uuid:
        """Return where a new replica lies, as far as that can be said without asking its broker."""
        return default_directory(self._brokers.get(broker))


def default_directory(broker: BrokerRegistration | None) -> Uuid:
    """Return where a new replica lies, as far as that can be said without asking its broker."""
    if broker is None:
        return UNASSIGNED
    match broker.directories:
        case ():
            return MIGRATING
        case (only,):
            return only
        case _:
            return UNASSIGNED


def is_online(broker: BrokerRegistration, directory: Uuid) -> bool:
    """Tell whether a directory of a broker is online, as far as is known.

    A broker without directories has registered at a level that knows of none (KAFKA-16162).
    """
    if directory in (UNASSIGNED, MIGRATING):
        return True
    return directory != LOST and (not broker.directories or directory in broker.directories)


def decide(
    partition: PartitionRegistration, aim: Aim, rules: Rules, leaders: Leaders
) -> Change | None:
    """Return what is new about a partition if it is to reach an aim; None if nothing is."""
    draft = Draft(partition, aim, rules, leaders)
    draft.complete_reassignment()
    draft.find_eligible()
    draft.elect(aim.election)
    change = draft.change()
    return None if change == NO_CHANGE else change


class Draft:
    """A partition while it is being decided what becomes of it."""

    def __init__(
        self, partition: PartitionRegistration, aim: Aim, rules: Rules, leaders: Leaders
    ) -> None:
        removing, adding, elr, _, state = partition.unusual
        self.partition = partition
        self.rules = rules
        self.leaders = leaders
        self.unclean = aim.unclean
        self.replicas = partition.replicas if aim.replicas is None else aim.replicas
        self.removing = removing if aim.removing is None else aim.removing
        self.adding = adding if aim.adding is None else aim.adding
        self.isr = without(partition.isr if aim.isr is None else aim.isr, (aim.unclean,))
        self.elr = elr
        self.leader = partition.leader
        self.recovery_state = state if aim.recovery_state is None else aim.recovery_state
        self.places = dict(zip(partition.replicas, partition.directories, strict=True))
        self.places.update(aim.directories)

    @property
    def min_in_sync(self) -> int:
        """How many replicas have to be in sync: no more than there are."""
        return min(self.rules.min_in_sync, len(self.replicas))

    def complete_reassignment(self) -> None:
        """Let go of the replicas that are to go, if those that are to stay can do without.

        All that are being added must be in sync.  If more go than come, all that stay must be: a
        partition of five that becomes one of three would otherwise shrink to whoever is in sync of
        the three, while those that go are well (KAFKA-14190).  And enough must be in sync to write
        (C-14): Kafka does not ask for that.
        """
        if not self.removing and not self.adding:
            return
        replicas = without(self.replicas, self.removing)
        isr = without(self.isr, self.removing)
        needed = self.adding if len(self.adding) >= len(self.removing) else replicas
        if not set(needed) <= set(isr):
            return
        if len(isr) < max(1, min(self.rules.min_in_sync, len(replicas))):
            return
        self.replicas, self.isr = replicas, isr
        self.removing = self.adding = ()

    def find_eligible(self) -> None:
        """Find who has all committed records without being in sync."""
        eligible = {*self.partition.elr}
        if self.rules.elr:
            eligible |= {*self.partition.isr}
        # Where the ELR was in force and is no more, it is remembered as long as it is needed.
        if len(self.isr) >= (self.min_in_sync if self.rules.elr else 1):
            eligible.clear()
        eligible -= {*self.isr, self.unclean}
        self.elr = tuple(sorted(eligible.intersection(self.replicas)))

    def elect(self, election: Election) -> None:
        """Find who leads."""
        leader = self._clean_leader(election)
        if leader == NO_LEADER and election is not Election.PREFERRED:
            leader = self._unclean_leader(election)
            if leader != NO_LEADER:
                self.isr, self.elr = (leader,), ()
                self.recovery_state = RECOVERING
        elif leader in self.elr:
            self.isr = (leader,)
            # It may be just who was waited for, and nobody would ever ask again.
            self.complete_reassignment()
            self.find_eligible()
        self.leader = leader

    def change(self) -> Change:
        """Return what is new."""
        before = self.partition
        removing, adding, elr, last, state = before.unusual
        isr, last_known = self._kept_isr(), self._last_known()
        leader = self.leader
        if leader == before.leader and not self._needs_epoch(isr):
            leader = NO_LEADER_CHANGE
        directories = self._directories()
        return Change(
            isr=None if isr == before.isr else isr,
            leader=leader,
            replicas=None if self.replicas == before.replicas else self.replicas,
            removing_replicas=None if self.removing == removing else self.removing,
            adding_replicas=None if self.adding == adding else self.adding,
            leader_recovery_state=(
                NO_RECOVERY_CHANGE if self.recovery_state == state else self.recovery_state
            ),
            directories=None if directories == before.directories else directories,
            eligible_leader_replicas=None if self.elr == elr else self.elr,
            last_known_elr=None if last_known == last else last_known,
        )

    def _clean_leader(self, election: Election) -> int:
        """Return who leads without anything being lost, or no one."""
        candidates = self.replicas
        if election is Election.PREFERRED:
            candidates = (candidates[0], self.partition.leader, *candidates[1:])
        else:
            candidates = (self.partition.leader, *candidates)
        complete = self.isr or self.elr
        for broker in candidates:
            if broker in complete and self._may_lead(broker):
                return broker
        return NO_LEADER

    def _unclean_leader(self, election: Election) -> int:
        """Return who leads although something may be lost, or no one."""
        # Who has everything and is about to be let go, because a reassignment is cancelled, is not
        # given up for who led last, or for whoever is left alone.
        complete = {*self.partition.isr, *self.partition.elr} - {self.unclean}
        if not self.isr and not self.elr and not complete:
            last = self.partition.last_known_elr if self.rules.elr else ()
            if len(self.partition.replicas) == 1:
                # Not one that is the only one from now on: those before it may have had more.
                last = self.partition.replicas
            # With several, it is not known which of them led (they were written without ELR mode).
            if len(last) == 1 and self._may_lead(last[0]):
                return last[0]
        if election is Election.UNCLEAN:
            for broker in self.replicas:
                if self._may_lead(broker):
                    return broker
        return NO_LEADER

    def _may_lead(self, broker: int) -> bool:
        """Tell whether a replica may lead."""
        if broker not in self.replicas or broker == self.unclean:
            return False
        return self.leaders.may_lead(broker, self._place(broker))

    def _place(self, broker: int) -> Uuid:
        """Return where a replica lies."""
        place = self.places.get(broker)
        return self.leaders.default_directory(broker) if place is None else place

    def _kept_isr(self) -> Ids:
        """Return the ISR: never empty without ELR, except for a replica that may have lost data."""
        if self.isr or self.rules.elr or self.unclean != NOBODY:
            return self.isr
        return self.partition.isr

    def _last_known(self) -> Ids:
        """Return who led last, if nobody does."""
        before = self.partition
        if self.leader != NO_LEADER:
            return ()
        if not self.rules.elr:
            return before.last_known_elr
        if before.leader != NO_LEADER:
            return (before.leader,)
        if not before.last_known_elr and not self.isr and len(before.isr) == 1:
            # Nobody has led since before there was an ELR, when the last leader stayed in the ISR.
            return before.isr
        return before.last_known_elr

    def _needs_epoch(self, isr: Ids) -> bool:
        """Tell whether the leader has to begin another epoch although it stays.

        It has if a replica is gone: one that comes back must not be taken for the one that left.
        """
        if not set(self.partition.replicas) <= set(self.replicas):
            return True
        return self.rules.level < QUIET_SHRINKS and not set(self.partition.isr) <= set(isr)

    def _directories(self) -> tuple[Uuid, ...]:
        """Return where each replica lies, as far as the level can say it."""
        if self.rules.level < DIRECTORIES:
            return self.partition.directories
        return tuple(self._place(broker) for broker in self.replicas)


def without(ids: Ids, gone: Ids) -> Ids:
    """Return ids without some, in their order."""
    return tuple(each for each in ids if each not in gone) if gone else ids
