"""What a controller could write next."""

from random import Random

import pytest

from barnabas.metadata.image import EMPTY
from barnabas.sim.profiles.metadata.spelling import facts_in
from barnabas.sim.profiles.metadata.writing import (
    KINDS,
    Draft,
    Writer,
    activation,
    encoded,
    version_of,
)
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from tests.sim.profiles.metadata.committed import LEVEL, Log


@pytest.mark.slow
@pytest.mark.parametrize("level", [7, 13, 17, 23, 30, 31])
def test_whatever_is_written_can_be_replayed_and_means_the_same_to_everybody(level: int) -> None:
    random, log = Random(level), Log()
    log.take(encoded(activation(EMPTY, False, level), level))
    kinds: set[str] = set()
    for number in range(300):
        draft = Draft(log.image)
        kind = random.choice(list(KINDS))
        records = Writer(number, draft, log.reference.end_offset).records(kind, 1 + number % 3)
        if records:
            kinds.add(kind)
            log.take(encoded(records, draft.level))
            draft.take(records)
            assert facts_in(draft.image) == facts_in(log.image)
            assert facts_in(log.image) == log.reference.whole(log.reference.end_offset - 1)
    # Levels are raised meanwhile, so that in the end everything can be said.
    assert kinds == set(KINDS)


def test_a_broker_gets_the_offset_of_its_record_as_its_epoch() -> None:
    draft = Draft(Log().commit(LEVEL))
    writer = Writer(1, draft, 40)
    writer.mark(BeginTransactionRecord())
    (record,) = writer.records("register", 1)
    assert isinstance(record, RegisterBrokerRecord)
    assert record.broker_epoch == 41


def test_a_draft_takes_back_what_is_aborted_and_keeps_what_is_ended() -> None:
    for ending, has_brokers in ((AbortTransactionRecord(), False), (EndTransactionRecord(), True)):
        draft = Draft(Log().commit(LEVEL))
        writer = Writer(1, draft, 1)
        draft.take([BeginTransactionRecord(), *writer.records("register", 1)])
        assert draft.before is not None
        draft.take([ending])
        assert draft.before is None
        assert bool(draft.image.cluster.brokers) == has_brokers


def test_a_writer_that_aborts_goes_on_where_the_transaction_began() -> None:
    writer = Writer(1, Draft(Log().commit(LEVEL)), 1)
    writer.mark(BeginTransactionRecord())
    writer.records("topic", 3)
    writer.mark(AbortTransactionRecord())
    assert not writer.records("remove_topic", 5)


def test_a_new_leader_aborts_what_it_found_begun_and_gives_an_empty_cluster_its_level() -> None:
    kinds = [type(record) for record in activation(EMPTY, True, 30)]
    assert kinds == [AbortTransactionRecord, FeatureLevelRecord]
    assert not activation(Log().commit(LEVEL), False, 30)


def test_a_change_of_a_broker_is_written_in_the_least_version_that_can_say_it() -> None:
    assert version_of(BrokerRegistrationChangeRecord(), 30) == 1
    assert version_of(BrokerRegistrationChangeRecord(log_dirs=(bytes(16),)), 30) == 2  # type: ignore[arg-type]  # -- any bytes will do
    assert version_of(BrokerRegistrationChangeRecord(cordoned_log_dirs=()), 30) == 3
