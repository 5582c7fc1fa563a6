"""Configs of brokers: which may change, for whom, and by which names."""

from collections.abc import Mapping

import pytest

from barnabas.model.broker_configs import (
    BROKER_CONFIGS,
    FAMILIES,
    ONLY_WITH_LISTENER,
    check_broker,
    family,
)
from barnabas.model.configs import Update
from barnabas.model.errors import Refused


def test_every_default_is_allowed_and_what_is_required_has_none() -> None:
    for config in BROKER_CONFIGS.values():
        if config.required:
            assert config.default is None
        else:
            config.parsed(config.default)


def test_the_names_that_the_rules_speak_of_are_there() -> None:
    assert set(BROKER_CONFIGS) >= ONLY_WITH_LISTENER
    assert {name for names in FAMILIES for name in names} <= set(BROKER_CONFIGS)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("log.roll.hours", ("log.roll.ms", "log.roll.hours")),
        ("log.flush.interval.ms", ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        ("node.id", ("node.id",)),
        ("listener.name.a.ssl.protocol", ("listener.name.a.ssl.protocol", "ssl.protocol")),
        (
            "listener.name.a.plain.sasl.jaas.config",
            ("listener.name.a.plain.sasl.jaas.config", "sasl.jaas.config"),
        ),
    ],
)
def test_a_config_has_names_that_count_in_order(name: str, names: tuple[str, ...]) -> None:
    assert family(name) == names


@pytest.mark.parametrize(
    ("wanted", "one", "why"),
    [
        ({"node.id": "1"}, True, "Cannot update these configs dynamically: [node.id]"),
        ({"ssl.protocol": "x"}, True, "only per-listener"),
        ({"log.cleaner.threads": "x"}, True, "Not a number"),
        ({"listener.name.a.max.connections": "-1"}, False, "at least 0"),
        ({"listeners": "PLAINTEXT://:1"}, False, "broker id must be specified: [listeners]"),
        ({"listener.name.a.ssl.protocol": "x"}, False, "broker id must be specified"),
    ],
)
def test_what_a_running_broker_cannot_take_is_refused(
    wanted: Mapping[str, str], one: bool, why: str
) -> None:
    with pytest.raises(Refused) as caught:
        check_broker(wanted, one)
    assert why in caught.value.why


def test_a_running_broker_takes_the_rest_and_what_nobody_knows() -> None:
    for name, text in (
        ("log.cleaner.threads", "2"), ("no.such", "x"), ("listener.name.a.max.connections", "1"),
    ):  # fmt: skip
        check_broker({name: text}, one=False)
    check_broker({"listeners": "PLAINTEXT://:1", "listener.name.a.ssl.protocol": "x"}, one=True)


def test_what_belongs_to_a_machine_is_set_for_one_broker_alone() -> None:
    assert BROKER_CONFIGS["listeners"].update is Update.PER_BROKER
    assert BROKER_CONFIGS["log.cleaner.threads"].update is Update.CLUSTER_WIDE
    assert BROKER_CONFIGS["node.id"].update is Update.READ_ONLY
