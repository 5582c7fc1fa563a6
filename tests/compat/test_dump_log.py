"""`barnabas dump-log` tells what Apache Kafka's `kafka-dump-log` tells, of its files and of ours.

Ours come from a random day of `log_workload`; Kafka's from a whole node that its own clients have
worked with. Every file is read by both tools: deep, index entries verified, sanity checked, and
what brokers wrote decoded. Lines have to be the same; Kafka must not complain about any file.

At the end our log opens the node's partitions, appends to them, and the node starts again on what
we left.
"""

import contextlib
import io
import json
import re
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from barnabas.cli import dump_log
from barnabas.records.builder import BLANK, built
from barnabas.records.record import Record
from tests.compat.kafka_node import Node, whole_node
from tests.compat.log_engines import Ours, Theirs
from tests.compat.log_judge import Answer, Judge, Order
from tests.compat.log_workload import PROFILES, Workload

KINDS: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
DECODERS: Final = {
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
}
NODE_TOPICS: Final = ("plain", "compacted", "transactional", *DECODERS)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """Kafka's classes, in one process for all tests here."""
    started = Judge()
    yield started
    started.close()


@pytest.fixture(scope="module")
def node(judge: Judge) -> Iterator[Node]:
    """A node that has seen some traffic and was stopped."""
    with TemporaryDirectory() as place:
        started = whole_node(Path(place))
        traffic(judge, started, round_=0)
        yield started
        started.stop()


def traffic(judge: Judge, node: Node, round_: int, clean: bool = True) -> Answer:
    """Start the node, let clients work with it, stop it or kill it."""
    node.start()
    try:
        order = {"order": "traffic", "bootstrap": node.bootstrap, "seed": round_, "round": round_}
        answer = judge.order(order)
        assert "error" not in answer, answer
        if not clean:
            node.kill()
        return answer
    finally:
        node.stop()


@cache
def our_directory(profile: str) -> TemporaryDirectory[str]:
    """Return a partition's directory after a day with us."""
    place: TemporaryDirectory[str] = TemporaryDirectory()
    workload, ours = Workload(profile, 7), Ours()
    ours.order(workload.opening(f"{place.name}/orders-0", clean=True))
    orders = workload.orders(250)
    order: Order | None = next(orders)
    while order is not None:
        try:
            order = orders.send(ours.order(order))
        except StopIteration:
            order = None
    ours.order({"order": "close"})
    ours.close()
    return place


# --- One file, read by both ---------------------------------------------------------------------


def our_rows(*words: str) -> list[dict[str, Any]]:
    """Return what our tool says."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = dump_log.main(["--json", *words])
    rows: list[dict[str, Any]] = [json.loads(line) for line in printed.getvalue().splitlines()]
    assert code == 0, [row for row in rows if row["type"] == "damage"]
    return rows


def their_lines(judge: Judge, path: Path, *words: str) -> list[str]:
    """Return what Kafka's tool says, without its headings; it must not complain."""
    answer = judge.order({"order": "dump", "words": ["--files", str(path), *words]})
    assert "error" not in answer, answer
    complaints = [line for line in answer["err"].splitlines() if not NO_COMPLAINT.match(line)]
    assert complaints == []
    return [line for line in answer["out"].splitlines() if not HEADING.match(line)]


NO_COMPLAINT: Final = re.compile(
    # Compaction, retention and segments that do not begin at 0 leave gaps.
    r"Non-consecutive offsets in |  -?\d+ is followed by \d+$|"
    # A batch that compaction has emptied has kept its time, but no record of that time.
    r"Found timestamp mismatch in |  Index timestamp: \d+, log timestamp: -1$"
)
HEADING: Final = re.compile(
    r"Dumping |Log starting offset|Snapshot end offset|KRaft bootstrap|.* is empty\.$"
)


def compare(judge: Judge, path: Path, decoder: str | None) -> None:
    """Compare what the two tools say of a file.

    Of a producer's last batch our snapshots know when it was, Kafka's only its last marker's time.
    """
    words = ["--deep-iteration"]
    if decoder is not None:
        words += ["--print-data-log", decoder]
    ours = [as_kafka_prints(row) for row in our_rows(*words, str(path)) if row["type"] != "file"]
    theirs = [unprinted(line) for line in their_lines(judge, path, *words)]
    for mine, other in zip(ours, theirs, strict=True):
        if path.suffix == ".snapshot":
            assert LAST_TIME.sub("", mine[0]) == LAST_TIME.sub("", other[0]), path
        else:
            assert mine == other, path


LAST_TIME: Final = re.compile(r" timestamp: -?\d+$")


