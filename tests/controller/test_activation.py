"""A new leader begins a cluster, ends what was left open, or has nothing to do."""

from barnabas.controller.activation import activate
from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import BLANK
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord

CONFIG = ControllerConfig(1, static={"min.insync.replicas": "2"})


def level(number: int, name: str = "metadata.version") -> FeatureLevelRecord:
    """Return a level of a feature."""
    return FeatureLevelRecord(name=name, feature_level=number)


def test_an_empty_log_begins_with_the_bootstrap_records_in_a_transaction() -> None:
    decided = activate(BLANK, CONFIG, [level(20)], in_transaction=False)
    begin, record, end = decided.records
    assert isinstance(begin, BeginTransactionRecord)
    assert record == level(20)
    assert isinstance(end, EndTransactionRecord)
    assert BLANK.apply(decided.records).level == 20


def test_a_level_without_transactions_has_none() -> None:
    assert activate(BLANK, CONFIG, [level(7)], in_transaction=False).records == (level(7),)


def test_a_beginning_that_was_cut_short_is_made_again() -> None:
    decided = activate(BLANK, CONFIG, [level(20)], in_transaction=True)
    assert isinstance(decided.records[0], AbortTransactionRecord)
    assert len(decided.records) == 4


def test_with_eligible_leaders_the_least_in_sync_is_the_clusters() -> None:
    bootstrap = [level(26), level(1, "eligible.leader.replicas.version")]
    state = BLANK.apply(activate(BLANK, CONFIG, bootstrap, in_transaction=False).records)
    assert state.image.configs.of(4, "") == {"min.insync.replicas": "2"}
    without = activate(BLANK, CONFIG, [level(26)], in_transaction=False).records
    assert not any(isinstance(record, ConfigRecord) for record in without)


def test_a_log_that_says_something_is_left_as_it_is() -> None:
    state = BLANK.apply([level(20)])
    assert activate(state, CONFIG, [level(30)], in_transaction=False).records == ()
    [aborted] = activate(state, CONFIG, [level(30)], in_transaction=True).records
    assert isinstance(aborted, AbortTransactionRecord)
