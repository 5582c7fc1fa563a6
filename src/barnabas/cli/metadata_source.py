"""Where ``barnabas metadata`` takes the history from: a directory, or a running quorum.

    --directory DIR              ──▶ Onlooker ─────────────────────────┐
    --bootstrap-controller …     ──▶ an observer of the quorum, in a   ├─▶ Files, a Source
                                     directory that goes away ──▶ Onlooker

A directory is opened to be read and nothing else: whoever works in it does not notice.  It does not
say what is committed; what a snapshot holds is, and the rest is believed, as Kafka's own shell
believes it, and said to be so.

A quorum is followed as any broker follows it, by an observer that has no id: it is not counted, not
listed among the observers, and gone when it has seen what was committed when it came.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Final

from barnabas.cli.metadata_quorum import Cluster
from barnabas.host.disk import HostDisk
from barnabas.host.world import live
from barnabas.metadata.history import BEGINNING, Base
from barnabas.model.errors import CorruptLog
from barnabas.node.member import open_member
from barnabas.raft.config import RaftConfig
from barnabas.raft.onlooker import LOG_WAY_OUT, Onlooker
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import ReplicaKey
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.disk import Disk
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime

NOBODY: Final = ReplicaKey(-1)
"""Who is not counted among the observers."""

SILENCE_MS: Final = 15_000
"""How long a quorum may send nothing before it is given up."""
ASK_AGAIN_MS: Final = 100
CLOSE_MS: Final = 1_000


class Files:
    """A history in the files of a directory."""

    def __init__(self, onlooker: Onlooker, committed: int | None = None) -> None:
        """``committed`` is the high watermark, if it is known."""
        self._onlooker: Final = onlooker
        self.bases: Final = bases_of(onlooker)
        self.end_offset: Final = max(onlooker.end_offset, self.bases[-1].end_offset)
        self.committed: Final = self.bases[-1].end_offset if committed is None else committed
        """Everything below it is committed."""

    @property
    def reading(self) -> str:
        """The file that was read last."""
        return self._onlooker.reading

    @property
    def notes(self) -> Sequence[str]:
        """What has to be known about what is told."""
        found = [] if self._onlooker.torn is None else [str(self._onlooker.torn)]
        if self.committed < self.end_offset:
            sure = f"what is below offset {self.committed} is, and " if self.committed else ""
            found.append(
                f"a directory does not tell what is committed: {sure}up to {self.end_offset - 1} "
                "everything is taken for it"
            )
        return found

    def snapshot(self, base: Base) -> Iterator[OpenedBatch]:
        """Yield the batches of the snapshot at a base."""
        return self._onlooker.snapshot(SnapshotId(base.end_offset, base.epoch))

    def log(self, offset: int) -> Iterator[OpenedBatch]:
        """Yield the batches of the log from an offset on."""
        return iter(()) if offset > self._onlooker.end_offset else self._onlooker.log(offset)


def bases_of(onlooker: Onlooker) -> Sequence[Base]:
    """Return where a history can begin."""
    snapshots = [Base(each.end_offset, each.epoch) for each in onlooker.snapshots]
    if snapshots and snapshots[-1].end_offset > onlooker.end_offset:
        # It was about to take the log's place, which lacks what is between the two.
        return snapshots[-1:]
    # The snapshot that a directory is formatted with says nothing that the log does not say.
    first = onlooker.start_offset
    found = [base for base in snapshots if base.end_offset >= max(first, 1)]
    if first == 0:
        return [BEGINNING, *found]
    if not found:
        raise CorruptLog(
            f"{onlooker.path}: the log begins at {first}, and no snapshot says what came before; "
            f"{LOG_WAY_OUT}"
        )
    return found


@contextmanager
def in_directory(disk: Disk, directory: str, committed: int | None = None) -> Iterator[Files]:
    """Yield what a directory holds."""
    onlooker = Onlooker(disk, directory, committed)
    try:
        yield Files(onlooker, committed)
    finally:
        onlooker.close()


@contextmanager
def in_quorum(places: Sequence[Address]) -> Iterator[Files]:
    """Yield what a running quorum has committed."""
    with TemporaryDirectory(prefix="barnabas-metadata-") as directory:
        committed: list[int] = []

        async def work(runtime: Runtime) -> None:
            committed.append(await followed(runtime, places, directory))

        asyncio.run(live("metadata", work))
        with in_directory(HostDisk(), directory, committed[0]) as files:
            yield files


async def followed(runtime: Runtime, places: Sequence[Address], directory: str) -> int:
    """Fetch what is committed into a directory; return the offset behind it."""
    cluster = Cluster(runtime, places)
    quorum = await cluster.describe()
    given_up_ms = runtime.clock.now_ms() + SILENCE_MS
    while quorum.told.high_watermark < 0:
        # A new leader does not know how far its predecessor was before it commits something.
        if runtime.clock.now_ms() >= given_up_ms:
            raise ConnectionError(f"leader {quorum.told.leader_id} has committed nothing so far")
        await runtime.clock.sleep_ms(ASK_AGAIN_MS)
        quorum = await cluster.describe()
    reached = Reached()
    config = RaftConfig(NOBODY, quorum.cluster_id, bootstrap=tuple(places), can_vote=False)
    member = await open_member(runtime, config, directory, (), listeners=(reached,))
    try:
        while reached.end_offset < quorum.told.high_watermark:
            await reached.more(runtime, SILENCE_MS)
    finally:
        await member.close(CLOSE_MS)
    return reached.end_offset


class Reached:
    """Knows how far an observer has come; what is read later from the files is not kept."""

    def __init__(self) -> None:
        self.end_offset = 0
        self._news: Final = asyncio.Event()

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Take note of a snapshot."""
        self._reach(snapshot.end_offset)

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take note of what comes next."""
        self._reach(batches[-1].end_offset)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Go on, whoever leads."""

    async def more(self, runtime: Runtime, silence_ms: int) -> None:
        """Return when there is more; ``ConnectionError`` if nothing comes for so long."""
        silent: list[bool] = []

        def give_up() -> None:
            silent.append(True)
            self._news.set()

        deadline = runtime.clock.call_at(runtime.clock.now_ms() + silence_ms, give_up)
        await self._news.wait()
        self._news.clear()
        deadline.cancel()
        if silent:
            raise ConnectionError(
                f"the quorum has sent nothing behind offset {self.end_offset} for {silence_ms} ms"
            )

    def _reach(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self._news.set()
