"""The quorum on this machine: real voters in processes of their own, beside the disk's own limit.

*Committed*: writers at the leader put one value after the other, each of about 100 bytes, and wait
until a majority of three voters has it on its disk.  Beside it, one file to which as many writers
append, with one ``fdatasync`` for all who wait: what a single disk could do without a quorum.

*Coming back*: a follower is killed, and started again when the log begins behind its end: how long
it takes from its start until its state is that of a snapshot of the leader's.

*Without a leader*: the leader is killed (-9), and time runs from the kill to the first commit of
its successor.  A follower notices when its fetch timeout is over and asks for votes at once, so
that the timeout is the floor; the figures are given as what comes on top of it.  After each kill
the voter is started again.  Everything that was acknowledged has to be in every log in the end:
a bench that finds something lost fails.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, Queue
from statistics import median
from typing import Any, Final

from barnabas.model.errors import CorruptLog
from barnabas.records.batch import CorruptBatch, batches
from barnabas.records.record import records
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.metadata_records import decode_record
from benchmarks.report import Row
from benchmarks.voter import FETCH_TIMEOUT_MS

ROOT: Final = Path(__file__).parent.parent
METADATA: Final = "__cluster_metadata-0"

WRITERS: Final = (1, 16, 64)
MEASURED_S: Final = 2.0
VALUE_BYTES: Final = 100

KILLS: Final = {3: 100, 5: 100}
KILL_WRITERS: Final = 4
# What a few hundred acknowledgements write.
SNAPSHOT_BYTES: Final = 20_000
PAUSE_MS: Final = 5
# Between two kills, once the killed one is back: a few hundred acknowledgements.
WORK_S: Final = 0.5
PATIENCE_S: Final = 30.0

Line = dict[str, Any]


def run(repetitions: int) -> Iterator[Row]:
    """Measure commits, then kill leaders."""
    for writers in WRITERS:
        yield committed(writers, repetitions)
    yield back_by_snapshot()
    for voters, kills in KILLS.items():
        yield from without_leader(voters, kills)


# --- Real voters ---------------------------------------------------------------------------------


class Voters:
    """Voters in processes of their own, over one temporary directory."""

    def __init__(self, count: int, writers: int, *options: str) -> None:
        self.lines: Final[Queue[tuple[int, Line]]] = Queue()
        self._stack: Final = ExitStack()
        self.place: Final = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._words: Final = [str(writers), *map(str, free_ports(count)), *options]
        self.processes: Final[dict[int, subprocess.Popen[str]]] = {}
        for node_id in range(count):
            (self.place / str(node_id)).mkdir()
            self.start(node_id)

    def __enter__(self) -> "Voters":
        return self

    def __exit__(self, *_: object) -> None:
        for node_id in list(self.processes):
            self.kill(node_id)
        self._stack.close()

    def start(self, node_id: int) -> None:
        """Start a voter and read what it prints."""
        words = [str(node_id), str(self.place / str(node_id)), *self._words]
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.voter", *words],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.processes[node_id] = process
        threading.Thread(target=self._read, args=(node_id, process), daemon=True).start()

    def _read(self, node_id: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None, "a voter prints into a pipe"
        for line in process.stdout:
            self.lines.put((node_id, json.loads(line)))

    def kill(self, node_id: int) -> int:
        """Kill a voter without a warning; return when, by the monotonic clock."""
        process = self.processes.pop(node_id)
        process.kill()
        at_ns = time.monotonic_ns()
        process.wait()
        return at_ns

    def next_line(self, deadline: float) -> tuple[int, Line]:
        """Return what a voter says next."""
        try:
            return self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            dead = {node: each.returncode for node, each in self.processes.items() if each.poll()}
            raise TimeoutError(f"no voter has said what was waited for; ended: {dead}") from None


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [server.getsockname()[1] for server in servers]


# --- Commits -------------------------------------------------------------------------------------


def committed(writers: int, repetitions: int) -> Row:
    """Count what is acknowledged by three voters, and what one disk could do."""
    ours, theirs = [], []
    with Voters(3, writers, "--quiet") as voters:
        deadline = time.monotonic() + PATIENCE_S
        while "tally" not in voters.next_line(deadline)[1]:
            pass
        for _ in range(repetitions):
            ours.append(tallied(voters))
            theirs.append(flushed(writers, voters.place))
    case = f"committed by 3 voters, {writers} writers"
    return Row(
        "raft", case, "commits/s", median(ours), median(theirs), "group fdatasync", "", "more"
    )


def tallied(voters: Voters) -> float:
    """Return acknowledgements per second, over a while that begins now."""
    while not voters.lines.empty():
        voters.lines.get()
    until = time.monotonic() + MEASURED_S
    count, ns = 0, 0
    while time.monotonic() < until:
        _, line = voters.next_line(until + PATIENCE_S)
        count += line.get("tally", 0)
        ns += line.get("ns", 0)
    return count * 1e9 / ns


def flushed(writers: int, place: Path) -> float:
    """Return values per second that one file takes, all writers sharing each flush."""
    fd = os.open(place / "raw", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    group = bytes(VALUE_BYTES) * writers
    count, began = 0, time.monotonic()
    while time.monotonic() - began < MEASURED_S / 4:
        os.write(fd, group)
        os.fdatasync(fd)
        count += writers
    took = time.monotonic() - began
    os.close(fd)
    return count / took


# --- Coming back ---------------------------------------------------------------------------------


def back_by_snapshot() -> Row:
    """Keep a follower down until the log begins behind its end, and see it begin anew."""
    acknowledged: dict[tuple[int, int, int], None] = {}
    size = str(SNAPSHOT_BYTES)
    with Voters(3, KILL_WRITERS, "--pause-ms", str(PAUSE_MS), "--snapshot-bytes", size) as voters:
        leader, _ = successor(voters, acknowledged)
        follower = next(node_id for node_id in voters.processes if node_id != leader)
        work(voters, acknowledged, WORK_S)
        voters.kill(follower)
        work(voters, acknowledged, 4 * WORK_S)
        began_ns = time.monotonic_ns()
        voters.start(follower)
        deadline = time.monotonic() + PATIENCE_S
        behind = len(acknowledged)
        while True:
            sender, line = voters.next_line(deadline)
            note(line, acknowledged)
            if sender == follower and line.get("loaded", 0) >= behind:
                break
    took_ms = (line["at_ns"] - began_ns) / 1e6
    case = "a follower that missed a log cleaning has its snapshot"
    return Row("raft", case, "ms", took_ms, None, "from its start", "", "less")


# --- Kills ---------------------------------------------------------------------------------------


def without_leader(count: int, kills: int) -> Iterator[Row]:
    """Kill leader after leader, and see that nothing is lost that was acknowledged."""
    acknowledged: dict[tuple[int, int, int], None] = {}
    gaps_ms = []
    with Voters(count, KILL_WRITERS, "--pause-ms", str(PAUSE_MS)) as voters:
        leader, _ = successor(voters, acknowledged)
        for _ in range(kills):
            work(voters, acknowledged, WORK_S)
            killed_ns = voters.kill(leader)
            former = leader
            leader, first_ns = successor(voters, acknowledged)
            gaps_ms.append((first_ns - killed_ns) / 1e6)
            voters.start(former)
            rejoined(voters, former, acknowledged)
        work(voters, acknowledged, WORK_S)
        lost = settle(voters, count, acknowledged)
        assert not any(lost), f"of {len(acknowledged)} acknowledged, voters have lost {lost}"
    floor_ms = FETCH_TIMEOUT_MS
    what = f"{count} voters, {kills} kills of the leader"
    told = f"fetch timeout {floor_ms} ms"
    over = [gap - floor_ms for gap in sorted(gaps_ms)]
    p99 = over[min(len(over) - 1, len(over) * 99 // 100)]
    yield Row(
        "raft",
        f"{what}: acknowledged, none lost",
        "records",
        len(acknowledged),
        None,
        "",
        "",
        "more",
    )
    yield Row(
        "raft", f"{what}: beyond the timeout, p50", "ms", median(over), None, told, "", "less"
    )
    yield Row("raft", f"{what}: beyond the timeout, p99", "ms", p99, None, told, "", "less")


def note(line: Line, acknowledged: dict[tuple[int, int, int], None]) -> None:
    """Remember an acknowledgement."""
    if "writer" in line:
        acknowledged[line["writer"], line["epoch"], line["number"]] = None


def successor(voters: Voters, acknowledged: dict[tuple[int, int, int], None]) -> tuple[int, int]:
    """Return who commits for the first time in an epoch, and when."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        node_id, line = voters.next_line(deadline)
        note(line, acknowledged)
        if "first" in line and node_id in voters.processes:
            return node_id, line["at_ns"]


