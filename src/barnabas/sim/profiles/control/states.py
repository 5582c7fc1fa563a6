"""What must hold of every state that decisions lead to: C-06 to C-12, C-14 to C-16, worked out.

Nothing here is taken from the deciders or from the index that they use: an oracle that shares code
with what it judges would share its mistakes.  The letters and numbers are those of the project's
catalogue of invariants.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from barnabas.controller.index import PartitionIndex
from barnabas.metadata.configs import ConfigResource
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.topics import PartitionRegistration, Topic
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.sim.world import Violation
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.structs import Message

Place = tuple[Uuid, int]


def require(held: object, story: str) -> None:
    """Complain if something is not so; the story begins with the oracles that say so."""
    if not held:
        oracle, _, rest = story.partition(":")
        raise Violation(oracle.partition(",")[0], rest.strip() or story)


def partitions(image: MetadataImage) -> Iterator[tuple[Topic, int, PartitionRegistration]]:
    """Yield every partition."""
    for topic in image.topics.topics.values():
        for number, partition in topic.partitions():
            yield topic, number, partition


def naive_index(image: MetadataImage) -> dict[str, Any]:
    """Return what an index of the image must say, by looking at every partition (C-16)."""
    in_sync, eligible = defaultdict(set), defaultdict(set)
    leaderships: Counter[int] = Counter()
    sets: dict[str, set[Place]] = {"leaderless": set(), "unpreferred": set(), "reassigning": set()}
    for topic, number, partition in partitions(image):
        place = topic.id, number
        for broker in partition.isr:
            in_sync[broker].add(place)
        for broker in partition.elr:
            eligible[broker].add(place)
        if partition.leader >= 0:
            leaderships[partition.leader] += 1
        else:
            sets["leaderless"].add(place)
        if partition.leader != partition.replicas[0]:
            sets["unpreferred"].add(place)
        if partition.adding_replicas or partition.removing_replicas:
            sets["reassigning"].add(place)
    return {"in_sync": in_sync, "eligible": eligible, "leaderships": leaderships} | sets


def told_index(index: PartitionIndex) -> dict[str, Any]:
    """Return what an index says, spelled out."""
    return {
        "in_sync": {broker: spelled(places) for broker, places in index.in_sync.items()},
        "eligible": {broker: spelled(places) for broker, places in index.eligible.items()},
        "leaderships": dict(index.leaderships),
        "leaderless": spelled(index.leaderless),
        "unpreferred": spelled(index.unpreferred),
        "reassigning": spelled(index.reassigning),
    }


def spelled(places: Mapping[Uuid, int]) -> set[Place]:
    """Return a set of partitions, spelled out; no topic may be there for nothing."""
    assert all(places.values())
    return {
        (topic_id, number)
        for topic_id, mask in places.items()
        for number in range(mask.bit_length())
        if mask >> number & 1
    }


# --- One state ---


@value
class Situation:
    """What decides about a partition beside its own state, read off an image the long way."""

    image: MetadataImage
    static: Mapping[str, str]

    @property
    def elr(self) -> bool:
        """Whether eligible leaders are remembered."""
        features = self.image.features
        return (features.metadata_version or 0) >= 23 and (
            features.levels.get("eligible.leader.replicas.version", 0) >= 1
        )

    def config(self, topic: str, name: str, default: str) -> str:
        """Return what is in force for a topic, brokers' own settings aside."""
        resources = self.image.configs.resources
        for key in (ConfigResource(2, topic), ConfigResource(4, "")):
            if name in resources.get(key, {}):
                return resources[key][name]
        return self.static.get(name, default)

    def min_in_sync(self, topic: str, partition: PartitionRegistration) -> int:
        """Return how many replicas have to be in sync."""
        return min(int(self.config(topic, "min.insync.replicas", "1")), len(partition.replicas))

    def allows_unclean(self, topic: str) -> bool:
        """Tell whether a topic prefers any leader to none."""
        return self.config(topic, "unclean.leader.election.enable", "false") == "true"

    def is_active(self, broker: int) -> bool:
        """Tell whether a broker is registered, unfenced and not stopping."""
        found = self.image.cluster.brokers.get(broker)
        return found is not None and not found.fenced and not found.in_controlled_shutdown

    def may_lead(self, broker: int, partition: PartitionRegistration) -> bool:
        """Tell whether a broker is active and has a partition's directory online."""
        found = self.image.cluster.brokers.get(broker)
        if found is None or not self.is_active(broker) or broker not in partition.replicas:
            return False
        place = partition.directories[partition.replicas.index(broker)]
        if int.from_bytes(place) in (0, 1):
            return True
        return int.from_bytes(place) != 2 and (not found.directories or place in found.directories)


