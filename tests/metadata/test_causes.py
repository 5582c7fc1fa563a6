"""What caused a change: the rest of its act, or what the change itself tells."""

import pytest

from barnabas.metadata.causes import Cause, causes, told_causes
from barnabas.metadata.cluster import BrokerRegistration, registered_broker
from barnabas.metadata.topics import EMPTY as NO_TOPICS
from barnabas.metadata.topics import PartitionRegistration, TopicsDelta
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.structs import Message
from tests.metadata.stories import change, partition, registered, standing, topic, uuid


def broker(number: int, **told: object) -> BrokerRegistration:
    """Return a broker that is registered."""
    record = registered(number, number, 0, fenced=False, **told)
    assert isinstance(record, RegisterBrokerRecord)
    return registered_broker(record)


BROKERS = {number: broker(number) for number in (1, 2, 3)}
STOPPING = {**BROKERS, 1: broker(1, in_controlled_shutdown=True)}


def changed(
    before: dict[str, object], **told: object
) -> tuple[PartitionChangeRecord, PartitionRegistration, PartitionRegistration]:
    """Change a partition on 1, 2 and 3; return the record, and what was before and after."""
    delta = TopicsDelta(NO_TOPICS)
    for record in (topic("orders", 1), partition(1, 0, 1, 2, 3, **before)):
        delta.replay(record)  # type: ignore[arg-type]  # -- a record about topics
    was = delta.apply()
    delta = TopicsDelta(was)
    record = change(1, 0, **told)
    assert isinstance(record, PartitionChangeRecord)
    delta.replay(record)
    old, new = (each.partition(uuid(1), 0) for each in (was, delta.apply()))
    assert old is not None
    assert new is not None
    return record, old, new


def asked(brokers: dict[int, BrokerRegistration], before: dict[str, object], **told: object) -> str:
    """Return what is said of a change that stands alone in its act."""
    record, old, new = changed(before, **told)
    [cause] = causes((), record, old, new, brokers)
    assert cause.offset is None
    return f"{cause.what}: {cause.words}"


@pytest.mark.parametrize(
    ("record", "what", "words"),
    [
        (FenceBrokerRecord(id=2, epoch=2), "fenced", "broker 2 was fenced"),
        (standing(2, 2, fenced=1), "fenced", "broker 2 was fenced"),
        (
            standing(1, 1, fenced=1),
            "drained",
            "broker 1 was fenced at the end of its controlled shutdown",
        ),
        (UnfenceBrokerRecord(id=2, epoch=2), "unfenced", "broker 2 was unfenced"),
        (standing(2, 2, fenced=-1), "unfenced", "broker 2 was unfenced"),
        (
            standing(2, 2, in_controlled_shutdown=1),
            "stopping",
            "broker 2 began its controlled shutdown",
        ),
        (
            standing(2, 2, log_dirs=(uuid(20),)),
            "directoriesLost",
            "broker 2 lost 1 of its 2 log directories",
        ),
        (registered(2, 99), "registered", "broker 2 registered anew, in epoch 99"),
        (registered(9, 99), "registered", "broker 9 registered, in epoch 99"),
        (
            UnregisterBrokerRecord(broker_id=2, broker_epoch=2),
            "unregistered",
            "broker 2 was unregistered",
        ),
        (
            ConfigRecord(resource_type=2, resource_name="o", name="min.insync.replicas", value="2"),
            "configSet",
            "min.insync.replicas of TOPIC:o was set to 2",
        ),
        (
            ConfigRecord(resource_type=4, name="unclean.leader.election.enable", value=None),
            "configSet",
            "unclean.leader.election.enable of BROKER was taken back",
        ),
        (
            FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
            "levelSet",
            "the level of eligible.leader.replicas.version became 1",
        ),
        (
            ClearElrRecord(topic_name="o"),
            "eligibleCleared",
            "eligible leaders of topic o were cleared",
        ),
        (
            ClearElrRecord(topic_name=""),
            "eligibleCleared",
            "eligible leaders of all topics were cleared",
        ),
    ],
)
def test_a_record_in_the_act_tells_the_cause(record: Message, what: str, words: str) -> None:
    [cause] = told_causes([(7, record)], STOPPING)
    assert (cause.what, cause.words, cause.offset) == (what, words, 7)


