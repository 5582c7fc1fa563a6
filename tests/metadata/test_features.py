"""Features: levels set, taken back, unknown; what a change of the level does to the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.delta import PARTS, Delta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.features import EMPTY, FeaturesDelta, FeaturesImage
from barnabas.metadata.levels import Form, LevelChange
from barnabas.metadata.snapshot import no_loss
from barnabas.model.features import LATEST_TESTING, MINIMUM_VERSION
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from tests.metadata.histories import history
from tests.metadata.shell import Shell


def levelled(image: FeaturesImage, **levels: int) -> FeaturesDelta:
    """Return the delta of some levels, spelled with underscores."""
    delta = FeaturesDelta(image)
    for name, level in levels.items():
        delta.replay(FeatureLevelRecord(name=name.replace("_", "."), feature_level=level))
    return delta


def test_levels_are_set_and_zero_takes_one_back() -> None:
    first = levelled(EMPTY, metadata_version=30, group_version=1, share_version=1).apply()
    assert first == FeaturesImage(30, {"group.version": 1, "share.version": 1})
    second = levelled(first, group_version=0, transaction_version=2).apply()
    assert second == FeaturesImage(30, {"share.version": 1, "transaction.version": 2})
    assert second.level("transaction.version") == 2
    assert second.level("group.version") == 0
    assert second.level("metadata.version") == 30


def test_nothing_said_is_an_empty_image() -> None:
    assert EMPTY.is_empty
    assert not levelled(EMPTY, metadata_version=7).apply().is_empty
    assert EMPTY.level("metadata.version") == 0


def test_the_quorums_own_version_is_passed_over() -> None:
    assert levelled(EMPTY, kraft_version=1).apply() == EMPTY


def test_a_change_of_metadata_version_is_told_and_only_that() -> None:
    first = levelled(EMPTY, metadata_version=17)
    assert first.metadata_version_change == LevelChange(None, 17)
    image = first.apply()
    assert levelled(image, group_version=1).metadata_version_change is None
    assert levelled(image, metadata_version=17).metadata_version_change is None
    assert levelled(image, metadata_version=30).metadata_version_change == LevelChange(17, 30)


@pytest.mark.parametrize(
    ("level", "way_out"), [(6, "kafka-features upgrade"), (0, "release that ran"), (32, "run a re")]
)
def test_a_level_that_this_build_does_not_know_is_refused_with_the_way_out(
    level: int, way_out: str
) -> None:
    with pytest.raises(BadRecord, match=f"is {level}, and this build knows 7 .* to 31") as refused:
        levelled(EMPTY, metadata_version=level)
    assert way_out in refused.value.way_out


def test_a_feature_that_this_build_does_not_know_is_kept() -> None:
    assert levelled(EMPTY, dreams_version=9).apply().levels == {"dreams.version": 9}


def test_metadata_version_comes_first_and_in_version_0() -> None:
    image = FeaturesImage(30, {"a.version": 1, "group.version": 2})
    told = list(image.records(Form(30, no_loss)))
    assert [(record, version) for record, version in told] == [
        (FeatureLevelRecord(name="metadata.version", feature_level=30), 0),
        (FeatureLevelRecord(name="a.version", feature_level=1), 0),
        (FeatureLevelRecord(name="group.version", feature_level=2), 0),
    ]


def test_between_two_images_lies_what_was_set_and_what_was_taken_back() -> None:
    one, other = FeaturesImage(17, {"a": 1, "b": 2}), FeaturesImage(30, {"b": 3, "c": 4})
    delta = FeaturesDelta.between(one, other)
    assert delta.levels == {"a": None, "b": 3, "c": 4}
    assert delta.metadata_version_change == LevelChange(17, 30)
    assert delta.apply() == other


LEVELS = st.integers(MINIMUM_VERSION.level, LATEST_TESTING.level)


@pytest.mark.slow
@given(st.integers(0, 2**32), LEVELS)
def test_a_level_up_or_down_changes_no_other_part(seed: int, level: int) -> None:
    shell = Shell()
    shell.commit(history(seed).cut())
    delta = Delta(shell.image)
    delta.replay(FeatureLevelRecord(name="metadata.version", feature_level=level))
    after = delta.apply(shell.image.provenance)
    for part in PARTS.keys() - {"features"}:
        assert getattr(delta, part) is None
        assert getattr(after, part) is getattr(shell.image, part)
    assert after.features.metadata_version == level