def as_kafka_prints(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the line that Kafka prints, what is JSON in it apart."""
    match row["type"]:
        case "batch":
            horizon = row["deleteHorizonMs"]
            row["deleteHorizonMs"] = "OptionalLong" + (f"[{horizon}]" if horizon else ".empty")
            row[row["timestampType"]] = row["maxTimestamp"]
            row |= {"compresscodec": row["codec"], "isvalid": row["isValid"]}
            return (named(row, (*BATCH[:12], row["timestampType"], *BATCH[12:])),)
        case "record":
            row["headerKeys"] = f"[{','.join(row['headerKeys'])}]"
            names = ("keySize", "valueSize", "sequence", "headerKeys")
            head = f"offset: {row['offset']} time: {row['timestamp']} {named(row, names)}"
            return (head, *contents(row))
        case "producer":
            first = row["currentTxnFirstOffset"]
            shown = "OptionalLong.empty" if first is None else f"OptionalLong[{first}]"
            return (named(row | {"currentTxnFirstOffset": shown}, list(row)[2:]),)
        case "index" | "timeindex":
            return (named(row, list(row)[2:]),)
        case "txnindex":
            return (named({"version": 0, **row}, ("version", *list(row)[2:])),)
        case other:
            raise AssertionError(other)


BATCH: Final = (
    *("baseOffset", "lastOffset", "count", "baseSequence", "lastSequence", "producerId"),
    *("producerEpoch", "partitionLeaderEpoch", "isTransactional", "isControl"),
    *("deleteHorizonMs", "position", "size", "magic", "compresscodec", "crc", "isvalid"),
)


def named(row: dict[str, Any], names: tuple[str, ...] | list[str]) -> str:
    """Return names and values as Java prints them."""
    texts = {True: "true", False: "false"}
    return " ".join(
        f"{name}: {texts[row[name]] if isinstance(row[name], bool) else row[name]}"
        for name in names
    )


CONTROLS: Final = {
    "LEADER_CHANGE": "LeaderChange",
    "SNAPSHOT_HEADER": "SnapshotHeader",
    "SNAPSHOT_FOOTER": "SnapshotFooter",
    "KRAFT_VERSION": "KRaftVersion",
    "KRAFT_VOTERS": "KRaftVoters",
}


def contents(row: dict[str, Any]) -> list[str]:
    """Return what is said of a record's key and value, as comparable text."""
    assert "failure" not in row, row
    if row.get("control") in ("ABORT", "COMMIT"):
        return [f"{row['control']} {row['payload']['coordinatorEpoch']}"]
    if "control" in row:
        return [CONTROLS[row["control"]], canonical(row["payload"])]
    said = []
    if row.get("key") is not None:
        said.append("key " + canonical(row["key"]))
    if "payload" in row:
        said.append("payload " + canonical(row["payload"]))
    return said


def canonical(told: Any) -> str:  # noqa: ANN401 - as free as JSON
    """Return JSON in one spelling."""
    return told if isinstance(told, str) else json.dumps(told, sort_keys=True)


LINE: Final = re.compile(
    r"\| (offset: \d+) (?:CreateTime|LogAppendTime): (-?\d+) "
    r"(keySize: -?\d+ valueSize: -?\d+ sequence: -?\d+ headerKeys: \[.*?\])(.*)"
)
MARKER: Final = re.compile(r" endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)")
CONTROL: Final = re.compile(r" (LeaderChange|SnapshotHeader|SnapshotFooter|KRaft\w+):? (\{.*)")
DATA: Final = re.compile(r"(?: key: (\{.*?\}))?(?: payload: (.*))?")


def unprinted(line: str) -> tuple[str, ...]:
    """Take a line of Kafka's apart as `as_kafka_prints` does."""
    found = LINE.fullmatch(line)
    if found is None:
        return (line,)
    offset, timestamp, sizes, rest = found.groups()
    head = f"{offset} time: {timestamp} {sizes}"
    if marker := MARKER.fullmatch(rest):
        return (head, f"{marker[1]} {marker[2]}")
    if control := CONTROL.fullmatch(rest):
        return (head, control[1], canonical(json.loads(control[2])))
    said = []
    key, payload = ("", rest) if " payload: " not in rest else rest.split(" payload: ", 1)
    if key:
        said.append("key " + canonical(json.loads(key.removeprefix(" key: "))))
    if payload:
        told = payload if payload == "<DELETE>" else json.loads(payload)
        said.append("payload " + canonical(told))
    return (head, *said)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != ".checkpoint"])
@pytest.mark.parametrize("profile", PROFILES)
def test_both_tools_tell_the_same_of_our_files(judge: Judge, profile: str, kind: str) -> None:
    paths = sorted(Path(our_directory(profile).name, "orders-0").glob(f"*{kind}"))
    assert paths
    for path in paths:
        compare(judge, path, None)