@pytest.mark.parametrize(
    "record",
    [
        topic("orders", 1),
        ConfigRecord(resource_type=2, resource_name="o", name="retention.ms", value="2"),
        standing(2, 2, log_dirs=(uuid(20), uuid(21))),
        standing(2, 2, cordoned_log_dirs=(uuid(20),)),
    ],
)
def test_other_records_cause_nothing(record: Message) -> None:
    assert told_causes([(7, record)], BROKERS) == ()


def test_of_several_causes_those_count_that_are_about_the_partition() -> None:
    record, old, new = changed({}, isr=(1, 3))
    two, five = (Cause("fenced", f"{each}", each, each) for each in (2, 5))
    assert causes((five, two), record, old, new, BROKERS) == (two,)
    level = Cause("levelSet", "a level", None, 7)
    assert causes((five, level), record, old, new, BROKERS) == (five, level)


def test_only_a_leader_asks_for_another_isr() -> None:
    told = "alterPartition: leader 1 told who is in sync (AlterPartition)"
    assert asked(BROKERS, {}, isr=(1, 2)) == told
    assert asked(BROKERS, {"isr": (1,)}, isr=(1, 2)) == told
    # While a reassignment ends, the leader's report may cost it the lead.
    before: dict[str, object] = {"removing_replicas": (1,)}
    ends = {"replicas": (2, 3), "removing_replicas": (), "isr": (2, 3), "leader": 2}
    ends["directories"] = (uuid(20), uuid(30))
    assert asked(BROKERS, before, **ends) == told
    # Even to a replica that was not in sync before it told so.
    assert asked(BROKERS, {**before, "isr": (1, 3)}, **ends) == told


def test_a_leader_tells_that_it_has_recovered() -> None:
    before: dict[str, object] = {"leader_recovery_state": 1, "isr": (1,)}
    assert asked(BROKERS, before, leader_recovery_state=0).startswith("alterPartition: leader 1")


def test_a_broker_that_is_stopping_gives_up_its_leaderships_later_as_well() -> None:
    assert asked(STOPPING, {}, leader=2, isr=(2, 3)) == (
        "stopping: broker 1 is in its controlled shutdown"
    )


def test_only_an_operator_asks_for_other_replicas() -> None:
    told = "reassignment: somebody asked for other replicas (AlterPartitionReassignments)"
    more = (uuid(10), uuid(20), uuid(30), uuid(40))
    begun = {"replicas": (1, 2, 3, 4), "adding_replicas": (4,), "directories": more}
    assert asked(BROKERS, {}, **begun) == told
    before: dict[str, object] = {"removing_replicas": (3,)}
    assert asked(BROKERS, before, removing_replicas=()) == told


def test_elections_are_told_apart_by_whom_they_made_leader() -> None:
    assert asked(BROKERS, {"leader": 2}, leader=1).startswith("preferredElection: ")
    assert asked(BROKERS, {}, leader=2).startswith("election: ")
    unclean: dict[str, object] = {"leader": 3, "isr": (3,), "leader_recovery_state": 1}
    assert asked(BROKERS, {"isr": (1,), "leader": -1}, **unclean).startswith("uncleanElection: ")
    # Even if somebody led: an operator may demand it.
    assert asked(BROKERS, {"isr": (1,)}, **unclean).startswith("uncleanElection: ")


def test_a_broker_tells_where_its_replica_lies() -> None:
    places = (uuid(10), uuid(21), uuid(30))
    assert asked(BROKERS, {}, directories=places) == (
        "directoryAssigned: broker 2 told where its replica lies (AssignReplicasToDirs)"
    )


def test_what_tells_nothing_is_said_to_tell_nothing() -> None:
    assert asked(BROKERS, {}, eligible_leader_replicas=(2,)).startswith("untold: ")
