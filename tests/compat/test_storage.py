"""Apache Kafka 4.3 and we format the same directories, and read each other's.

Formatting: both tools with the same words end the same way, with the same files; refusals have the
same words.  Looking: both say the same of any directory.  The vote, the log and the snapshots of a
replica are read by Kafka's own classes, its dump tool and its metadata shell; a node of Kafka runs
on a directory that we formatted, and goes on where we have led an epoch in between.
"""

import asyncio
import contextlib
import io
import re
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from barnabas.cli import storage as command
from barnabas.host.world import live
from barnabas.model.ids import ZERO_UUID, parse_uuid, uuid_text
from barnabas.node.bootstrap import read_bootstrap
from barnabas.node.meta_properties import Identity, identify
from barnabas.raft.effects import AppendLeaderChange
from barnabas.raft.outline import SnapshotId
from barnabas.raft.quorum_state import decode_election, encode_election
from barnabas.raft.states import Election
from barnabas.raft.storage import Storage
from barnabas.raft.voters import NO_VOTERS, ReplicaKey
from barnabas.records.batch import batches, header_at
from barnabas.records.record import records
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import encode_record
from tests.compat.kafka_node import CLUSTER_ID, Node
from tests.compat.kafka_tools import ToolFailed, tool
from tests.compat.log_judge import Judge
from tests.compat.storage_trees import tree

CLUSTER: Final = "XcZZOzUqS4yHOjhMQB6JLQ"
THREE: Final = (
    "0@localhost:8020:K90IZ-0DRNazJ49kCZ1EMQ,1@[::1]:8030:aUARLskQTCW4qCZDtS_cwA,"
    "2@localhost:8040:2ggvsS4kQb-fSJ_-zC_Ang"
)
GIVEN: Final = frozenset(parse_uuid(text.rpartition(":")[2]) for text in THREE.split(","))

CONTROLLER: Final = {
    "process.roles": "controller",
    "node.id": "0",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "CONTROLLER://localhost:9093",
    "log.dirs": "{place}/a,{place}/b",
}
MEMBER: Final = {
    **CONTROLLER,
    "controller.quorum.bootstrap.servers": "",
    "controller.quorum.voters": "0@localhost:9093,1@localhost:9094",
}
BROKER: Final = {
    "process.roles": "broker",
    "node.id": "7",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "0@localhost:9093",
    "log.dirs": "{place}/b,{place}/a",
}
COMBINED: Final = {
    **CONTROLLER,
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "metadata.log.dir": "{place}/m",
}
UNSTABLE: Final = {**BROKER, "unstable.feature.versions.enable": "true"}

SALTED: Final = (
    'SCRAM-SHA-256=[name=alice,password=alice-secret,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5"]'
)
HASHED: Final = 'SCRAM-SHA-512=[name=bob,iterations=8192,salt="N3E=",saltedpassword="YCE="]'


@dataclass(frozen=True)
class Case:
    """What a node is told, and the words behind ``format``."""

    lines: Mapping[str, str]
    words: tuple[str, ...] = ()
    before: Callable[[Path], object] = field(default=lambda place: None)

    def prepared(self, place: Path) -> list[str]:
        """Write the properties file below a place; return the words of the command."""
        place.mkdir(parents=True)
        self.before(place)
        file = place.parent / f"{place.name}.properties"
        text = "".join(f"{name}={said}\n" for name, said in self.lines.items())
        file.write_text(text.replace("{place}", str(place)))
        return ["format", "--config", str(file), "--cluster-id", CLUSTER, *self.words]


def made(name: str, content: str) -> Callable[[Path], object]:
    """Return what writes a file into the place before anything is formatted."""

    def make(place: Path) -> None:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    return make


FORMATTED: Final = made(
    "a/meta.properties",
    f"version=1\ncluster.id={CLUSTER}\nnode.id=7\ndirectory.id=K90IZ-0DRNazJ49kCZ1EMQ\n",
)

