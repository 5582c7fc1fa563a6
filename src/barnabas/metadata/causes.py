"""What caused a change of a partition: the other records of its act, or else the change itself.

    PartitionChange(orders-0, leader=3, isr=[3])  ◀── caused by ──┐
    BrokerRegistrationChange(2, fenced)           ────────────────┘   the same act

A controller that handles one event writes one act (``acts``).  So where it fenced, unfenced,
registered or unregistered a broker, let one stop, heard that one has lost a directory, or set a
config or a level, that is why; where it created the topic, too.  Where nothing of that is there,
it did what somebody asked for, and the change tells what that was: only a leader may ask for
another ISR (AlterPartition), only an operator for other replicas, only a broker for another
directory.  Elections are held by the controller of its own accord as well, and nothing tells
which; the words say so.

One cause has no record: a broker that is in its controlled shutdown goes on giving up leaderships
as soon as somebody else can lead, and was said to stop in an act long before.

Fixed by Kafka's ReplicationControlManager.java.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from barnabas.metadata.changes import effects, is_unclean
from barnabas.metadata.cluster import FENCING, STOPPING, BrokerRegistration
from barnabas.metadata.configs import ConfigResource
from barnabas.metadata.paths import resource_text
from barnabas.metadata.topics import NO_LEADER, PartitionRegistration
from barnabas.model.value import value
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.structs import Message

TELLING_CONFIGS: Final = frozenset({"min.insync.replicas", "unclean.leader.election.enable"})
"""The configs of which a change changes partitions at once."""

Brokers = Mapping[int, BrokerRegistration]


@value
class Cause:
    """Why something was changed."""

    what: str
    """The name of it."""
    words: str
    broker: int | None = None
    """The broker that it is about."""
    offset: int | None = None
    """Of the record that tells it, if there is one."""


def told_causes(act: Sequence[tuple[int, Message]], brokers: Brokers) -> tuple[Cause, ...]:
    """Return what the records of an act tell; ``brokers`` is who was registered before it."""
    return tuple(cause for offset, record in act for cause in told(offset, record, brokers))


def told(offset: int, record: Message, brokers: Brokers) -> Iterator[Cause]:
    """Yield what a record tells that may have brought others."""
    match record:
        case FenceBrokerRecord(id=broker):
            yield fenced(broker, offset, brokers)
        case UnfenceBrokerRecord(id=broker):
            yield Cause("unfenced", f"broker {broker} was unfenced", broker, offset)
        case BrokerRegistrationChangeRecord():
            yield from registration_changed(offset, record, brokers)
        case UnregisterBrokerRecord(broker_id=broker):
            yield Cause("unregistered", f"broker {broker} was unregistered", broker, offset)
        case RegisterBrokerRecord(broker_id=broker, broker_epoch=epoch):
            anew = " anew" if broker in brokers else ""
            words = f"broker {broker} registered{anew}, in epoch {epoch}"
            yield Cause("registered", words, broker, offset)
        case ConfigRecord(name=name, value=text) if name in TELLING_CONFIGS:
            whose = resource_text(ConfigResource(record.resource_type, record.resource_name))
            set_to = "taken back" if text is None else f"set to {text}"
            yield Cause("configSet", f"{name} of {whose} was {set_to}", None, offset)
        case FeatureLevelRecord(name=name, feature_level=level):
            yield Cause("levelSet", f"the level of {name} became {level}", None, offset)
        case ClearElrRecord(topic_name=name):
            whose = f"of topic {name}" if name else "of all topics"
            yield Cause("eligibleCleared", f"eligible leaders {whose} were cleared", None, offset)
        case _:
            pass


def fenced(broker: int, offset: int, brokers: Brokers) -> Cause:
    """Return the fencing of a broker: one that stops, or one that was lost."""
    known = brokers.get(broker)
    if known is not None and known.in_controlled_shutdown:
        words = f"broker {broker} was fenced at the end of its controlled shutdown"
        return Cause("drained", words, broker, offset)
    return Cause("fenced", f"broker {broker} was fenced", broker, offset)


def registration_changed(
    offset: int, record: BrokerRegistrationChangeRecord, brokers: Brokers
) -> Iterator[Cause]:
    """Yield what a registration says that it did not say before."""
    broker = record.broker_id
    fences = FENCING.get(record.fenced)
    if fences is not None:
        unfenced = Cause("unfenced", f"broker {broker} was unfenced", broker, offset)
        yield fenced(broker, offset, brokers) if fences else unfenced
    if STOPPING.get(record.in_controlled_shutdown):
        words = f"broker {broker} began its controlled shutdown"
        yield Cause("stopping", words, broker, offset)
    known = brokers.get(broker)
    if record.log_dirs and known is not None:
        lost = sum(each not in record.log_dirs for each in known.directories)
        if lost:
            words = f"broker {broker} lost {lost} of its {len(known.directories)} log directories"
            yield Cause("directoriesLost", words, broker, offset)


def causes(
    act: Sequence[Cause],
    record: PartitionChangeRecord,
    before: PartitionRegistration,
    after: PartitionRegistration,
    brokers: Brokers,
) -> tuple[Cause, ...]:
    """Return why a partition was changed, as far as anything tells."""
    about = {broker for effect in effects(before, after) for broker in effect.brokers}
    about |= {before.leader, after.leader}
    # An act may hold what belongs to other partitions as well: what is about this one comes first.
    return (
        tuple(each for each in act if each.broker in about)
        or tuple(act)
        or (asked(record, before, after, brokers),)
    )


def asked(
    record: PartitionChangeRecord,
    before: PartitionRegistration,
    after: PartitionRegistration,
    brokers: Brokers,
) -> Cause:
    """Return what was asked for, or done of the controller's own accord."""
    leader = before.leader
    stopping = brokers.get(leader)
    if after.leader != leader and stopping is not None and stopping.in_controlled_shutdown:
        return Cause("stopping", f"broker {leader} is in its controlled shutdown", leader)
    did = effects(before, after)
    what = {effect.what for effect in did}
    if what & {"reassignmentBegan", "reassignmentChanged", "reassignmentCancelled"}:
        words = "somebody asked for other replicas (AlterPartitionReassignments)"
        return Cause("reassignment", words)
    if record.isr is not None and leader != NO_LEADER and not is_unclean(before, after):
        words = f"leader {leader} told who is in sync (AlterPartition)"
        return Cause("alterPartition", words, leader)
    if after.leader != leader:
        return elected(before, after)
    if "leaderRecovered" in what:
        words = f"leader {leader} told that it has recovered (AlterPartition)"
        return Cause("alterPartition", words, leader)
    moved = [each for each in did if each.what == "directoryAssigned"]
    if moved:
        teller = moved[0].brokers[0]
        words = f"broker {teller} told where its replica lies (AssignReplicasToDirs)"
        return Cause("directoryAssigned", words, teller)
    return Cause("untold", "nothing in its batch tells why")


def elected(before: PartitionRegistration, after: PartitionRegistration) -> Cause:
    """Return which election there can have been."""
    if is_unclean(before, after):
        words = "an unclean election, asked for or allowed by unclean.leader.election.enable"
        return Cause("uncleanElection", words)
    if after.leader == after.replicas[0]:
        words = "an election of the preferred leader, asked for or to balance the leaders"
        return Cause("preferredElection", words)
    return Cause("election", "an election, asked for or held by the controller of its own accord")