def check_state(world: Situation) -> None:
    """Complain of a state that no controller may leave behind."""
    check_brokers(world.image)
    names = {topic.name: topic.id for topic in world.image.topics.topics.values()}
    require(names == dict(world.image.topics.names.items()), "C-15: a name is a topic's")
    require(len(names) == len(world.image.topics.topics), "C-15: a topic has a name")
    for topic, number, partition in partitions(world.image):
        at = f"{topic.name}-{number}: {partition}"
        check_sets(world, topic.name, partition, at)
        check_fenced(world, partition, at)
        check_led(world, partition, at)


def check_brokers(image: MetadataImage) -> None:
    """B-01 and B-14: epochs and directories are one broker's only."""
    brokers = image.cluster.brokers
    epochs = Counter(broker.epoch for broker in brokers.values())
    require(max(epochs.values(), default=1) == 1, f"B-01: two brokers of one epoch, {brokers}")
    places = Counter(place for broker in brokers.values() for place in broker.directories)
    require(max(places.values(), default=1) == 1, f"B-14: one directory of two, {brokers}")
    for broker in brokers.values():
        require(all(int.from_bytes(place) >= 100 for place in broker.directories), "B-14: reserved")


def check_sets(world: Situation, topic: str, partition: PartitionRegistration, at: str) -> None:
    """C-07 and C-09: the sets of a partition fit together."""
    replicas, isr, elr = partition.replicas, partition.isr, partition.elr
    adding, removing = partition.adding_replicas, partition.removing_replicas
    require(replicas, f"C-07: no replicas, {at}")
    for each in (replicas, isr, elr, adding, removing):
        require(len(set(each)) == len(each), f"C-07: a duplicate, {at}")
        require(set(each) <= set(replicas), f"C-07: not a replica, {at}")
    require(not set(isr) & set(elr), f"C-07: in sync and eligible, {at}")
    require(not set(adding) & set(removing), f"C-07: adding and removing, {at}")
    require(partition.leader in (*isr, -1), f"C-07: a leader out of sync, {at}")
    if len(isr) >= world.min_in_sync(topic, partition):
        require(not elr, f"C-07: an ELR beside an ISR that suffices, {at}")
    require(partition.leader < 0 or not partition.last_known_elr, f"C-09: a leader, {at}")
    require(partition.leader_recovery_state == 0 or len(isr) <= 1, f"P-12: recovering, {at}")


def check_fenced(world: Situation, partition: PartitionRegistration, at: str) -> None:
    """C-06: who is not active leads nothing and is in no ISR.

    Without ELR the last replica stays in the ISR, and nobody leads; also when there is one again.
    """
    if partition.leader >= 0:
        require(world.may_lead(partition.leader, partition), f"C-06: cannot lead, {at}")
    inactive = [broker for broker in partition.isr if not world.may_lead(broker, partition)]
    # Nobody has touched a partition like this since before there was an ELR.
    older = partition.leader < 0 and not partition.elr
    if inactive and (older or not world.elr):
        require(partition.isr == tuple(inactive[:1]), f"C-06: in sync without being active, {at}")
        require(partition.leader < 0, f"C-06: led by who is not active, {at}")
    else:
        require(not inactive, f"C-06: in sync without being active, {at}")


