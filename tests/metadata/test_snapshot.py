"""Snapshots: there and back, at any level; cut short, damaged, made wrong."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.levels import Form, LevelChange
from barnabas.metadata.snapshot import (
    Unwritable,
    fingerprint,
    folded,
    image_records,
    losses,
    no_loss,
    read,
    values,
    written,
)
from barnabas.model.features import LATEST_TESTING, MINIMUM_VERSION
from barnabas.records.batch import batches
from barnabas.records.control import ControlType, control_batch
from barnabas.records.opened import OpenedBatch
from barnabas.records.snapshot import data_batch, snapshot_footer_batch, snapshot_header_batch
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.metadata_records import decode_record, encode_record
from barnabas.wire.structs import Message
from tests.metadata.histories import history
from tests.metadata.naive import plain
from tests.metadata.shell import Shell
from tests.metadata.test_fold import LEVEL, A, batch

SEEDS = st.integers(0, 2**32)
PLACE = Provenance(9, 3, 5, batch_aligned=True)


def image_of(seed: int, *cuts: int) -> MetadataImage:
    """Return the image of a random history."""
    shell = Shell()
    shell.commit(history(seed).cut(*cuts))
    return shell.image


def levelled(image: MetadataImage, level: int) -> MetadataImage:
    """Return an image at another level, whatever a controller would say to that."""
    delta = Delta(image)
    delta.replay(FeatureLevelRecord(name="metadata.version", feature_level=level))
    return delta.apply(image.provenance)


def file(*records: Message) -> bytes:
    """Return the file of a snapshot of some records."""
    return b"".join(
        [
            snapshot_header_batch(3, 5, encode_header()),
            data_batch(1, 3, 5, [encode_record(record, 0) for record in records]),
            snapshot_footer_batch(1 + len(records), 3, 5, bytes(3)),
        ]
    )


def encode_header() -> bytes:
    """Return a header: version 0, the time, no tags."""
    return bytes(2) + (5).to_bytes(8) + bytes(1)


@pytest.mark.slow
@given(SEEDS)
def test_an_image_comes_back_from_its_own_snapshot(seed: int) -> None:
    image = image_of(seed)
    stored = read(b"".join(written(image)), "a snapshot")
    again = folded(stored.batches, image.provenance)
    assert stored.append_ms == image.provenance.append_ms
    assert again == image
    assert fingerprint(again) == fingerprint(image)
    assert plain(again) == plain(image)


@pytest.mark.slow
@given(SEEDS)
def test_two_nodes_write_the_same_bytes_however_they_got_there(seed: int) -> None:
    image = image_of(seed)
    # The one has folded the log, the other begins with a snapshot of the first.
    other = folded(read(b"".join(written(image)), "x").batches, image.provenance)
    assert b"".join(written(image)) == b"".join(written(other))
    assert b"".join(written(image)) == b"".join(written(image_of(seed, 7, 23)))


@pytest.mark.slow
@given(SEEDS)
def test_the_level_comes_before_everything_that_depends_on_it(seed: int) -> None:
    image = image_of(seed)
    first, *others = (decode_record(data) for data in values(image))
    level = image.features.metadata_version
    assert level is not None
    assert first == (FeatureLevelRecord(name="metadata.version", feature_level=level), 0)
    names = [type(record).__name__ for record, _ in others]
    levels = names.count("FeatureLevelRecord")
    assert "FeatureLevelRecord" not in names[levels:]


def test_the_quorums_version_and_voters_stand_where_the_quorum_looks_for_them() -> None:
    data = b"".join(written(image_of(1), b"version", b"voters"))
    _, header = next(batches(data))
    assert (header.is_control, header.record_count) == (True, 3)
    assert folded(read(data, "x").batches, PLACE).topics == image_of(1).topics


def test_an_image_without_a_level_cannot_be_written() -> None:
    with pytest.raises(Unwritable, match=r"no metadata\.version"):
        values(EMPTY)


# --- Levels -------------------------------------------------------------------------------------

LEVELS = st.integers(MINIMUM_VERSION.level, LATEST_TESTING.level)


@pytest.mark.slow
@given(SEEDS, LEVELS)
def test_a_safe_change_of_the_level_loses_nothing(seed: int, level: int) -> None:
    image = image_of(seed)
    before = image.features.metadata_version
    assert before is not None
    if LevelChange(before, level).is_safe:
        assert losses(image, level) == ()
        moved = levelled(image, level)
        again = folded(read(b"".join(written(moved)), "x").batches, moved.provenance)
        assert again == moved


@pytest.mark.slow
@given(SEEDS, LEVELS)
def test_a_level_is_written_exactly_if_it_has_words_for_everything(seed: int, level: int) -> None:
    image = levelled(image_of(seed), level)
    lost = losses(image, level)
    if lost:
        with pytest.raises(Unwritable, match=f"metadata.version {level} cannot say {lost[0]}"):
            list(values(image))
        return
    again = folded(read(b"".join(written(image)), "x").batches, image.provenance)
    assert fingerprint(again) == fingerprint(image)


def test_what_a_downgrade_would_lose_is_told_once_each() -> None:
    full = next(image for image in map(image_of, range(200)) if len(losses(image, 7)) > 6)
    lost = losses(full, 7)
    assert len(set(lost)) == len(lost)
    assert set(lost) <= {
        "that a broker is migrating from ZooKeeper",
        "the online log directories of brokers",
        "the cordoned log directories of brokers",
        "the registrations of controllers",
        "the directories of replicas",
        "the eligible leaders of partitions",
        "the SCRAM credentials of users",
        "the delegation tokens",
    }


@pytest.mark.slow
@given(SEEDS, LEVELS)
def test_what_is_written_in_spite_of_a_loss_is_all_that_the_level_can_say(
    seed: int, level: int
) -> None:
    # An unsafe downgrade, should a controller ever offer one: lossy once, and never again.
    image = image_of(seed)
    lost: list[str] = []
    records = list(image_records(image, Form(level, lost.append)))
    lesser = folded([OpenedBatch(0, len(records), 1, 0, 0, records)], image.provenance)
    assert lesser.features.metadata_version == level
    assert losses(lesser, level) == ()
    assert lesser.topics.names == image.topics.names
    assert (lesser == levelled(image, level)) == (not lost)


def test_the_fingerprint_tells_images_apart_that_their_level_could_not() -> None:
    first = image_of(2)
    shell = Shell()
    shell.commit([batch(0, LEVEL, A)])
    prints = {
        fingerprint(each)
        for each in (EMPTY, first, levelled(first, 7), levelled(first, 8), shell.image)
    }
    assert len(prints) == 5
    with pytest.raises(AssertionError, match="cannot say too much"):
        no_loss("too much")


# --- Bad input ----------------------------------------------------------------------------------

GOOD = file(LEVEL, A)


def test_a_good_snapshot_is_read_so_that_the_bad_ones_are_bad_for_one_reason() -> None:
    assert read(GOOD, "x").append_ms == 5
    assert folded(read(GOOD, "x").batches, PLACE).configs.of(4, "") == {"a": "set"}


def flipped(data: bytes) -> bytes:
    """Return data with one bit of its middle turned."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


