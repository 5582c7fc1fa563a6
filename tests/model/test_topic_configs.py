"""Configs of topics: where they come from, and which contradict each other."""

from collections.abc import Mapping

import pytest

from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.topic_configs import (
    SYNONYMS,
    TOPIC_CONFIGS,
    Synonym,
    check_topic,
    inherited,
)

REMOTE = {"remote.log.storage.system.enable": "true"}
TIERED = {"remote.storage.enable": "true"}


def test_every_default_is_allowed() -> None:
    for config in TOPIC_CONFIGS.values():
        config.parsed(config.default)


def test_every_synonym_is_a_config_of_brokers() -> None:
    for name, synonyms in SYNONYMS.items():
        assert name in TOPIC_CONFIGS
        assert all(synonym.name in BROKER_CONFIGS for synonym in synonyms)


def test_a_config_falls_back_to_the_first_of_the_brokers_names_that_is_set() -> None:
    assert inherited("segment.ms", {}) is None
    assert inherited("segment.ms", {"log.roll.hours": "2"}) == "7200000"
    assert inherited("segment.ms", {"log.roll.hours": "2", "log.roll.ms": "5"}) == "5"
    assert inherited("retention.ms", {"log.retention.minutes": "1"}) == "60000"
    assert inherited("remote.storage.enable", {"remote.storage.enable": "true"}) is None


def test_a_negative_number_of_hours_is_without_limit_and_no_number_is_none() -> None:
    assert Synonym("log.retention.hours", 3_600_000).converted("-5") == "-1"
    assert Synonym("log.retention.hours", 3_600_000).converted("x") == "0"


@pytest.mark.parametrize(
    ("wanted", "before", "static", "why"),
    [
        ({"no.such": "1"}, {}, {}, "Unknown topic config name: no.such"),
        ({"retention.ms": "-2"}, {}, {}, "at least -1"),
        ({"min.compaction.lag.ms": "5"}, {}, {"log.cleaner.max.compaction.lag.ms": "4"}, "(5) > "),
        ({"leader.replication.throttled.replicas": "0:1,x"}, {}, {}, "must be the literal"),
        (TIERED, {}, {}, "Tiered Storage functionality is disabled"),
        (TIERED | {"cleanup.policy": "compact"}, {}, REMOTE, "only supports topics with"),
        (TIERED | {"local.retention.ms": "-1"}, {}, REMOTE, "must not be -1"),
        (TIERED | {"local.retention.ms": "9", "retention.ms": "8"}, {}, REMOTE, "not be more than"),
        ({}, TIERED, REMOTE, "cannot be switched off"),
    ],
)
def test_what_contradicts_itself_is_refused(
    wanted: Mapping[str, str], before: Mapping[str, str], static: Mapping[str, str], why: str
) -> None:
    with pytest.raises(Refused) as caught:
        check_topic(wanted, before, static)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert why in caught.value.why


def test_remote_data_is_either_kept_to_read_or_deleted() -> None:
    copied = TIERED | {"remote.log.copy.disable": "true"}
    check_topic(copied, {}, REMOTE)
    with pytest.raises(Refused, match="nothing more is copied"):
        check_topic(copied | {"local.retention.ms": "7", "retention.ms": "8"}, {}, REMOTE)
    check_topic({"remote.log.delete.on.disable": "true"}, TIERED, REMOTE)


def test_throttled_replicas_are_pairs_or_all() -> None:
    for text in ("", "*", "0:1", "0:1,2:3"):
        check_topic({"follower.replication.throttled.replicas": text}, {}, {})