@pytest.mark.parametrize("words", ["--index-sanity-check", "--verify-index-only"])
@pytest.mark.parametrize("profile", PROFILES)
def test_kafka_finds_our_indexes_sound(judge: Judge, profile: str, words: str) -> None:
    place = Path(our_directory(profile).name, "orders-0")
    for path in sorted((*place.glob("*.index"), *place.glob("*.timeindex"))):
        assert all("passed" in line for line in their_lines(judge, path, words))
    assert our_rows("--verify-index", str(place))


@pytest.mark.parametrize("topic", NODE_TOPICS)
def test_both_tools_tell_the_same_of_a_nodes_files(judge: Judge, node: Node, topic: str) -> None:
    paths = [path for path in sorted(node.logs.glob(f"{topic}-*/*")) if path.suffix in KINDS]
    assert paths
    for path in paths:
        is_log = path.suffix in (".log", ".checkpoint")
        compare(judge, path, DECODERS.get(topic) if is_log else None)


def test_a_nodes_whole_directory_is_read(node: Node) -> None:
    rows = our_rows("--deep", "--verify-index", str(node.logs))
    kinds = {row["kind"] for row in rows if row["type"] == "file"}
    assert kinds >= {
        "mark of a clean shutdown",
        "leader epochs",
        "topic id",
        "offsets of partitions",
    }
    assert kinds >= {"state of the quorum's election", "properties of the node"}
    assert any(row["type"] == "cleanShutdown" and row["brokerEpoch"] > 0 for row in rows)


# --- Our log on a node's directories ------------------------------------------------------------


@pytest.mark.parametrize("stop", ["clean", "killed"])
def test_a_node_goes_on_with_partitions_that_we_appended_to(
    judge: Judge, node: Node, stop: str
) -> None:
    clean = stop == "clean"
    if not clean:
        traffic(judge, node, round_=1, clean=False)
        assert not (node.logs / ".kafka_cleanshutdown").exists()
        # The indexes that were open are longer than what is in them, which is no damage.
        assert any(row["type"] == "reserved" for row in our_rows("--deep", str(node.logs)))
    for place in sorted(node.logs.glob("*-[0-9]")):
        if not place.name.startswith("__"):
            append_one(judge, node, place, clean)
    (node.logs / ".kafka_cleanshutdown").unlink(missing_ok=True)
    answer = traffic(judge, node, round_=2)
    # Both groups had committed; what they read now is new, and one record of ours a partition.
    assert answer["classic"] > 4
    assert answer["consumer"] > 4
    said = our_rows("--print-data", str(node.logs))
    assert {
        row["file"].split("/")[-2] for row in said if row.get("payload") == f"from us, {clean}"
    } >= {f"{topic}-{partition}" for topic in ("plain", "transactional") for partition in (0, 1)}


def append_one(judge: Judge, node: Node, place: Path, clean: bool) -> None:
    """Open one of a node's partitions, compare it with what Kafka's log finds, and append to it."""
    ours, theirs = Ours(), Theirs(judge)
    now = time.time_ns() // 1_000_000
    opening = opened(node, place, now) | {"clean": clean}
    with TemporaryDirectory() as copies:
        copy = shutil.copytree(place, Path(copies, place.name))
        theirs.order(opening | {"directory": str(copy)})
        other = theirs.order({"order": "state"})
        theirs.order({"order": "close"})
    ours.order(opening)
    mine = ours.order({"order": "state"})
    for name in ("startOffset", "endOffset", "epochs", "segments", "batches"):
        assert mine[name] == other[name], place.name
    data = built(BLANK, [Record(0, now, b"key 1", f"from us, {clean}".encode())])
    order = {"order": "append", "records": data.hex(), "leaderEpoch": mine["epochs"][-1][0]}
    assert ours.order(order)["first"] == mine["endOffset"]
    ours.order({"order": "close"})
    ours.close()


def opened(node: Node, place: Path, now: int) -> Order:
    """Return the order to open one of a node's partitions, as its checkpoints say."""
    topic, _, partition = place.name.rpartition("-")
    rows = our_rows(str(node.logs / "recovery-point-offset-checkpoint"))
    points = {(row.get("topic"), row.get("partition")): row["offset"] for row in rows[1:]}
    return {
        "order": "open",
        "directory": str(place),
        "config": {"index.interval.bytes": "256"},
        "segmentBytes": 1 << 20,
        "clean": True,
        "recoveryPoint": points.get((topic, int(partition)), 0),
        "startOffset": 0,
        "now": now,
    }
