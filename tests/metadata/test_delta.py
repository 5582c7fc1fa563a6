"""Deltas: every record has its part, untouched parts are shared, images compared."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.delta import PART_OF, PARTS, SILENT, Delta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.fold import TRANSACTION
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.levels import LevelChange
from barnabas.metadata.snapshot import fingerprint
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.zk_migration_state_record import ZkMigrationStateRecord
from barnabas.wire.metadata_records import record_classes
from tests.metadata.histories import history
from tests.metadata.naive import plain
from tests.metadata.shell import Shell

SEEDS = st.integers(0, 2**32)
SOMEWHERE = Provenance(7, 1, 0, batch_aligned=True)


def image_of(seed: int) -> MetadataImage:
    """Return the image of a random history."""
    shell = Shell()
    shell.commit(history(seed).cut())
    return shell.image


def test_every_record_of_the_log_has_somewhere_to_go() -> None:
    there = {*PART_OF, *SILENT, *TRANSACTION, RemoveTopicRecord}
    assert there == set(record_classes().values())
    assert set(PART_OF.values()) == set(PARTS)


def test_the_deltas_of_all_parts_are_there_and_untouched_at_first() -> None:
    delta = Delta(EMPTY)
    assert all(getattr(delta, part) is None for part in PARTS)
    assert list(PARTS) == [field.name for field in fields(MetadataImage)][1:]
    assert delta.metadata_version_change is None


def test_parts_that_nobody_spoke_of_are_shared_with_the_next_image() -> None:
    before = image_of(3)
    delta = Delta(before)
    delta.replay(ProducerIdsRecord(next_producer_id=10**9))
    after = delta.apply(SOMEWHERE)
    assert after.provenance is SOMEWHERE
    assert after.producer_ids.next_producer_id == 10**9
    for part in PARTS.keys() - {"producer_ids"}:
        assert getattr(after, part) is getattr(before, part)
        assert getattr(delta, part) is None


@pytest.mark.parametrize("record", [NoOpRecord(), ZkMigrationStateRecord(zk_migration_state=2)])
def test_silent_records_touch_nothing(record: NoOpRecord | ZkMigrationStateRecord) -> None:
    delta = Delta(EMPTY)
    delta.replay(record)
    assert all(getattr(delta, part) is None for part in PARTS)


def test_a_transaction_is_nothing_that_an_image_holds() -> None:
    with pytest.raises(BadRecord, match="BeginTransactionRecord is nothing that an image"):
        Delta(EMPTY).replay(BeginTransactionRecord())


def test_a_change_of_the_level_is_told_by_the_whole() -> None:
    delta = Delta(EMPTY)
    delta.replay(FeatureLevelRecord(name="metadata.version", feature_level=17))
    assert delta.metadata_version_change == LevelChange(None, 17)


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_between_any_two_images_lies_exactly_what_leads_from_one_to_the_other(
    first: int, second: int
) -> None:
    one, other = image_of(first), image_of(second)
    delta = Delta.between(one, other)
    made = delta.apply(other.provenance)
    assert made == other
    assert fingerprint(made) == fingerprint(other)
    assert plain(made) == plain(other)
    for part in PARTS:
        assert (getattr(delta, part) is None) == (getattr(one, part) == getattr(other, part))


@pytest.mark.slow
@given(SEEDS)
def test_from_nothing_to_an_image_lies_everything(seed: int) -> None:
    image = image_of(seed)
    assert Delta.between(EMPTY, image).apply(image.provenance) == image
    back = Delta.between(image, EMPTY).apply(EMPTY.provenance)
    assert back == EMPTY
    assert back.is_empty
