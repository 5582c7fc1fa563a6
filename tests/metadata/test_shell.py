"""The shell over the loader: events in order, subscribers that are slow, raise, come and go."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher
from barnabas.metadata.shell import MetadataShell, SnapshotWriter
from barnabas.metadata.snapshot import Unwritable, written
from barnabas.raft.outline import SnapshotId
from barnabas.records.opened import OpenedBatch, opened
from barnabas.runtime.runtime import Runtime
from tests.metadata.shell import Fake
from tests.metadata.test_fold import BEGIN, LEVEL, A, B, C, batch
from tests.sim.worlds import run_in_world

Test = Callable[[Runtime, "Followed"], Coroutine[Any, Any, None]]


class Followed(MetadataShell):
    """A shell whose quorum has committed just what it hands over."""

    def __init__(self, runtime: Runtime) -> None:
        self.committed = 0
        super().__init__(runtime, lambda: self.committed, "node 1")

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take what comes next."""
        self.committed = batches[-1].end_offset
        await super().commit(batches)


class Reader:
    """A subscriber that checks everything it is told, and dawdles if it is asked to."""

    def __init__(
        self, runtime: Runtime, name: str, fake: Fake | None = None, delay_ms: int = 0
    ) -> None:
        self.fake = fake or Fake(name)
        self.publisher: Publisher = self.fake.publisher
        self.delay_ms = delay_ms
        self._clock = runtime.clock

    async def update(self, publication: Publication) -> None:
        """Take the next image."""
        await self._clock.sleep_ms(self.delay_ms)
        self.fake.update(publication, introduction=not self.fake.told)

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Keep who leads."""
        self.fake.leaders.append(leader)

    async def close(self) -> None:
        """Expect nothing more."""
        self.fake.closed = True


def run(test: Test) -> None:
    """Run a test on a shell, in a world."""

    async def main(runtime: Runtime) -> None:
        shell = Followed(runtime)
        await test(runtime, shell)
        await shell.stop()

    run_in_world(main)


def test_a_commit_returns_when_everybody_was_told() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        quick, slow = Reader(runtime, "quick"), Reader(runtime, "slow", delay_ms=50)
        await shell.install(quick, slow)
        await shell.commit([batch(0, LEVEL)])
        assert quick.fake.offsets == slow.fake.offsets == [0]
        begun_ms = runtime.clock.now_ms()
        await shell.commit([batch(1, A), batch(2, B)])
        assert runtime.clock.now_ms() - begun_ms >= 50
        assert quick.fake.offsets == slow.fake.offsets == [0, 2]
        assert shell.image.offset == 2

    run(told)


def test_what_comes_while_a_subscriber_dawdles_waits_for_it() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        slow, late = Reader(runtime, "slow", delay_ms=50), Reader(runtime, "late")
        await shell.install(slow)
        first = asyncio.ensure_future(shell.commit([batch(0, LEVEL)]))
        await runtime.clock.sleep_ms(10)
        shell.leader_changed(2, 7)
        await shell.install(late)
        assert first.done()
        assert slow.fake.leaders == [LeaderAndEpoch(None, 0), LeaderAndEpoch(2, 7)]
        assert late.fake.offsets == [0]
        assert late.fake.leaders == [LeaderAndEpoch(2, 7)]

    run(told)


def test_one_that_raises_is_named_and_the_others_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        bad = Reader(runtime, "bad", Fake("bad", raises_at=[1]))
        good = Reader(runtime, "good")
        await shell.install(bad, good)
        await shell.commit([batch(0, LEVEL)])
        await shell.commit([batch(1, A)])
        await shell.commit([batch(2, B)])
        assert bad.fake.offsets == good.fake.offsets == [0, 1, 2]
        await shell.remove("bad")
        await shell.commit([batch(3, C)])
        assert bad.fake.closed
        assert good.fake.offsets == [0, 1, 2, 3]

    with caplog.at_level(logging.ERROR):
        run(told)
    assert "offset 1: publisher bad: ValueError: not 1" in caplog.text


def test_one_that_raises_at_its_introduction_hears_nothing_more() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        bad, good = Reader(runtime, "bad", Fake("bad", raises_at=[0])), Reader(runtime, "good")
        await shell.install(bad, good)
        await shell.commit([batch(0, LEVEL)])
        await shell.commit([batch(1, A)])
        assert bad.fake.offsets == [0]
        assert bad.fake.leaders == []
        assert bad.fake.closed
        assert good.fake.offsets == [0, 1]

    run(told)


def test_one_who_takes_the_place_of_another_begins_when_the_other_has_ended() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        old, new = Reader(runtime, "one", delay_ms=50), Reader(runtime, "one")
        await shell.install(old)
        await shell.commit([batch(0, LEVEL)])
        commit = asyncio.ensure_future(shell.commit([batch(1, A)]))
        await runtime.clock.sleep_ms(10)
        await asyncio.gather(shell.remove("one"), shell.install(new))
        await commit
        assert old.fake.offsets == [0, 1]
        assert old.fake.closed
        await shell.commit([batch(2, B)])
        assert new.fake.offsets == [1, 2]
        assert not new.fake.closed

    run(told)


def run_to_failure(test: Test) -> Unfoldable:
    """Run a test that ends the process, and return why."""
    with pytest.raises(Unfoldable) as failure:
        run(test)
    return failure.value


def test_one_whose_failure_is_fatal_stops_the_node() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        await shell.install(Reader(runtime, "vital", Fake("vital", raises_at=[1], fatal=True)))
        await shell.commit([batch(0, LEVEL)])
        await shell.commit([batch(1, A)])

    assert "publisher vital" in str(run_to_failure(told))


def test_a_committed_record_that_nobody_can_read_stops_the_node() -> None:
    async def told(_: Runtime, shell: Followed) -> None:
        await shell.commit([batch(0, LEVEL)])
        await shell.commit([batch(1, BEGIN, BEGIN)])

    said = str(run_to_failure(told))
    assert said.startswith("__cluster_metadata-0, offset 2: BeginTransactionRecord: ")


def test_a_snapshot_takes_the_place_of_everything_before() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        first = Followed(runtime)
        await first.commit([batch(0, LEVEL), batch(1, A), batch(2, B)])
        data = b"".join(written(first.image))
        await first.stop()
        reader = Reader(runtime, "reader")
        await shell.install(reader)
        shell.committed = 3
        await shell.load(SnapshotId(3, 1), opened(data))
        assert reader.fake.offsets == [2]
        assert reader.fake.image == first.image
        await shell.commit([batch(3, C)])
        assert reader.fake.offsets == [2, 3]

    run(told)


def test_a_snapshot_that_nobody_can_read_stops_the_node() -> None:
    async def told(_: Runtime, shell: Followed) -> None:
        await shell.load(SnapshotId(3, 1), iter([batch(0, LEVEL)]))

    said = str(run_to_failure(told))
    assert said.startswith("00000000000000000003-0000000001.checkpoint: snapshot: ")
    assert "header" in said


class Shelf:
    """Where snapshots are put, slowly; or not at all."""

    def __init__(self, runtime: Runtime, why_not: str = "") -> None:
        self.ends: list[int] = []
        self._clock = runtime.clock
        self._why_not = why_not

    async def write(self, image: MetadataImage) -> None:
        """Take a snapshot."""
        await self._clock.sleep_ms(30)
        if self._why_not:
            raise Unwritable(self._why_not)
        self.ends.append(image.provenance.end_offset)


def test_snapshots_are_written_while_the_log_goes_on() -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        shelf = Shelf(runtime)
        await shell.install(SnapshotWriter(runtime, shelf.write, "node 1", bytes_max=100))
        await shell.commit([batch(0, LEVEL)])
        for offset, record in enumerate((A, B, C, A), 1):
            await shell.commit([batch(offset, record)])
        assert shelf.ends == []
        await runtime.clock.sleep_ms(40)
        # What came while the first was written counts for the next, which needs news.
        assert shelf.ends == [1]
        await shell.commit([batch(5, B)])
        await runtime.clock.sleep_ms(40)
        assert shelf.ends == [1, 6]

    run(told)


def test_a_snapshot_that_cannot_be_written_is_said_and_tried_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def told(runtime: Runtime, shell: Followed) -> None:
        shelf = Shelf(runtime, "no words for it")
        await shell.install(SnapshotWriter(runtime, shelf.write, "node 1", bytes_max=100))
        for offset, record in enumerate((LEVEL, A, B)):
            await shell.commit([batch(offset, record)])
            await runtime.clock.sleep_ms(40)

    with caplog.at_level(logging.WARNING):
        run(told)
    assert caplog.text.count("no snapshot could be written: no words for it") == 3
