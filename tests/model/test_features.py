"""Features and releases: Kafka's tables."""

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.model.features import (
    FEATURES,
    FEATURES_BY_NAME,
    LATEST_PRODUCTION,
    LATEST_TESTING,
    METADATA_VERSIONS,
    MINIMUM_VERSION,
    Level,
    check_needs,
    supported_levels,
    version_of_level,
    version_of_release,
)


def test_levels_of_metadata_version_have_no_gap_and_rise_with_their_names() -> None:
    assert [version.level for version in METADATA_VERSIONS] == list(range(7, 32))
    names = [(*map(int, version.release.split(".")), version.step) for version in METADATA_VERSIONS]
    assert names == sorted(names)
    assert str(MINIMUM_VERSION) == "3.3-IV3"
    assert str(LATEST_PRODUCTION) == "4.3-IV0"
    assert LATEST_TESTING.level == 31


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("3.3", 7),
        ("3.3-IV3", 7),
        ("3.7", 19),
        ("3.7-IV1", 16),
        ("3.7.2", 19),
        ("3.8.x", 20),
        ("4.0", 25),
        ("4.3", 30),
        ("4.3-IV0", 30),
    ],
)
def test_a_release_is_the_last_of_its_levels(text: str, level: int) -> None:
    assert version_of_release(text).level == level
    assert version_of_release(text, unstable=True).level == level


@pytest.mark.parametrize("text", ["", "3", "3.2", "3.3-IV0", "4.4", "4.4-IV0", "3.7-IV9", "3."])
def test_what_is_no_stable_release_is_refused(text: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        version_of_release(text)
    assert f"Unknown metadata.version '{text}'. Supported metadata.version are: 3.3-IV3, " in str(
        refused.value
    )
    assert str(refused.value).endswith(", 4.3-IV0")


def test_what_is_not_stable_is_known_by_its_steps_alone() -> None:
    assert version_of_release("4.4-IV0", unstable=True).level == 31
    with pytest.raises(Misconfigured, match=r"4.4-IV0$"):
        version_of_release("4.4", unstable=True)


def test_levels_outside_the_table_are_refused() -> None:
    assert version_of_level(17).release == "3.7"
    with pytest.raises(Misconfigured, match=r"feature level 6. Valid feature levels are from 7 to"):
        version_of_level(6)


def test_defaults_come_with_the_release_that_brought_them() -> None:
    brought = {
        "kraft.version": [(20, 0), (21, 1)],
        "transaction.version": [(23, 0), (24, 2)],
        "group.version": [(21, 0), (22, 1)],
        "eligible.leader.replicas.version": [(25, 0), (26, 1)],
        "share.version": [(27, 0), (28, 1)],
        "streams.version": [(28, 0), (29, 1)],
    }
    assert sorted(brought) == sorted(FEATURES_BY_NAME)
    for name, defaults in brought.items():
        for level, default in defaults:
            assert FEATURES_BY_NAME[name].default(version_of_level(level)) == default
    assert all(feature.default(LATEST_PRODUCTION) == feature.latest for feature in FEATURES)


def test_a_level_that_nobody_knows_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"No feature:share.version with feature level 2"):
        FEATURES_BY_NAME["share.version"].at(2)


def test_a_level_may_need_others() -> None:
    level = FEATURES_BY_NAME["eligible.leader.replicas.version"].at(1)
    check_needs("e", level, {"metadata.version": 23})
    with pytest.raises(Misconfigured, match="e could not be set to 1 because it depends on meta"):
        check_needs("e", level, {"metadata.version": 22})
    with pytest.raises(Misconfigured, match=r"metadata.version=7 \(3.3-IV3\)"):
        check_needs("e", Level(1, 7), {})


def test_a_node_can_work_with_every_level_there_is_that_is_stable() -> None:
    levels = supported_levels(unstable=False)
    assert levels["metadata.version"] == (7, 30)
    assert supported_levels(unstable=True)["metadata.version"] == (7, 31)
    assert levels["transaction.version"] == (0, 2)
    assert levels.keys() == {"metadata.version", *FEATURES_BY_NAME}
