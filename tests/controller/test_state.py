"""A state changes by records alone, and knows what is in force."""

from dataclasses import replace

from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import BLANK, topic_config
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.metadata_records import decode_record

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=20)
NAME = "min.insync.replicas"


def setting(resource_type: int, name: str, text: str | None) -> ConfigRecord:
    """Return a record that sets a config."""
    return ConfigRecord(resource_type=resource_type, resource_name=name, name=NAME, value=text)


def test_records_lead_to_another_state_and_leave_this_one_as_it_is() -> None:
    later = BLANK.apply([LEVEL, setting(2, "a", "2")])
    assert later.level == 20
    assert later.image.configs.of(2, "a") == {NAME: "2"}
    assert BLANK.level == 7
    assert BLANK.image.is_empty


def test_records_are_written_as_the_level_has_them() -> None:
    record = PartitionRecord(replicas=[1], isr=[1], leader=1)
    assert decode_record(BLANK.encode(record))[1] == 0
    assert decode_record(BLANK.apply([LEVEL]).encode(record))[1] == 1


def test_a_topics_own_config_goes_before_the_brokers_and_those_before_the_file() -> None:
    config = ControllerConfig(3, static={NAME: "4"})
    state = BLANK
    assert topic_config(state, replace(config, static={}), "a", NAME, "1") == "1"
    assert topic_config(state, config, "a", NAME, "1") == "4"
    for resource_type, name, text in ((4, "", "5"), (4, "3", "6"), (2, "a", "7")):
        state = state.apply([setting(resource_type, name, text)])
        assert topic_config(state, config, "a", NAME, "1") == text
    assert topic_config(state, config, "b", NAME, "1") == "6"