CASES: Final = {
    "a broker": Case(BROKER),
    "a member": Case(MEMBER),
    "a combined node, alone": Case(COMBINED, ("--standalone",)),
    "a controller, alone": Case(CONTROLLER, ("-s",)),
    "a controller that says kraft.version": Case(CONTROLLER, ("-s", "-f", "kraft.version=1")),
    "one of three": Case(CONTROLLER, ("--initial-controllers", THREE)),
    "none of three": Case({**CONTROLLER, "node.id": "9"}, ("-I", THREE)),
    "a controller that waits": Case(CONTROLLER, ("--no-initial-controllers",)),
    "a broker that waits": Case(
        {**BROKER, "controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "h:1"},
        ("-N",),
    ),
    **{
        f"release {release}": Case(BROKER, ("--release-version", release))
        for release in ("3.3", "3.5-IV2", "3.7.1", "3.9", "4.0", "4.0-IV1", "4.1", "4.2", "4.3")
    },
    "unstable": Case(UNSTABLE),
    "unstable by name": Case(UNSTABLE, ("-r", "4.4-IV0")),
    "a level": Case(BROKER, ("--feature", "metadata.version=20")),
    "levels": Case(BROKER, ("-f", "group.version=0", "-f", " share.version = 1 ", "-r", "4.0")),
    "an early level": Case(BROKER, ("-r", "4.0", "-f", "eligible.leader.replicas.version=1")),
    "passwords": Case(BROKER, ("--add-scram", SALTED, "-S", HASHED)),
    "some formatted": Case(BROKER, ("--ignore-formatted",), FORMATTED),
    "a file": Case(BROKER, (), made("b", "no directory")),
    "a broken directory": Case(BROKER, (), made("a/meta.properties", "version=9")),
    # --- refused ---
    "already": Case(BROKER, (), FORMATTED),
    "another node": Case({**BROKER, "node.id": "8"}, ("-g",), FORMATTED),
    "another cluster": Case(
        BROKER, ("-g",), made("a/meta.properties", "version=1\ncluster.id=x\nnode.id=7\n")
    ),
    "nothing left": Case({**BROKER, "log.dirs": "{place}/b"}, (), made("b", "no directory")),
    "no choice": Case(CONTROLLER),
    "static and alone": Case(MEMBER, ("-s",)),
    "static and initial": Case(MEMBER, ("-I", THREE)),
    "a broker, alone": Case(
        {**BROKER, "controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "h:1"},
        ("-s",),
    ),
    "unknown release": Case(BROKER, ("-r", "2.8")),
    "unstable release": Case(BROKER, ("-r", "4.4-IV0")),
    "unstable level": Case(BROKER, ("-f", "metadata.version=31")),
    "release and level": Case(BROKER, ("-r", "4.0", "-f", "metadata.version=25")),
    "unknown level": Case(BROKER, ("-f", "metadata.version=6")),
    "unknown feature": Case(BROKER, ("-f", "x.version=1")),
    "no feature": Case(BROKER, ("-f", "x.version")),
    "no number": Case(BROKER, ("-f", "group.version=x")),
    "a level too high": Case(BROKER, ("-f", "group.version=2")),
    "an unmet need": Case(BROKER, ("-r", "3.9", "-f", "eligible.leader.replicas.version=1")),
    "kraft.version of a member": Case(MEMBER, ("-f", "kraft.version=1")),
    "kraft.version 0 alone": Case(CONTROLLER, ("-s", "-f", "kraft.version=0")),
    "passwords too early": Case(BROKER, ("-r", "3.4", "-S", SALTED)),
    "a password of no mechanism": Case(BROKER, ("-S", "PLAIN=[name=a,password=b]")),
    "a password of nobody": Case(BROKER, ("-S", "SCRAM-SHA-256=[password=b]")),
    "a password too weak": Case(BROKER, ("-S", "SCRAM-SHA-256=[name=a,password=b,iterations=100]")),
    "a password and more": Case(BROKER, ("-S", "SCRAM-SHA-256=[name=a,password=b,c=d]")),
    "no voters": Case(CONTROLLER, ("-I", ",")),
    "a voter without place": Case(CONTROLLER, ("-I", "0@h")),
    "a voter twice": Case(CONTROLLER, ("-I", f"{THREE},{THREE}")),
    "two choices": Case(CONTROLLER, ("-s", "-N")),
    "no role": Case({**BROKER, "process.roles": "zookeeper"}),
    "no id": Case({name: said for name, said in BROKER.items() if name != "node.id"}),
    "a broker among the voters": Case({**BROKER, "node.id": "0"}),
    "a controller not among the voters": Case({**MEMBER, "node.id": "5"}),
    "no quorum": Case({**BROKER, "controller.quorum.voters": ""}),
    "a controller that serves clients": Case(
        {**CONTROLLER, "listeners": "CONTROLLER://:9093,PLAINTEXT://:9092"}, ("-s",)
    ),
    "no listener": Case({**CONTROLLER, "listeners": "PLAINTEXT://:9092"}, ("-s",)),
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """Start the process with Kafka's classes."""
    process = Judge("barnabas.Storage")
    yield process
    process.close()


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code, what it printed, why it refused."""

    exit: int
    said: str
    why: str

    def at(self, place: Path) -> "Outcome":
        """Return the outcome as it would be anywhere."""
        return Outcome(
            self.exit, self.said.replace(str(place), "·"), self.why.replace(str(place), "·")
        )


def ours(words: list[str]) -> Outcome:
    """Run our command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command.main(words)
        except SystemExit:
            # What argparse ends with; Kafka's parser says 1.
            return Outcome(1, "", "")
    why = err.getvalue().removeprefix("barnabas storage: ").strip()
    return Outcome(code, out.getvalue(), why)


def theirs(judge: Judge, words: list[str]) -> Outcome:
    """Run Kafka's command; an exception ends its process with 1."""
    answer = judge.order({"order": "tool", "words": words})
    why = str(answer.get("why", "")).removeprefix("requirement failed: ")
    # A set in Scala's words.
    why = re.sub(r"Set\(([\d, ]*)\)$", r"[\1]", why)
    return Outcome(answer.get("exit", 1), str(answer["said"]), why)


# What is said on the way: Kafka shows every record, passwords among them.
FORMATTING: Final = re.compile(r"^(?:Formatting|I/O error|All of the).*$", re.MULTILINE)


@pytest.mark.parametrize("name", CASES)
def test_both_tools_format_alike(name: str, judge: Judge, tmp_path: Path) -> None:
    case, here, there = CASES[name], tmp_path / "ours", tmp_path / "theirs"
    we, they = ours(case.prepared(here)).at(here), theirs(judge, case.prepared(there)).at(there)
    assert we.exit == they.exit, (we, they)
    assert we.why == they.why
    assert sorted(FORMATTING.findall(we.said)) == sorted(FORMATTING.findall(they.said))
    assert tree(here, GIVEN) == tree(there, GIVEN)


@pytest.mark.parametrize("name", ["a broker", "a combined node, alone", "one of three", "already"])
@pytest.mark.parametrize("formatter", ["ours", "theirs"])
def test_both_tools_look_alike_at_what_either_formatted(
    name: str, formatter: str, judge: Judge, tmp_path: Path
) -> None:
    case, place = CASES[name], tmp_path / "node"
    words = case.prepared(place)
    ours(words) if formatter == "ours" else theirs(judge, words)
    look = ["info", "--config", words[2]]
    assert ours(look) == theirs(judge, look)
    # Of several directories Kafka names any.
    any_of = re.compile(rf"{place}/[abm] ")
    again, they = ours(words), theirs(judge, words)
    assert (again.exit, any_of.sub("", again.why)) == (they.exit, any_of.sub("", they.why))
    assert "is already formatted" in again.why


@pytest.mark.parametrize(
    "content",
    [
        "version=1\ncluster.id=x\n",
        "version=1\nnode.id=7\n",
        "version=2\n",
        "version=one\n",
        "version=0\nbroker.id=7\ncluster.id=x\n",
        "# nothing\n",
        "version=1\nnode.id=x\ncluster.id=y\n",
        "version : 1\ncluster.id = a\\u0020b\nnode.id\t7\ndirectory.id=K90IZ-0DRNazJ49kCZ1EMQ\n",
        "version=1\ncluster.id=x\nnode.id=7\ndirectory.id=abc\n",
    ],
)
def test_both_tools_say_the_same_of_a_directory_that_is_odd(
    content: str, judge: Judge, tmp_path: Path
) -> None:
    case = Case(BROKER, before=made("a/meta.properties", content))
    words = ["info", "--config", case.prepared(tmp_path / "node")[2]]
    they = theirs(judge, words)
    # Kafka shows where in its code it was when a file made no sense.
    stack = ("\tat ", "\t... ", "java.lang.", "Caused by: ")
    told = [line for line in they.said.splitlines() if not line.startswith(stack)]
    assert ours(words).said.splitlines() == told


def test_both_tools_know_the_same_features(judge: Judge) -> None:
    for release in ("3.3", "3.8", "3.9", "4.0-IV1", "4.1", "4.2-IV0", "4.3", "4.4-IV0", "5.0"):
        words = ["version-mapping", "--release-version", release]
        assert ours(words) == theirs(judge, words)
    for level in ("metadata.version=17", "kraft.version=1", "transaction.version=2", "x=1",
                  "eligible.leader.replicas.version=1", "share.version=0"):  # fmt: skip
        words = ["feature-dependencies", "--feature", level]
        assert ours(words) == theirs(judge, words)


# --- the vote ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("leader_id", [None, 2])
@pytest.mark.parametrize("voted", [None, ReplicaKey(1, parse_uuid("J8aAPcfLQt2bqs1JT_rMgQ"))])
def test_a_vote_is_the_same_bytes(
    version: int, leader_id: int | None, voted: ReplicaKey | None, judge: Judge, tmp_path: Path
) -> None:
    election = Election(5, leader_id, voted)
    path = tmp_path / "quorum-state"
    order = {
        "path": str(path),
        "epoch": 5,
        "leader": -1 if leader_id is None else leader_id,
        "voted": -1 if voted is None else voted.id,
        "directory": uuid_text(ZERO_UUID if voted is None else voted.directory_id),
        "version": version,
        "voters": [1, 2, 3],
    }
    assert judge.order({"order": "elect", **order}) == {}
    theirs_ids = re.findall(rb'"voterId":(\d)', path.read_bytes())
    # A set has no order in Java, and ours none that matters.
    assert sorted(theirs_ids) == ([] if version else [b"1", b"2", b"3"])
    voters = tuple(map(int, theirs_ids)) or (1, 2, 3)
    assert path.read_bytes() == encode_election(election, version, voters)
    known = None if voted is None else ReplicaKey(1, voted.directory_id if version else ZERO_UUID)
    assert decode_election(path.read_bytes(), "here") == Election(5, leader_id, known)
    path.write_bytes(encode_election(election, version, (1, 2, 3)))
    found = judge.order({"order": "election", "path": str(path)})
    assert (found["epoch"], found["leader"], found["voted"]) == (5, order["leader"], order["voted"])


# --- the log and its snapshots -------------------------------------------------------------------


def in_world(work: Callable[[Runtime], Coroutine[Any, Any, None]]) -> None:
    """Do something in the world as it is."""
    asyncio.run(live("compat", work))


@dataclass(frozen=True)
class Summary:
    """What there is in a log, as the judge tells it."""

    end: int
    latest: str
    batches: tuple[str, ...]


def summary(storage: Storage, latest: SnapshotId) -> Summary:
    """Return what we know of a log."""
    data = bytearray()
    offset = storage.outline.start_offset
    while offset < storage.end_offset:
        some = storage.read(offset, storage.end_offset, 1 << 20)
        data += some
        offset = list(batches(some))[-1][1].next_offset
    told = (
        f"{header.base_offset} {header.last_offset} {header.leader_epoch} "
        f"{str(header.is_control).lower()} {header.crc}"
        for _, header in batches(bytes(data))
    )
    name = f"OffsetAndEpoch[offset={latest.end_offset}, epoch={latest.epoch}]"
    return Summary(storage.end_offset, name, tuple(told))


def judged(judge: Judge, directory: Path) -> Summary:
    """Return what Kafka knows of it."""
    found = judge.order({"order": "log", "directory": str(directory)})
    return Summary(found["end"], found["latest"], tuple(found["batches"]))


TOPIC: Final = encode_record(
    TopicRecord(name="orders", topic_id=parse_uuid("J8aAPcfLQt2bqs1JT_rMgQ")), 0
)
LEVEL: Final = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=30), 0)


def test_kafka_reads_our_log_and_our_snapshots(judge: Judge, tmp_path: Path) -> None:
    words = Case(CONTROLLER, ("-s",)).prepared(tmp_path / "node")
    assert ours(words).exit == 0
    directory = tmp_path / "node" / "a"
    told: list[Summary] = []

    async def write(runtime: Runtime) -> None:
        storage = await Storage.open(runtime.disk, str(directory), NO_VOTERS, runtime.clock)
        voters = storage.voters.current
        await storage.persist(Election(1, 0))
        storage.append_leader_change(AppendLeaderChange(0, 1, (0,), (0,), 1, voters))
        storage.voters.add_version(1, 1)
        storage.voters.add_voters(2, voters)
        storage.append(3, 1, [LEVEL])
        storage.append(4, 1, [TOPIC])
        await storage.flush()
        assert await storage.write_snapshot(SnapshotId(5, 1), [LEVEL, TOPIC], 1000)
        await storage.persist(Election(2, 0))
        storage.append_leader_change(AppendLeaderChange(5, 2, (0,), (0,), None, None))
        told.append(summary(storage, SnapshotId(5, 1)))
        await storage.close()

    in_world(write)
    log = directory / "__cluster_metadata-0"
    snapshot = log / "00000000000000000005-0000000001.checkpoint"
    decoder = "--cluster-metadata-decoder"
    dumped = tool("dump-log", decoder, "--files", f"{log}/{0:020d}.log,{snapshot}")
    for word in ("LeaderChange", "KRaftVoters", "SnapshotHeader", "TOPIC_RECORD", "orders"):
        assert word in dumped
    assert dumped.count("isvalid: true") == 4 + 3
    dumped = tool("dump-log", decoder, "--files", str(directory / "bootstrap.checkpoint"))
    assert "FEATURE_LEVEL_RECORD" in dumped
    assert "orders" in shell(snapshot, "ls", "/image/topics/byName")
    # Last, since Kafka's log belongs to Kafka once it was open.
    assert [judged(judge, log)] == told


def shell(snapshot: Path, *words: str) -> str:
    """Ask Kafka's metadata shell about a snapshot.

    It looks before its publisher was told of the image if its loader is quick, and waits for ever
    if the loader is done with the last records before the file's footer was read
    (MetadataShell.waitUntilCaughtUp): so it is asked again.
    """
    shown = ""
    for _ in range(4):
        with contextlib.suppress(ToolFailed):
            shown = tool("metadata-shell", "--snapshot", str(snapshot), *words, timeout_s=20)
        if shown.strip():
            break
    return shown


def identity_of(runtime: Runtime, node: Node) -> Coroutine[Any, Any, Identity]:
    """Ask the directory of a node who it is."""
    logs = str(node.logs)
    return identify(runtime.disk, runtime.entropy, "broker 1", 1, logs, (logs,))


def await_snapshot(node: Node, after: int) -> None:
    """Return when a node has written a snapshot that ends behind an offset."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        ends = [int(path.name[:20]) for path in node.metadata.glob("*.checkpoint")]
        if max(ends, default=0) > after:
            return
        time.sleep(0.2)
    raise AssertionError(f"no snapshot of {node}: {node.output()[-2000:]}")


def test_kafka_runs_on_what_we_formatted_and_goes_on_where_we_led(
    judge: Judge, tmp_path: Path
) -> None:
    node = Node(tmp_path, 1, "broker,controller")
    node.configure(
        {
            "controller.quorum.bootstrap.servers": node.controller,
            "metadata.log.max.snapshot.interval.ms": "1500",
        }
    )
    words = ["format", "-s", "--cluster-id", CLUSTER_ID, "--config", str(node.properties)]
    assert ours(words).exit == 0
    node.start()
    await_snapshot(node, 0)
    node.stop()
    led: dict[str, int] = {}

    async def lead(runtime: Runtime) -> None:
        who = await identity_of(runtime, node)
        assert who.cluster_id == CLUSTER_ID
        assert read_bootstrap(runtime.disk, str(node.logs)).levels["metadata.version"] == 30
        storage = await Storage.open(runtime.disk, str(node.logs), NO_VOTERS, runtime.clock)
        key = ReplicaKey(1, who.directory_ids[str(node.logs)])
        assert storage.voters.current.contains(key)
        election, latest = storage.election, storage.outline.latest_snapshot
        assert election is not None
        assert latest is not None
        assert latest.end_offset > 0
        inside = [bytes(each) for each in storage.read_snapshot(latest)]
        assert sum(len(list(records(data, 0, header_at(data)))) for data in inside) > 5
        epoch, at = election.epoch + 1, storage.end_offset
        await storage.persist(Election(epoch, 1))
        storage.append_leader_change(AppendLeaderChange(at, epoch, (1,), (1,), None, None))
        storage.append(at + 1, epoch, [LEVEL])
        await storage.flush()
        led.update(epoch=epoch, at=at)
        await storage.close()

    in_world(lead)
    node.start()
    await_snapshot(node, led["at"] + 2)
    node.stop()

    async def look(runtime: Runtime) -> None:
        storage = await Storage.open(runtime.disk, str(node.logs), NO_VOTERS, runtime.clock)
        assert storage.election is not None
        assert storage.election.epoch > led["epoch"]
        assert storage.outline.last_epoch > led["epoch"]
        latest = storage.outline.latest_snapshot
        assert latest is not None
        told = summary(storage, latest)
        await storage.close()
        found = judged(judge, node.metadata)
        assert (found.end, found.latest) == (told.end, told.latest)
        # We begin where the oldest snapshot ends, Kafka with its oldest segment.
        assert found.batches[-len(told.batches) :] == told.batches

    in_world(look)