def without_last_batch(data: bytes) -> bytes:
    """Return data without its last batch."""
    return data[: [position for position, _ in batches(data)][-1]]


def without_first_batch(data: bytes) -> bytes:
    """Return data without its first batch."""
    return data[[position for position, _ in batches(data)][1] :]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data[:-1], "a batch is cut short at"),
        (lambda data: data[:40], "a batch is cut short at 0 of 40 bytes"),
        (without_last_batch, "it does not end with a footer"),
        (without_first_batch, "it does not begin with a header"),
        (lambda data: data + data_batch(4, 3, 5, [b"more"]), "it does not end with a footer"),
        (lambda data: b"", "it is empty"),
        (flipped, "record batch: .*; remove the file"),
        (
            lambda data: snapshot_header_batch(3, 5, b"?") + without_first_batch(data),
            "snapshot: SnapshotHeaderRecord v0: ends in the middle",
        ),
        (
            lambda data: data + control_batch(4, 0, 3, (ControlType.LEADER_CHANGE, b"")),
            "it does not end with a footer",
        ),
    ],
)
def test_a_snapshot_that_is_not_whole_is_named_and_not_believed(
    spoil: Callable[[bytes], bytes], why: str
) -> None:
    with pytest.raises(Unfoldable, match=f"00-1.checkpoint: .*{why}"):
        read(spoil(GOOD), "00-1.checkpoint")


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (BeginTransactionRecord(), "record 2: BeginTransactionRecord: .* nothing that an image"),
        (EndTransactionRecord(), "record 2: EndTransactionRecord"),
        (AbortTransactionRecord(), "record 2: AbortTransactionRecord"),
        (RemoveTopicRecord(), "record 2: RemoveTopicRecord: there is no topic"),
        (
            FeatureLevelRecord(name="metadata.version", feature_level=99),
            "record 2: FeatureLevelRecord: metadata.version is 99, .* run a release",
        ),
    ],
    ids=str,
)
def test_a_record_that_no_snapshot_holds_is_named_by_file_and_place(
    record: Message, why: str
) -> None:
    stored = read(file(LEVEL, record), "x")
    with pytest.raises(Unfoldable, match=f"00000000000000000010-0000000003.checkpoint, {why}"):
        folded(stored.batches, PLACE)