def check_led(world: Situation, partition: PartitionRegistration, at: str) -> None:
    """PL-7: nobody leads only if nobody may."""
    if partition.leader >= 0:
        return
    complete = partition.isr or partition.elr
    if world.elr and not complete:
        complete = partition.last_known_elr
    able = [broker for broker in complete if world.may_lead(broker, partition)]
    require(not able, f"PL-7: {able} could lead, {at}")


# --- One decision ---


@value
class Step:
    """What a decision did, and what it was about."""

    before: Situation
    after: Situation
    records: Sequence[Message]
    joined: Mapping[Place, frozenset[int]] = field(default_factory=dict)
    """Who was let into an ISR because the leader asked for it."""
    unclean: int = -1
    """A broker that has come back and may have lost what it had."""
    asked: bool = False
    """Whether an operator asked for an unclean election."""
    offset: int | None = None
    """Where the first of the records stands, if that is known."""


def check_step(step: Step) -> None:
    """Complain of a decision that leads from one good state to another in a bad way."""
    check_lives(step)
    told: Counter[Place] = Counter()
    epochs: Counter[Place] = Counter()
    for record in step.records:
        if isinstance(record, PartitionChangeRecord):
            told[record.topic_id, record.partition_id] += 1
            epochs[record.topic_id, record.partition_id] += record.leader != -2
    require(
        max(told.values(), default=1) == 1, f"C-10: two changes of one partition: {step.records}"
    )
    for topic, number, after in partitions(step.after.image):
        place = topic.id, number
        before = step.before.image.topics.partition(*place)
        at = f"{topic.name}-{number}: {before} became {after}"
        if before is None:
            require(not told[place], f"C-10: a change of what is not there, {at}")
            continue
        if before._replace(partition_epoch=after.partition_epoch) == after:
            require(not told[place], f"C-10: a change of nothing, {at}")
            continue
        check_epochs(step, before, after, at)
        require(after.partition_epoch - before.partition_epoch == told[place], f"C-10, {at}")
        require(after.leader_epoch - before.leader_epoch == epochs[place], f"C-10, {at}")
        check_election(step, topic.name, place, before, after, at)
        if not uncleanly(before, after, step.joined.get(place, ())):
            check_eligible(step, topic.name, before, after, at)
        check_reassignment(step, topic.name, before, after, at)


def check_lives(step: Step) -> None:
    """B-01, B-03 and B-04: what records may do to the lives of brokers."""
    known = step.before.image.cluster.brokers
    newest = max((broker.epoch for broker in known.values()), default=-1)
    for place, record in enumerate(step.records):
        if isinstance(record, RegisterBrokerRecord):
            before = known.get(record.broker_id)
            if before is not None and before.incarnation_id == record.incarnation_id:
                require(record.broker_epoch == before.epoch, f"B-01: another epoch, {record}")
                require(record.fenced == before.fenced, f"B-01: fenced or not, {record}")
                stopping = before.in_controlled_shutdown
                require(record.in_controlled_shutdown == stopping, f"B-01: stopping, {record}")
                continue
            require(record.fenced, f"B-04: a new life begins fenced, {record}")
            require(not record.in_controlled_shutdown, f"B-04: it stops already, {record}")
            require(record.broker_epoch > newest, f"B-01: epochs rise, {record}")
            if step.offset is not None:
                require(
                    record.broker_epoch == step.offset + place, f"B-01: not its offset, {record}"
                )
        elif isinstance(record, BrokerRegistrationChangeRecord):
            life = known[record.broker_id]
            require(record.broker_epoch == life.epoch, f"B-03: of another life, {record}")
            require(record.fenced != 1 or not life.fenced, f"B-05: it is fenced already, {record}")


def check_epochs(
    step: Step, before: PartitionRegistration, after: PartitionRegistration, at: str
) -> None:
    """C-10: the leader epoch rises by one if the leader changes or a replica goes; else stays."""
    gone = not set(before.replicas) <= set(after.replicas)
    level = step.before.image.features.metadata_version or 0
    shrunk = level < 12 and not set(before.isr) <= set(after.isr)
    rises = before.leader != after.leader or gone or shrunk
    require(after.leader_epoch == before.leader_epoch + rises, f"C-10: leader epoch, {at}")


