"""Configs of groups: within what the operator allows."""

from collections.abc import Mapping

import pytest

from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.errors import Refused
from barnabas.model.group_configs import (
    GROUP_CONFIGS,
    SYNONYMS,
    check_group,
    inherited,
    is_duration,
)


def test_every_default_is_allowed_and_within_its_bounds() -> None:
    for config in GROUP_CONFIGS.values():
        config.parsed(config.default)
    check_group({}, {})


def test_most_fall_back_to_a_config_of_the_broker() -> None:
    assert len(SYNONYMS) == len(GROUP_CONFIGS) - 3
    assert set(SYNONYMS.values()) <= set(BROKER_CONFIGS)
    static = {"group.share.session.timeout.ms": "5"}
    assert inherited("share.session.timeout.ms", static) == "5"
    assert inherited("share.isolation.level", static) is None


@pytest.mark.parametrize(
    ("wanted", "static", "why"),
    [
        ({"no.such": "1"}, {}, "Unknown group config name"),
        ({"share.auto.offset.reset": "none"}, {}, "must be either"),
        ({"consumer.session.timeout.ms": "44999"}, {}, "greater than or equal to group.consumer."),
        ({"streams.num.standby.replicas": "3"}, {}, "less than or equal to group.streams.max."),
        ({"share.assignment.interval.ms": "15001"}, {}, "less than or equal"),
        (
            {"consumer.heartbeat.interval.ms": "6000"},
            {
                "group.consumer.session.timeout.ms": "6000",
                "group.consumer.min.session.timeout.ms": "1",
            },
            "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
        ),
    ],
)
def test_what_is_out_of_bounds_is_refused(
    wanted: Mapping[str, str], static: Mapping[str, str], why: str
) -> None:
    with pytest.raises(Refused) as caught:
        check_group(wanted, static)
    assert why in caught.value.why


def test_intervals_of_assignments_are_bounded_only_where_the_group_sets_them() -> None:
    static = {"group.consumer.assignment.interval.ms": "99999"}
    check_group({}, static)
    with pytest.raises(Refused):
        check_group({"consumer.assignment.interval.ms": "99999"}, static)


@pytest.mark.parametrize("text", ["P1D", "PT1H", "pt5.5s", "-PT-5S", "P1DT2H3M4,5S", "PT0S"])
def test_durations_are_those_of_java(text: str) -> None:
    assert is_duration(text)


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "-P1D", "PT-1S", "P1Y", "PT1.5H"])
def test_what_is_no_duration_or_negative_is_none(text: str) -> None:
    assert not is_duration(text)
