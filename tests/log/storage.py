"""A machine with a disk for the tests of ``log``: runs coroutines, loses power, counts operations.

Nothing here waits, so a coroutine runs to its end in one go; a crash is an operation that the
process does not live to see.
"""

from collections.abc import Coroutine, Generator
from typing import Any, Final, TypeVar

from barnabas.log.config import LogConfig
from barnabas.log.directory import LogDirectory
from barnabas.log.names import TopicPartition
from barnabas.log.partition_log import PartitionLog
from barnabas.model.ids import Uuid
from barnabas.records.batch import TRANSACTIONAL, BatchHeader, batches
from barnabas.records.builder import BLANK, built
from barnabas.records.control import EndMarker, end_marker_batch
from barnabas.records.record import Record
from barnabas.sim.disk import ProcessDisk, SimDisk
from barnabas.sim.disk_faults import Calm, Draw, Profile

T = TypeVar("T")

ORDERS: Final = TopicPartition("orders", 0)
TOPIC_ID: Final = Uuid(bytes(range(16)))
PATH: Final = "/data"
SMALL: Final = LogConfig(segment_bytes=2000, index_interval_bytes=200)


class Crashed(BaseException):
    """The process did not live to see this operation."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that has nothing to wait for."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError(f"{work} waits for something")


class Machine:
    """A disk, and the lives of the processes that work on it."""

    def __init__(self, draw: Draw | None = None) -> None:
        self.disk: Final = SimDisk(draw or Calm())
        self.operations = 0
        self._held = False
        self.opened: LogDirectory | None = None
        self.crash_at: int | None = None
        self.process = self.start()
        self.process.make_directory(PATH)
        run(self.process.sync_directory("/"))

    def start(self) -> ProcessDisk:
        """Begin another life."""
        self.process = self.disk.process(self._alive, lambda ns: None, self._sleep)
        return self.process

    def crash(self, profile: Profile | None = None) -> None:
        """End the process, or with a profile the machine's power, and start again."""
        self.crash_at = None
        if profile is None:
            self.process.die()
        else:
            self.disk.power_loss(profile)
        self.start()

    def directory(self) -> LogDirectory:
        """Open the log directory."""
        self.opened = run(LogDirectory.open(self.process, PATH))
        return self.opened

    def directory_of(self) -> LogDirectory:
        """Return the directory that was opened last."""
        assert self.opened is not None
        return self.opened

    def log(self, config: LogConfig = SMALL) -> PartitionLog:
        """Open the directory and the one log in it, which is made if it is not there."""
        directory = self.directory()
        if self.process.exists(f"{PATH}/{ORDERS}"):
            return run(directory.open_log(ORDERS, config, 0))
        return run(directory.create_log(ORDERS, TOPIC_ID, config, 0))

    def log_of(self) -> PartitionLog:
        """Return the log that was opened last."""
        return self.directory_of().logs[ORDERS]

    def _alive(self) -> None:
        self.operations += 1
        if self.crash_at is not None and self.operations >= self.crash_at:
            raise Crashed

    def hold(self) -> None:
        """From now on let whoever syncs wait until it is run again."""
        self._held = True

    def let_go(self) -> None:
        """Let nobody wait any more."""
        self._held = False

    async def _sleep(self, duration_ns: int) -> None:
        if self._held:
            await Turn()


class Turn:
    """Waits until the coroutine is run again."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def batch(
    *values: bytes | None,
    base_offset: int = 0,
    epoch: int = -1,
    keys: tuple[bytes | None, ...] = (),
    timestamp: int = 1000,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """Return a batch of these values; ``producer`` is id, epoch and first sequence number."""
    header = BLANK._replace(
        base_offset=base_offset,
        leader_epoch=epoch,
        attributes=attributes,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
    )
    keys = keys or (b"k",) * len(values)
    return built(
        header,
        [
            Record(base_offset + number, timestamp + number, key, content)
            for number, (key, content) in enumerate(zip(keys, values, strict=True))
        ],
    )


def transactional(*values: bytes, producer: tuple[int, int, int]) -> bytes:
    """Return a batch that takes part in a transaction."""
    return batch(*values, producer=producer, attributes=TRANSACTIONAL)


def marker(producer: tuple[int, int], commit: bool, coordinator_epoch: int = 0) -> bytes:
    """Return the batch that ends a transaction."""
    return end_marker_batch(*producer, EndMarker(commit, coordinator_epoch), 5000)


def content(log: PartitionLog) -> list[tuple[BatchHeader, bytes]]:
    """Return every batch of a log, as its segments hold them."""
    found = []
    for segment in log.segments:
        data = segment.slice(0, segment.size_bytes).read()
        for position, header in batches(data):
            found.append((header, data[position : position + header.size_bytes]))
    return found


def offsets(log: PartitionLog) -> list[tuple[int, int]]:
    """Return the first and last offset of every batch of a log."""
    return [(header.base_offset, header.last_offset) for header, _ in content(log)]
