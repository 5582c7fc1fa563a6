"""What became of a partition, in words: leader, ISR, eligible leaders, replicas, directories.

    before ─┐
            ├─▶ effects ─▶ "leader 3 elected (2 led before)", "ISR shrunk by 2", …
    after  ─┘

Each effect has a name for programs, the brokers it is about, and a sentence for people.  Whether an
election was clean follows from the partition before: whoever was in the ISR has every committed
record, and so has who was an eligible leader (KIP-966); anybody else may lack some, and has to
recover (KIP-704).

Fixed by Kafka's PartitionChangeBuilder.java and PartitionReassignmentReplicas.java.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from barnabas.metadata.topics import NO_LEADER, RECOVERED, RECOVERING, PartitionRegistration
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value

UNTOLD: Final = tuple(Uuid(bytes(15) + bytes([number])) for number in range(3))
"""Where a replica lies: nobody has told yet, nobody has chosen yet, in a directory that is lost."""

UNTOLD_WORDS: Final = ("not told", "not assigned", "lost")


@value
class Effect:
    """One thing that is otherwise."""

    what: str
    """The name of it."""
    words: str
    brokers: tuple[int, ...] = ()


def effects(before: PartitionRegistration, after: PartitionRegistration) -> tuple[Effect, ...]:
    """Return what is otherwise, the leader first."""
    return (
        *of_leader(before, after),
        *of_isr(before, after),
        *of_eligible(before, after),
        *of_replicas(before, after),
        *of_directories(before, after),
    )


def of_leader(before: PartitionRegistration, after: PartitionRegistration) -> Iterator[Effect]:
    """Yield what became of the leader."""
    old, new = before.leader, after.leader
    if new != old and new == NO_LEADER:
        yield Effect("leaderLost", f"leader {old} lost, and nobody can lead", (old,))
    elif new != old:
        past = "nobody led before" if old == NO_LEADER else f"{old} led before"
        if is_unclean(before, after):
            how, what = ", uncleanly: it was not in sync, so records may be lost", "Unclean"
        elif new in before.elr and new not in before.isr:
            how, what = ", of the eligible leaders", "Eligible"
        else:
            how, what = "", ""
        preferred = ", the preferred one" if new == after.replicas[0] else ""
        words = f"leader {new} elected{preferred}{how} ({past})"
        yield Effect(f"leaderElected{what}", words, (new,))
    elif after.leader_epoch != before.leader_epoch:
        stays = "still nobody leads" if new == NO_LEADER else f"leader {new} stays"
        yield Effect("leaderEpochRaised", f"{stays}, in a new epoch", () if new < 0 else (new,))
    if after.leader_recovery_state != before.leader_recovery_state:
        if after.leader_recovery_state == RECOVERED:
            yield Effect("leaderRecovered", f"leader {new} has recovered", (new,))
        else:
            yield Effect("leaderRecovering", f"leader {new} has to recover", (new,))


def is_unclean(before: PartitionRegistration, after: PartitionRegistration) -> bool:
    """Tell whether somebody was elected who may lack committed records.

    Such a leader has to recover.  One that does not may all the same have been out of the ISR: a
    record that ends a reassignment lets the new replica in and elects it at once.
    """
    known = (before.leader, NO_LEADER, *before.isr, *before.elr)
    return after.leader not in known and after.leader_recovery_state == RECOVERING


def of_isr(before: PartitionRegistration, after: PartitionRegistration) -> Iterator[Effect]:
    """Yield who is in sync, and who is not any more."""
    if lost := without(before.isr, after.isr):
        yield Effect("isrShrunk", f"ISR shrunk by {listed(lost)}", lost)
    if gained := without(after.isr, before.isr):
        yield Effect("isrGrown", f"ISR grown by {listed(gained)}", gained)


def of_eligible(before: PartitionRegistration, after: PartitionRegistration) -> Iterator[Effect]:
    """Yield who may lead besides."""
    if gained := without(after.elr, before.elr):
        yield Effect("eligible", f"{listed(gained)} may lead although not in sync", gained)
    if lost := without(before.elr, after.elr):
        yield Effect("notEligible", f"{listed(lost)} no longer eligible to lead", lost)
    if after.last_known_elr != before.last_known_elr:
        if after.last_known_elr:
            words = f"{listed(after.last_known_elr)} remembered as the last that could lead"
            yield Effect("lastKnown", words, after.last_known_elr)
        else:
            words = f"{listed(before.last_known_elr)} need not be remembered any more"
            yield Effect("lastKnownForgotten", words, before.last_known_elr)


def of_replicas(before: PartitionRegistration, after: PartitionRegistration) -> Iterator[Effect]:
    """Yield what became of a reassignment, and who has a replica."""
    was, now = (bool(each.adding_replicas or each.removing_replicas) for each in (before, after))
    plan = " and ".join(
        f"{verb} {listed(who)}"
        for verb, who in (("adds", after.adding_replicas), ("removes", after.removing_replicas))
        if who
    )
    if now and not was:
        yield Effect("reassignmentBegan", f"reassignment began: {plan}")
    elif was and not now:
        yield reassigned(before, after)
    elif targets(before) != targets(after):
        yield Effect("reassignmentChanged", f"reassignment changed: {plan}")
    gained = without(after.replicas, before.replicas)
    lost = without(before.replicas, after.replicas)
    if gained:
        yield Effect("replicasAdded", f"replicas added on {listed(gained)}", gained)
    if lost:
        yield Effect("replicasRemoved", f"replicas removed from {listed(lost)}", lost)
    if not gained and not lost and after.replicas != before.replicas:
        words = f"replicas in another order: {listed(after.replicas)}, the first is preferred"
        yield Effect("replicasReordered", words, after.replicas)


def reassigned(before: PartitionRegistration, after: PartitionRegistration) -> Effect:
    """Return how a reassignment ended: as planned, or as if it had never begun."""
    adding, removing = targets(before)
    has_all = not without(adding, after.replicas)
    if has_all and without(removing, after.replicas) == removing:
        return Effect("reassignmentCompleted", "reassignment completed")
    return Effect("reassignmentCancelled", "reassignment cancelled")


def targets(partition: PartitionRegistration) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what a reassignment adds and removes."""
    return partition.adding_replicas, partition.removing_replicas


def of_directories(before: PartitionRegistration, after: PartitionRegistration) -> Iterator[Effect]:
    """Yield where replicas lie now, of those that were there before."""
    for replica, place in zip(after.replicas, after.directories, strict=True):
        known = before.directory(replica)
        if known is not None and known != place:
            words = f"replica on {replica} now in directory {directory_text(place)}"
            yield Effect("directoryAssigned", words, (replica,))


def directory_text(place: Uuid) -> str:
    """Spell a directory, or why there is none."""
    if place in UNTOLD:
        return UNTOLD_WORDS[UNTOLD.index(place)]
    return uuid_text(place)


def without(these: Iterable[int], those: Sequence[int]) -> tuple[int, ...]:
    """Return what is here and not there, in order."""
    return tuple(each for each in these if each not in those)


def listed(brokers: Iterable[int]) -> str:
    """Spell some brokers."""
    return ", ".join(map(str, brokers))
