"""One voter in a process of its own, with a table on its log, for the bench of the quorum.

    python -m benchmarks.voter ID DIRECTORY WRITERS PORT PORT ...

Voter ID listens on its port of those.  Whenever it leads, WRITERS writers put one value after the
other, each waiting for its commit.  Every line it prints is a JSON object:

    {"leader": 2, "epoch": 3}              what it knows of who leads
    {"first": 3, "at_ns": …}               its first commit of an epoch, by the monotonic clock
    {"writer": 0, "epoch": 3, "number": 17}      acknowledged
    {"loaded": 4711, "at_ns": …}           it has begun with a snapshot that ends there
    {"tally": 1200, "ns": …}               acknowledged since the last such line, in quiet mode

SIGUSR1 ends the writing, and nothing else.  With ``--quiet`` it tells tallies and not each
acknowledgement; with ``--pause-ms`` writers wait between two values; with ``--snapshot-bytes`` each
voter takes a snapshot after so many bytes, and nobody keeps an older one, or the log before it.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from barnabas.host.world import live
from barnabas.model.errors import Refused
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.node.member import Member, open_member
from barnabas.raft.config import RaftConfig
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.statelog.decision import Decision
from barnabas.statelog.shell import StateLog
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.metadata_records import decode_record, encode_record

CLUSTER: Final = "YmVuY2gtb2YtYS1xdW9ydQ"
PADDING: Final = "x" * 80
TALLY_MS: Final = 200

# Kafka's default, as everything else about the quorum.
FETCH_TIMEOUT_MS: Final = 2_000


@value
class Table:
    """The last value of every writer."""

    rows: tuple[str, ...] = ()

    def apply(self, records: Sequence[ConfigRecord]) -> "Table":
        """Return the table with some values changed."""
        rows = list(self.rows)
        for record in records:
            at = int(record.name)
            rows += ("" for _ in range(at + 1 - len(rows)))
            rows[at] = record.value or ""
        return Table(tuple(rows))


class Board:
    """The table's side of the log: folds it, and writes while this node leads."""

    def __init__(self, runtime: Runtime, own_id: int, asked: argparse.Namespace) -> None:
        self._runtime: Final = runtime
        self._own_id: Final = own_id
        self._writers: Final[int] = asked.writers
        self._quiet: Final[bool] = asked.quiet
        self._pause_ms: Final[int] = asked.pause_ms
        self._snapshot_bytes: Final[int] = asked.snapshot_bytes
        self._bytes_since_snapshot = 0
        self._tasks: Final = runtime.tasks.child("board")
        self._tally, self._tally_ns = 0, 0
        self.is_done = False
        self._member: Member
        self.states: StateLog[Table, ConfigRecord]

    def finish(self) -> None:
        """Write no more."""
        self.is_done = True

    def attach(self, member: Member) -> None:
        """Learn which log it stands on."""
        self._member = member
        self.states = StateLog(member.quorum, Table(), partial(encode_record, version=0))
        member.quorum.listen(self)

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot."""
        table = Table()
        for batch in batches:
            table = table.apply(records_of(batch))
        self.states.on_loaded(table)
        tell({"loaded": snapshot.end_offset, "at_ns": self._runtime.clock.now_ns()})

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Fold what is committed."""
        for batch in batches:
            self.states.on_committed(records_of(batch))
            self._bytes_since_snapshot += batch.size_bytes
        if 0 < self._snapshot_bytes <= self._bytes_since_snapshot:
            self._bytes_since_snapshot = 0
            last = batches[-1]
            values = [
                encode_record(ConfigRecord(resource_type=4, name=str(at), value=text), 0)
                for at, text in enumerate(self.states.committed.rows)
            ]
            snapshot = SnapshotId(last.end_offset, last.epoch)
            await self._member.quorum.write_snapshot(snapshot, values, last.append_ms)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Begin to write, or stop."""
        tell({"leader": leader_id, "epoch": epoch})
        if self.states.epoch is not None:
            self.states.on_resigned()
        if leader_id == self._own_id:
            self.states.on_claimed(epoch)
            self._tally, self._tally_ns = 0, self._runtime.clock.now_ns()
            for writer in range(self._writers):
                self._tasks.spawn(self._write(writer, epoch), f"writer-{writer}-{epoch}")

    async def _write(self, writer: int, epoch: int) -> None:
        number = 0
        while self.states.epoch == epoch and not self.is_done:
            text = f"{writer}-{epoch}-{number}-{PADDING}"
            record = ConfigRecord(
                resource_type=4, resource_name=str(self._own_id), name=str(writer), value=text
            )
            try:
                await self.states.submit(partial(put, record))
            except Refused:
                return
            if number == 0 and writer == 0:
                tell({"first": epoch, "at_ns": self._runtime.clock.now_ns()})
            self._acknowledged(writer, epoch, number)
            number += 1
            if self._pause_ms:
                await self._runtime.clock.sleep_ms(self._pause_ms)

    def _acknowledged(self, writer: int, epoch: int, number: int) -> None:
        if not self._quiet:
            tell({"writer": writer, "epoch": epoch, "number": number})
            return
        self._tally += 1
        now_ns = self._runtime.clock.now_ns()
        if now_ns - self._tally_ns >= TALLY_MS * 1_000_000:
            tell({"tally": self._tally, "ns": now_ns - self._tally_ns})
            self._tally, self._tally_ns = 0, now_ns


def put(record: ConfigRecord, table: Table, next_offset: int) -> Decision[ConfigRecord, None]:
    """Decide to change a value: nothing speaks against it."""
    return Decision((record,), None)


def records_of(batch: OpenedBatch) -> list[ConfigRecord]:
    """Return the records of a batch."""
    found = [decode_record(bytes(data))[0] for data in batch.values]
    return [record for record in found if isinstance(record, ConfigRecord)]


def tell(line: dict[str, object]) -> None:
    """Print one line, whole and at once: what the pipe has, survives this process."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def directory_of(node_id: int) -> Uuid:
    """Return a voter's directory id: the voters have to be known before anything is formatted."""
    return Uuid(bytes(15) + bytes([node_id + 100]))


async def run(runtime: Runtime, asked: argparse.Namespace) -> None:
    """Live until killed."""
    node_id: int = asked.id
    endpoints = [(Endpoint("CONTROLLER", "127.0.0.1", port),) for port in asked.ports]
    voters = VoterSet.of(
        Voter(ReplicaKey(each), endpoint) for each, endpoint in enumerate(endpoints)
    )
    own = ReplicaKey(node_id, directory_of(node_id))
    config = RaftConfig(
        own,
        CLUSTER,
        endpoints[node_id],
        fetch_timeout_ms=FETCH_TIMEOUT_MS,
        retention_bytes=0 if asked.snapshot_bytes else -1,
    )
    address = Address("127.0.0.1", asked.ports[node_id])
    board = Board(runtime, node_id, asked)
    board.attach(await open_member(runtime, config, asked.directory, [address], voters))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, board.finish)
    await loop.create_future()


def main() -> None:
    """Run one voter."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voter", description=__doc__)
    parser.add_argument("id", type=int)
    parser.add_argument("directory")
    parser.add_argument("writers", type=int)
    parser.add_argument("ports", type=int, nargs="+")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--pause-ms", type=int, default=0)
    parser.add_argument("--snapshot-bytes", type=int, default=0)
    asked = parser.parse_args()
    asyncio.run(live(f"voter {asked.id}", partial(run, asked=asked)))


if __name__ == "__main__":
    main()
