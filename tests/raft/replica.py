"""A replica's disk for the tests of ``raft``: a machine that loses power, and what is on it.

Nothing here waits, so a coroutine runs to its end in one go (``tests.log.storage``).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from barnabas.log.config import LogConfig
from barnabas.model.ids import Uuid
from barnabas.raft.control_records import snapshot_footer, snapshot_header
from barnabas.raft.effects import AppendLeaderChange
from barnabas.raft.opening import METADATA, METADATA_LOG
from barnabas.raft.outline import SnapshotId
from barnabas.raft.snapshot_files import snapshot_name
from barnabas.raft.states import Election
from barnabas.raft.storage import Storage
from barnabas.raft.voters import NO_VOTERS, Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.records.batch import BatchHeader, batches
from barnabas.records.snapshot import snapshot_batches
from barnabas.runtime.clock import Timer
from barnabas.runtime.disk import Buffer
from tests.log.storage import PATH, Machine, run

DIRECTORY: Final = f"{PATH}/{METADATA}"

# Small segments, so that there are several.
SMALL: Final[LogConfig] = replace(
    METADATA_LOG, segment_bytes=2000, max_message_bytes=2000, index_interval_bytes=200
)


class StillClock:
    """Time that stands still; whoever sleeps is back at once."""

    def now_ms(self) -> int:
        return 0

    def now_ns(self) -> int:
        return 0

    def wall_ms(self) -> int:
        return 1_700_000_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return at once."""

    async def sleep_until(self, at_ms: int) -> None:
        """Return at once."""

    def call_at(self, at_ms: int, call: Callable[[], None]) -> Timer:
        raise AssertionError(f"nobody calls {call} at {at_ms}")


def voter(node_id: int) -> Voter:
    """Return a voter of an id."""
    endpoint = Endpoint("CONTROLLER", f"node{node_id}", 9093)
    key = ReplicaKey(node_id, Uuid(bytes([node_id]) * 16))
    return Voter(key, (endpoint,), (0, 1))


THREE: Final = VoterSet.of(map(voter, (1, 2, 3)))
FOUR: Final = THREE.with_voter(voter(4))


def opened(
    machine: Machine, configured: VoterSet = NO_VOTERS, config: LogConfig = SMALL
) -> Storage:
    """Open what is on the machine's disk."""
    return run(Storage.open(machine.process, PATH, configured, StillClock(), config))


def leading(storage: Storage, epoch: int, node_id: int = 1) -> None:
    """Let a replica lead an epoch: the vote, then the epoch's first batch."""
    run(storage.persist(Election(epoch, node_id)))
    storage.append_leader_change(
        AppendLeaderChange(storage.end_offset, epoch, (1, 2, 3), (1, 2), None, None)
    )


def appended(storage: Storage, epoch: int, *values: bytes) -> None:
    """Append one batch as the leader of an epoch."""
    storage.append(storage.end_offset, epoch, values)


def filled(storage: Storage, epochs: int = 3, batches_each: int = 20) -> None:
    """Append batches of two records in several epochs, and flush."""
    for epoch in range(1, epochs + 1):
        leading(storage, epoch)
        for number in range(batches_each):
            appended(storage, epoch, b"a%d" % number * 10, b"b")
    run(storage.flush())


def everything(storage: Storage) -> bytes:
    """Return all batches of a log."""
    data = bytearray()
    offset, end = storage.outline.start_offset, storage.end_offset
    while offset < end:
        some = storage.read(offset, end, 1 << 20)
        data += some
        offset = list(batches(some))[-1][1].next_offset
    return bytes(data)


def headers(storage: Storage) -> list[BatchHeader]:
    """Return the headers of all batches of a log."""
    return [header for _, header in batches(everything(storage))]


def snapshot_bytes(
    snapshot: SnapshotId, *values: bytes, version: bytes | None = None, voters: bytes | None = None
) -> bytes:
    """Return a snapshot as another replica would send it."""
    header, footer = snapshot_header(5), snapshot_footer()
    return b"".join(snapshot_batches(snapshot.epoch, 1, header, values, footer, version, voters))


def receive(storage: Storage, snapshot: SnapshotId, data: bytes, piece: int = 100) -> None:
    """Receive a snapshot piece by piece."""
    run(storage.open_snapshot(snapshot))
    for position in range(0, len(data), piece):
        storage.store_part(snapshot, position, data[position : position + piece])


def path_of(snapshot: SnapshotId) -> str:
    """Return where a snapshot lies."""
    return f"{DIRECTORY}/{snapshot_name(snapshot)}"


def content_of(machine: Machine, path: str) -> bytes:
    """Return what a file holds."""
    file = machine.process.open(path, "read")
    return file.read(0, file.size())


def overwrite(machine: Machine, path: str, at: int, data: Buffer) -> None:
    """Change what a file holds, as rot does."""
    machine.process.open(path, "write").write(at, [data])
