"""The generator: due by bytes, due by time, and only where a snapshot may end."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.generator import (
    Disabled,
    Note,
    Published,
    SnapshotGenerator,
    WriteSnapshot,
    Written,
)
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.publication import LogManifest, Publication
from barnabas.metadata.snapshot import fingerprint, folded, read, written
from tests.metadata.histories import history
from tests.metadata.shell import Fake, Shell
from tests.metadata.test_fold import ABORT, BEGIN, END, LEVEL, A, B, C, batch, published

HOUR_MS = 3_600_000


def bytes_generator() -> SnapshotGenerator:
    """Return a generator for which three batches of 100 bytes are enough, and no time."""
    return SnapshotGenerator(0, bytes_max=300, interval_ms=0)


def taken(generator: SnapshotGenerator, now_ms: int, *publications: Publication) -> list[int]:
    """Return at which offsets snapshots are asked for; each is written at once."""
    offsets = []
    for publication in publications:
        for effect in generator.step(Published(publication), now_ms):
            assert isinstance(effect, WriteSnapshot), effect
            offsets.append(effect.image.offset)
            assert generator.step(Written(), now_ms) == []
    return offsets


def one_by_one(count: int) -> list[Publication]:
    """Return publications of a batch each."""
    shell, fake = Shell(), Fake("reader")
    shell.install(fake)
    for offset in range(count):
        shell.commit([batch(offset, LEVEL if offset == 0 else A)])
    # The introduction came from no log; what it stands for did.
    first = fake.told[0]
    manifest = LogManifest(first.image.provenance, shell.loader.leader, 1, 100)
    return [Publication(first.delta, first.image, manifest), *fake.told[1:]]


def test_a_snapshot_is_due_after_so_many_bytes_and_they_are_counted_anew() -> None:
    assert taken(bytes_generator(), 0, *one_by_one(10)) == [2, 5, 8]


def test_a_snapshot_is_due_after_so_long() -> None:
    first, second, third, fourth = one_by_one(4)
    generator = SnapshotGenerator(1_000)
    assert taken(generator, 1_000, first) == []
    assert taken(generator, HOUR_MS + 999, second) == []
    [effect] = generator.step(Published(third), HOUR_MS + 1_000)
    assert effect == WriteSnapshot(third.image, "the last was 60 minutes ago")
    assert generator.step(Written(), HOUR_MS + 2_000) == []
    assert taken(generator, HOUR_MS + 2_000, fourth) == []


def test_time_alone_does_not_matter_if_it_is_switched_off() -> None:
    generator = SnapshotGenerator(0, interval_ms=0)
    assert taken(generator, 1_000 * HOUR_MS, *one_by_one(3)) == []


def test_one_snapshot_is_written_at_a_time() -> None:
    publications = one_by_one(8)
    generator = bytes_generator()
    asked = [generator.step(Published(publication), 0) for publication in publications]
    assert [bool(effects) for effects in asked] == [False, False, True] + [False] * 5
    assert generator.step(Written(), 0) == []
    # The bytes that came meanwhile count: the next publication is due at once.
    [*_, later] = one_by_one(9)
    assert taken(generator, 0, later) == [8]


def test_a_snapshot_that_could_not_be_written_is_told_and_tried_again_later() -> None:
    generator, publications = bytes_generator(), one_by_one(6)
    for publication in publications[:3]:
        generator.step(Published(publication), 0)
    assert generator.step(Written("the disk is full"), 0) == [
        Note("no snapshot could be written: the disk is full")
    ]
    assert taken(generator, 0, *publications[3:]) == [5]


def test_no_snapshot_ends_in_the_middle_of_a_batch_and_its_bytes_are_not_forgotten() -> None:
    generator = SnapshotGenerator(0, bytes_max=100, interval_ms=0)
    log = published(batch(0, LEVEL), batch(1, A, BEGIN, B), batch(4, C), batch(5, END))
    assert [publication.image.provenance.batch_aligned for publication in log] == [False, True]
    assert taken(generator, 0, *log) == [5]


def test_the_log_that_a_node_caught_up_with_counts_for_its_next_snapshot() -> None:
    shell, late = Shell(), Fake("late")
    for offset in range(4):
        shell.commit([batch(offset, LEVEL if offset == 0 else A)])
    shell.install(late)
    assert taken(bytes_generator(), 0, *late.told) == [3]


def test_a_snapshot_that_was_read_is_not_written_again() -> None:
    reader, writer = Fake("reader"), Shell()
    writer.commit([batch(0, LEVEL), batch(1, A), batch(2, B)])
    shell = Shell(reader)
    shell.commit([batch(0, LEVEL)])
    shell.load(writer.image)
    generator = SnapshotGenerator(0, bytes_max=150, interval_ms=HOUR_MS)
    generator.step(Published(one_by_one(1)[0]), 0)
    assert generator.bytes_since == 100
    assert generator.step(Published(reader.told[1]), HOUR_MS) == []
    assert generator.bytes_since == 0


def test_nothing_is_written_once_the_generator_is_disabled() -> None:
    generator = bytes_generator()
    assert generator.step(Disabled("the image may be wrong"), 0) == []
    assert generator.step(Disabled("the node stops"), 0) == []
    *_, last = [generator.step(Published(each), 0) for each in one_by_one(3)]
    assert last == [
        Note(
            "00000000000000000003-0000000001.checkpoint is not written although 300 bytes of the "
            "log came since the last: the image may be wrong"
        )
    ]


def test_an_image_without_a_level_is_not_written() -> None:
    generator = SnapshotGenerator(0, bytes_max=100, interval_ms=0)
    [publication] = published(batch(0, BEGIN, LEVEL, ABORT), batch(3, A))
    [note] = generator.step(Published(publication), 0)
    assert isinstance(note, Note)
    assert note.text.endswith("there is no metadata.version")


def test_images_come_in_order() -> None:
    first, second = one_by_one(2)
    generator = bytes_generator()
    generator.step(Published(second), 0)
    with pytest.raises(AssertionError, match="0 after 1"):
        generator.step(Published(first), 0)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_every_snapshot_that_is_asked_for_is_whole_and_one_that_a_log_can_follow(
    seed: int, drawn: int
) -> None:
    log, random, fake = history(seed), Random(drawn), Fake("reader")
    shell = Shell(fake)
    for each in log.cut(*random.sample(range(len(log)), 12)):
        shell.commit([each], len(log))
    generator = SnapshotGenerator(0, bytes_max=random.randint(1, 2_000), interval_ms=0)
    for publication in fake.told:
        for effect in generator.step(Published(publication), 0):
            assert isinstance(effect, WriteSnapshot)
            check(effect.image, publication)
            generator.step(Written(), 0)


def check(image: MetadataImage, publication: Publication) -> None:
    """See that a snapshot is what its name says."""
    provenance = image.provenance
    assert image is publication.image
    assert provenance.batch_aligned
    stored = read(b"".join(written(image)), provenance.snapshot_name)
    assert stored.append_ms == provenance.append_ms
    again = folded(stored.batches, provenance)
    assert fingerprint(again) == fingerprint(image)
    assert again.provenance.offset > EMPTY.offset
