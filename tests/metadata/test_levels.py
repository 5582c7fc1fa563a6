"""Levels: which version a record is written in, which changes of a level are safe."""

import pytest

from barnabas.metadata.levels import (
    CONTROLLER_REGISTRATION,
    CORDONED_DIRECTORIES,
    DELEGATION_TOKENS,
    DIRECTORIES,
    ELIGIBLE_LEADERS,
    MIGRATION,
    SCRAM,
    TRANSACTIONS,
    LevelChange,
    record_version,
)
from barnabas.model.features import METADATA_VERSIONS, MINIMUM_VERSION
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.structs import Message


@pytest.mark.parametrize(
    ("record", "versions"),
    [
        (RegisterBrokerRecord, {7: 1, 8: 2, 16: 2, 17: 3, 29: 3, 30: 4, 31: 4}),
        (BrokerRegistrationChangeRecord, {7: 1, 16: 1, 17: 2, 29: 2, 30: 3, 31: 3}),
        (PartitionRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 31: 2}),
        (PartitionChangeRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 31: 2}),
        (ConfigRecord, {7: 0, 31: 0}),
    ],
)
def test_a_record_is_written_in_the_version_of_the_level(
    record: type[Message], versions: dict[int, int]
) -> None:
    assert {level: record_version(record, level) for level in versions} == versions


def test_the_levels_that_say_more_are_those_of_the_table() -> None:
    ours = {
        MINIMUM_VERSION.level,
        MIGRATION,
        SCRAM,
        TRANSACTIONS,
        DELEGATION_TOKENS,
        CONTROLLER_REGISTRATION,
        DIRECTORIES,
        ELIGIBLE_LEADERS,
        CORDONED_DIRECTORIES,
    }
    assert ours == {version.level for version in METADATA_VERSIONS if version.changes_records}


@pytest.mark.parametrize(
    ("before", "after", "up", "down", "safe"),
    [
        (None, 7, True, False, True),
        (22, 23, True, False, True),
        (22, 18, False, True, True),
        (29, 23, False, True, True),
        (23, 22, False, True, False),
        (31, 30, False, True, True),
        (30, 29, False, True, False),
        (17, 16, False, True, False),
        (30, 7, False, True, False),
        (12, 12, False, False, True),
    ],
)
def test_a_downgrade_is_safe_if_nothing_between_brought_new_words(
    before: int | None, after: int, up: bool, down: bool, safe: bool
) -> None:
    change = LevelChange(before, after)
    assert (change.is_upgrade, change.is_downgrade, change.is_safe) == (up, down, safe)