def work(voters: Voters, acknowledged: dict[tuple[int, int, int], None], seconds: float) -> None:
    """Let the leader work for a while."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        note(voters.next_line(until + PATIENCE_S)[1], acknowledged)


def rejoined(voters: Voters, node_id: int, acknowledged: dict[tuple[int, int, int], None]) -> None:
    """Return when a voter that was started knows its leader."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        sender, line = voters.next_line(deadline)
        note(line, acknowledged)
        if sender == node_id and line.get("leader") is not None:
            return


def settle(voters: Voters, count: int, acknowledged: dict[tuple[int, int, int], None]) -> list[int]:
    """Let the writing end and everybody have everything; return how much each has lost."""
    for process in voters.processes.values():
        process.send_signal(signal.SIGUSR1)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with suppress(Empty):
            while True:
                note(voters.lines.get(timeout=WORK_S)[1], acknowledged)
        held = [kept(voters.place / str(node_id) / METADATA) for node_id in range(count)]
        lost = [sum(each not in here for each in acknowledged) for here in held]
        if not any(lost) or time.monotonic() > deadline:
            return lost


def kept(directory: Path) -> dict[tuple[int, int, int], None]:
    """Return every value in a log, by writer, epoch and number."""
    found: dict[tuple[int, int, int], None] = {}
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        try:
            for position, header in batches(data):
                if header.is_control:
                    continue
                for record in records(data, position, header):
                    message, _ = decode_record(bytes(record.value or b""))
                    if isinstance(message, ConfigRecord):
                        writer, epoch, number, _ = (message.value or "").split("-")
                        found[int(writer), int(epoch), int(number)] = None
        except (CorruptBatch, CorruptLog):
            # What a kill has left unfinished, or reserved space: the log ends here.
            continue
    return found