def uncleanly(
    before: PartitionRegistration, after: PartitionRegistration, joined: Iterable[int]
) -> bool:
    """Tell whether a leader was elected that may not have all committed records."""
    return after.leader not in (-1, before.leader) and after.leader not in (
        *before.isr,
        *before.elr,
        *joined,
    )


def check_election(
    step: Step,
    topic: str,
    place: Place,
    before: PartitionRegistration,
    after: PartitionRegistration,
    at: str,
) -> None:
    """C-11 and C-12: who may lead, and who only if that is allowed and said."""
    if after.leader in (-1, before.leader):
        return
    require(step.after.may_lead(after.leader, after), f"C-11: the new leader cannot lead, {at}")
    joined = step.joined.get(place, frozenset())
    if after.leader in before.elr and after.leader not in joined:
        require(not set(before.isr) & set(after.isr), f"C-11: from the ELR before the ISR, {at}")
        require(after.isr == (after.leader,), f"C-11: an ELR winner is the ISR, {at}")
    if not uncleanly(before, after, joined):
        return
    last = after.leader in before.last_known_elr or after.replicas == (after.leader,)
    # Who has come back without everything is in neither any more, which may be why it is elected.
    empty = not {*before.isr, *before.elr} - {step.unclean}
    allowed = step.asked or step.before.allows_unclean(topic) or (last and empty)
    require(allowed, f"C-12: an unclean election that nobody allowed, {at}")
    require(after.isr == (after.leader,), f"C-12: an ISR of others, {at}")
    require(not after.elr, f"C-12: others may lead, {at}")
    require(not after.last_known_elr, f"C-12: others may lead, {at}")
    require(after.leader_recovery_state == 1, f"C-12: not said to recover, {at}")


def check_eligible(
    step: Step,
    topic: str,
    before: PartitionRegistration,
    after: PartitionRegistration,
    at: str,
) -> None:
    """C-08, C-09 and B-06: who leaves the ISR while it is too small is eligible, and stays so."""
    enough = step.after.min_in_sync(topic, after)
    if not step.after.elr or len(after.isr) >= enough:
        return
    kept = {*before.isr, *before.elr} & set(after.replicas) - {step.unclean}
    require(kept <= {*after.isr, *after.elr}, f"C-08: a replica was forgotten, {at}")
    require(set(after.elr) <= {*before.isr, *before.elr}, f"C-08: eligible all at once, {at}")
    if after.leader < 0 <= before.leader:
        require(after.last_known_elr == (before.leader,), f"C-09: who led last, {at}")
    if before.last_known_elr and not after.isr and not after.elr:
        # Nobody knows of a partition that had lost everybody before there was an ELR.
        require(len(after.last_known_elr) == 1, f"C-09: nobody knows who led, {at}")


def check_reassignment(
    step: Step,
    topic: str,
    before: PartitionRegistration,
    after: PartitionRegistration,
    at: str,
) -> None:
    """C-14: replicas go when all that come are in sync, and enough to write are."""
    adding, removing = before.adding_replicas, before.removing_replicas
    target = set(before.replicas) - set(removing)
    over = not after.adding_replicas and not after.removing_replicas
    if (adding or removing) and over and set(after.replicas) == target:
        require(set(adding) <= set(after.isr), f"C-14: not all that come are in sync, {at}")
        least = step.after.min_in_sync(topic, after)
        require(len(after.isr) >= max(1, least), f"C-14: too few are in sync, {at}")
        if len(adding) < len(removing):
            require(set(after.isr) == target, f"C-14: fewer replicas, and not all in sync, {at}")


def check_b06(image: MetadataImage, broker: int) -> None:
    """B-06: who may have lost what it had is in no ISR and no ELR, and leads nothing."""
    for topic, number, partition in partitions(image):
        at = f"{topic.name}-{number}: {partition}"
        require(broker not in (*partition.isr, *partition.elr, partition.leader), f"B-06: {at}")
