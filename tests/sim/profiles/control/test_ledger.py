"""The ledger folds what is committed, and complains of what may not be."""

from typing import Any  # Any: fields of messages

import pytest

from barnabas.metadata.levels import record_version
from barnabas.model.features import METADATA_VERSION
from barnabas.records.opened import OpenedBatch
from barnabas.sim.profiles.control.ledger import Cause, Ledger, check_came, check_joined
from barnabas.sim.profiles.control.people import creation
from barnabas.sim.profiles.control.states import Situation, Step
from barnabas.sim.world import Violation
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message
from tests.controller.kit import TOPIC, broker, cluster, partition
from tests.sim.profiles.control.cluster import Cluster

LEVEL = FeatureLevelRecord(name=METADATA_VERSION, feature_level=30)
WRITER = "n1.1"


class Log:
    """A ledger, and whoever writes what it is told."""

    def __init__(self) -> None:
        self.ledger = Ledger({}, 1_000, lambda _: None)
        self.ledger._leaders[1] = WRITER

    def commit(self, *records: Message, told: bool = True) -> None:
        """Commit a batch, which its leader has told of or not."""
        at = self.ledger.end_offset
        if told:
            self.ledger._causes[at, 1] = Cause(WRITER, None)
        values = [encode_record(each, record_version(type(each), 30)) for each in records]
        self.ledger.committed(OpenedBatch(at, at + len(records), 1, 0, 100, values))


def test_a_transaction_becomes_visible_at_its_end() -> None:
    log = Log()
    log.commit(LEVEL)
    log.commit(BeginTransactionRecord(name="many"))
    log.commit(TopicRecord(name="orders", topic_id=TOPIC))
    assert not log.ledger.image.topics.names
    log.commit(EndTransactionRecord())
    assert "orders" in log.ledger.image.topics.names


def test_a_batch_that_its_leader_never_wrote_is_noticed() -> None:
    log = Log()
    with pytest.raises(Violation, match="C-01"):
        log.commit(LEVEL, told=False)


def test_what_was_given_away_once_is_not_given_again() -> None:
    log = Log()
    log.commit(LEVEL)
    log.commit(ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1_000))
    with pytest.raises(Violation, match="C-18"):
        log.commit(ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1_000))
    log.commit(TopicRecord(name="orders", topic_id=TOPIC))
    with pytest.raises(Violation, match="C-15"):
        log.commit(TopicRecord(name="clicks", topic_id=TOPIC))


def test_a_life_begins_where_its_record_stands() -> None:
    log = Log()
    log.commit(LEVEL)
    with pytest.raises(Violation, match="B-01"):
        log.commit(broker(1))


def step(record: PartitionChangeRecord) -> Step:
    """Return a step in which 2 is fenced before and not afterwards, and a partition changes."""
    place = partition(0, [1, 2, 3], isr=[1], elr=[2])
    before = cluster(broker(1), broker(2, fenced=True), broker(3), place)
    after = cluster(broker(1), broker(2), broker(3), place).apply([record])
    return Step(Situation(before.image, {}), Situation(after.image, {}), [record])


def change(**said: Any) -> PartitionChangeRecord:  # noqa: ANN401 -- fields
    """Return a change of the only partition."""
    return PartitionChangeRecord(topic_id=TOPIC, partition_id=0, **said)


def test_nobody_is_in_sync_all_at_once() -> None:
    with pytest.raises(Violation, match="C-11"):
        check_joined(step(change(isr=[1, 3])))
    check_joined(step(change(isr=[2], leader=2)))


def test_who_is_let_in_leads_at_once_what_nobody_leads() -> None:
    with pytest.raises(Violation, match="CL-1"):
        check_came(step(change(isr=[], leader=-1)))
    check_came(step(change(isr=[2], leader=2)))


def test_a_controller_begins_from_what_the_ledger_has() -> None:
    with Cluster(controllers=3) as running:
        running.until_well()
        running.ask(creation("orders", 2, 2, {}))
        before = running.scene.deciding()[-1].states.epoch
        running.world.kill(running.scene.deciding()[-1].name.partition(".")[0])
        running.until(lambda: bool(running.scene.deciding()))
        assert running.scene.deciding()[-1].states.epoch != before
        assert running.scene.ledger._beginnings == {}
