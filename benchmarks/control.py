"""The controller beside Apache Kafka's: the same requests, over the same wire client, in one run.

Controllers are whole processes on loopback, with their usual settings but for the session's time;
brokers are played: they register, send heartbeats, and have no data.  Kafka's controllers run as
they would for an operator, both compilers on, and are warmed up with what is measured.

*Topics*: 1,000 created by requests of one topic each, a few at a time, and in one request.

*Fencing*: a broker that leads 10,000 partitions falls silent while the others go on.  From the end
of its session to the commit of the last partition's new leader; how often a controller looks is in
it.  *Unregistering* another that leads as many is the same work without the waiting.

*Heartbeats*: 1,000 brokers over 100 connections, each asking again when it was answered.

*Activation*: the leader of three is killed (-9) when there are 100,000 partitions; from there to
the first commit that a client is told of by the next leader, without the time after which a
follower misses a leader.

What deciders take alone, without a log or a network, is measured by ``deciding``.
"""

import os
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final, Literal, cast

from barnabas.model.errors import ErrorCode
from barnabas.model.features import supported_levels
from barnabas.model.ids import Uuid
from barnabas.wire.connection import ClientConnection
from barnabas.wire.frames import SIZE, SIZE_BYTES, request_frame
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from barnabas.wire.structs import Request, Response
from benchmarks.report import Row
from tests.compat.controllers import QUIET, Controllers, describe, write_metadata
from tests.compat.kafka_node import CLUSTER_ID, LOGGED, Node
from tests.compat.kafka_tools import java
from tests.compat.our_node import OurNode

TOPICS: Final = 1_000
PARTITIONS: Final = 3
WARM_UP: Final = 300
LINES: Final = 32

LED: Final = 10_000
TAKEN: Final = 9_000
"""As many as Kafka takes away by one request, in thousands: its limit is 10,000 records."""
TOPIC_PARTITIONS: Final = 1_000
"""How many partitions a large topic has."""

BROKERS: Final = 1_000
HEARTBEAT_LINES: Final = 100
MEASURED_S: Final = 4.0

HELD: Final = 100_000
FETCH_TIMEOUT_MS: Final = 2_000
"""Kafka's default, and ours."""

SHORT_SESSION_MS: Final = 3_000
LONG_SESSION_MS: Final = 600_000
"""Nobody is fenced whose heartbeats are not what is measured."""

HEARTBEAT_S: Final = 0.5
PATIENCE_S: Final = 120.0
POLL_S: Final = 0.002

VERSIONS: Final[dict[type[Request], int]] = {
    BrokerRegistrationRequest: 4,
    BrokerHeartbeatRequest: 1,
    CreateTopicsRequest: 7,
    UnregisterBrokerRequest: 0,
    DescribeQuorumRequest: 2,
}
"""Either controller serves these."""

FAR: Final = 1 << 40
"""How far a played broker says that it has read: everything."""


class GrownNode(Node):
    """Kafka's controller as an operator runs it."""

    def command(self) -> list[str]:
        """Return the words that start the process."""
        grown = ["-Xmx2g", "-XX:TieredStopAtLevel=4"]
        return [*java("kafka.Kafka", LOGGED, *grown), str(self.properties)]


def run(repetitions: int) -> Iterator[Row]:
    """Measure ours and Kafka's in turn."""
    for measure in (created, fenced, answered, activated):
        ours, theirs = measured(measure, repetitions)
        for (case, unit, better), figure in ours.items():
            rival = theirs[case, unit, better]
            yield Row("control", case, unit, figure, rival, "Kafka 4.3.1", ">= 1", better)


Figures = dict[tuple[str, str, Literal["more", "less"]], float]


def measured(
    measure: Callable[[type[Node], Path], Figures], repetitions: int
) -> tuple[Figures, Figures]:
    """Return the medians of ours and of theirs."""
    sides: tuple[list[Figures], list[Figures]] = ([], [])
    for _ in range(repetitions):
        for kind, found in zip((OurNode, GrownNode), sides, strict=True):
            with tempfile.TemporaryDirectory() as place:
                found.append(measure(kind, Path(place)))
    ours, theirs = (
        {case: median(each[case] for each in found) for case in found[0]} for found in sides
    )
    return ours, theirs


# --- topics ---------------------------------------------------------------------------------------


def created(kind: type[Node], place: Path) -> Figures:
    """Create topics, one a request and all in one."""
    with quorum(kind, place, 1) as controllers:
        to = controllers.leader().controller
        join(to, range(1, 4))
        lines = [Line(to) for _ in range(LINES)]
        all_created(every(lines, [topics([f"warm-{number}"]) for number in range(WARM_UP)]))
        requests = [topics([f"single-{number}"]) for number in range(TOPICS)]
        began = time.monotonic()
        answers = every(lines, requests)
        single_s = time.monotonic() - began
        all_created(answers)
        began = time.monotonic()
        answer = lines[0].ask(topics([f"whole-{number}" for number in range(TOPICS)]))
        whole_s = lines[0].received_s - began
        all_created([answer])
    return {
        (f"{TOPICS} topics, one a request, {LINES} connections", "topics/s", "more"): (
            TOPICS / single_s
        ),
        (f"{TOPICS} topics in one request", "ms", "less"): whole_s * 1e3,
    }


def topics(names: Sequence[str]) -> CreateTopicsRequest:
    """Return a request for small topics."""
    return CreateTopicsRequest(
        topics=[
            CreateTopicsRequest.CreatableTopic(
                name=name, num_partitions=PARTITIONS, replication_factor=3
            )
            for name in names
        ],
        timeout_ms=60_000,
    )


def large_topic(name: str, replicas: Sequence[int]) -> CreateTopicsRequest:
    """Return a request for a topic of many partitions, all with the same replicas."""
    assigned = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=replicas)
        for index in range(TOPIC_PARTITIONS)
    ]
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=assigned
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=60_000)


def all_created(answers: Sequence[Response]) -> None:
    """See that every topic of some answers is there."""
    for answer in answers:
        for each in cast(CreateTopicsResponse, answer).topics:
            check(each.error_code, f"{each.name}: {each.error_message}")


# --- brokers that are silent, or go ---------------------------------------------------------------


def fenced(kind: type[Node], place: Path) -> Figures:
    """Let a broker that leads much fall silent, and take away another."""
    with quorum(kind, place, 1, {"broker.session.timeout.ms": str(SHORT_SESSION_MS)}) as it:
        to = it.leader().controller
        line = Line(to)
        # Two of six warm up what the others measure.
        alive = join(to, range(1, 7))
        for count, leader in ((LED, 1), (TAKEN, 2), (TAKEN, 5), (TAKEN, 6)):
            for number in range(count // TOPIC_PARTITIONS):
                if time.monotonic() - alive.at_s > HEARTBEAT_S:
                    alive.beat(line)
                replicas = [leader, 3, 4]
                all_created([line.ask(large_topic(f"led-{leader}-{number}", replicas))])
        gone(line, alive, 5)
        gone(line, alive, 6)
        silence_s = silent(line, alive, 1)
        unregistered_s = gone(line, alive, 2)
    return {
        (f"silent leader of {LED} partitions, beyond its session", "ms", "less"): silence_s * 1e3,
        (f"leader of {TAKEN} partitions unregistered", "ms", "less"): unregistered_s * 1e3,
    }


def silent(line: "Line", alive: "Lives", broker: int) -> float:
    """Return how long after its session what a broker led has leaders, all committed."""
    alive.beat(line)
    fell_silent = time.monotonic()
    alive.forget(broker)
    before = high_watermark(line)
    while True:
        if time.monotonic() - alive.at_s > HEARTBEAT_S:
            alive.beat(line)
        if high_watermark(line) > before + LED:
            return time.monotonic() - fell_silent - SHORT_SESSION_MS / 1e3
        assert time.monotonic() - fell_silent < PATIENCE_S, f"broker {broker} was not fenced"
        time.sleep(POLL_S)


def gone(line: "Line", alive: "Lives", broker: int) -> float:
    """Return how long it takes to take away a broker, with all that it leads."""
    alive.beat(line)
    alive.forget(broker)
    before = high_watermark(line)
    began = time.monotonic()
    response = cast(UnregisterBrokerResponse, line.ask(UnregisterBrokerRequest(broker_id=broker)))
    took = time.monotonic() - began
    check(response.error_code, f"broker {broker}: {response.error_message}")
    assert high_watermark(line) > before + TAKEN, f"broker {broker} led less than was measured"
    return took


def high_watermark(line: "Line") -> int:
    """Return how far the quorum has committed."""
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    response = cast(DescribeQuorumResponse, line.ask(DescribeQuorumRequest(topics=[topic])))
    (said,) = response.topics[0].partitions
    check(said.error_code, "DescribeQuorum")
    return said.high_watermark


# --- heartbeats -----------------------------------------------------------------------------------


def answered(kind: type[Node], place: Path) -> Figures:
    """Let many brokers send heartbeats as fast as they are answered."""
    with quorum(kind, place, 1) as controllers:
        to = controllers.leader().controller
        alive = join(to, range(1, BROKERS + 1))
        frames = [frame_of(alive.heartbeat(broker)) for broker in alive.epochs]
        hammered(to, frames, MEASURED_S / 2)
        figure = hammered(to, frames, MEASURED_S)
    case = f"heartbeats of {BROKERS} brokers, {HEARTBEAT_LINES} connections"
    return {(case, "heartbeats/s", "more"): figure}


def frame_of(request: Request) -> bytes:
    """Return a request as it is sent."""
    return b"".join(request_frame(request, VERSIONS[type(request)], 0, "bench"))


def hammered(to: str, frames: Sequence[bytes], seconds: float) -> float:
    """Return how many of some requests are answered in a second, all without an error."""
    selector = selectors.DefaultSelector()
    lines = [Line(to) for _ in range(HEARTBEAT_LINES)]
    for number, line in enumerate(lines):
        selector.register(line.socket, selectors.EVENT_READ, number)
    turns = list(range(HEARTBEAT_LINES))
    for line, turn in zip(lines, turns, strict=True):
        line.socket.sendall(frames[turn % len(frames)])
    # Behind the size: a correlation id, no tags, the time to be throttled, the error.
    error = slice(SIZE_BYTES + 4 + 1 + 4, SIZE_BYTES + 4 + 1 + 4 + 2)
    count, began = 0, time.monotonic()
    until = began + seconds
    while time.monotonic() < until:
        for key, _ in selector.select(1):
            data = lines[key.data].socket.recv(4096)
            assert len(data) == SIZE_BYTES + SIZE.unpack_from(data)[0], "an answer in two parts"
            check(int.from_bytes(data[error], "big"), "heartbeat")
            count += 1
            turns[key.data] += HEARTBEAT_LINES
            lines[key.data].socket.sendall(frames[turns[key.data] % len(frames)])
    took = time.monotonic() - began
    selector.close()
    for line in lines:
        line.socket.close()
    return count / took


# --- activation -----------------------------------------------------------------------------------


def activated(kind: type[Node], place: Path) -> Figures:
    """Kill the leader, and wait for a decision of the next."""
    with quorum(kind, place, 3) as controllers:
        controllers.quiet_state(still_s=1)
        leader = controllers.leader()
        join(leader.controller, range(1, 4))
        line = Line(leader.controller)
        for number in range(HELD // TOPIC_PARTITIONS):
            replicas = [(number + each) % 3 + 1 for each in range(3)]
            all_created([line.ask(large_topic(f"held-{number}", replicas))])
        controllers.quiet_state()
        line.socket.close()
        began = time.monotonic()
        leader.kill()
        others = [node for node in controllers.voters if node.runs]
        while not any(decides(node) for node in others):
            assert time.monotonic() - began < PATIENCE_S, "nobody leads"
            time.sleep(POLL_S)
        took = time.monotonic() - began
    case = f"killed leader of {HELD} partitions to its successor's first decision, beyond timeout"
    return {(case, "ms", "less"): took * 1e3 - FETCH_TIMEOUT_MS}


def decides(node: Node) -> bool:
    """Tell whether a controller decides something, and it is committed."""
    return describe(node) is not None and write_metadata(node, ["bench"]) is ErrorCode.NONE


# --- the played brokers ---------------------------------------------------------------------------


class Line:
    """A connection on which one thing is asked after the other."""

    def __init__(self, to: str) -> None:
        host, _, port = to.rpartition(":")
        self.socket: Final = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire: Final = ClientConnection("bench")
        self._received = bytearray()
        self.received_s = 0.0
        """When the last answer was there; to read it is the client's business."""

    def send(self, request: Request) -> None:
        """Ask and do not wait."""
        self._wire.send(request, VERSIONS[type(request)])
        self.socket.sendall(b"".join(self._wire.to_send()))

    def receive(self) -> Response:
        """Return the next answer."""
        while True:
            consumed, answers, error = self._wire.receive(memoryview(bytes(self._received)))
            if error is not None:
                raise error
            del self._received[:consumed]
            if answers:
                (answer,) = answers
                return answer.message
            data = self.socket.recv(1 << 20)
            self.received_s = time.monotonic()
            if not data:
                raise ConnectionError("the controller has closed the connection")
            self._received += data

    def ask(self, request: Request) -> Response:
        """Ask and wait."""
        self.send(request)
        return self.receive()


def every(lines: Sequence[Line], requests: Sequence[Request]) -> list[Response]:
    """Ask many things, each line the next as soon as it was answered; return all the answers."""
    answers: dict[int, Response] = {}
    selector = selectors.DefaultSelector()
    waiting = iter(enumerate(requests))
    for line, (number, request) in zip(lines, waiting, strict=False):
        selector.register(line.socket, selectors.EVENT_READ, (line, number))
        line.send(request)
    while selector.get_map():
        for key, _ in selector.select():
            line, number = key.data
            answers[number] = line.receive()
            following = next(waiting, None)
            if following is None:
                selector.unregister(line.socket)
            else:
                selector.modify(line.socket, selectors.EVENT_READ, (line, following[0]))
                line.send(following[1])
    return [answers[number] for number in range(len(requests))]


class Lives:
    """Played brokers, with their epochs."""

    def __init__(self, epochs: dict[int, int]) -> None:
        self.epochs: Final = epochs
        self.at_s = 0.0
        """When all were heard of last."""

    def heartbeat(self, broker: int) -> BrokerHeartbeatRequest:
        """Return what a broker says that wants to be in."""
        return BrokerHeartbeatRequest(
            broker_id=broker, broker_epoch=self.epochs[broker], current_metadata_offset=FAR
        )

    def beat(self, line: Line) -> None:
        """Send a heartbeat of everybody."""
        self.at_s = time.monotonic()
        for broker in self.epochs:
            told = cast(BrokerHeartbeatResponse, line.ask(self.heartbeat(broker)))
            check(told.error_code, f"heartbeat of {broker}")

    def forget(self, broker: int) -> None:
        """Send no more of one."""
        del self.epochs[broker]


def join(to: str, ids: Sequence[int]) -> Lives:
    """Register brokers and let them in."""
    lines = [Line(to) for _ in range(LINES)]
    epochs = {}
    for broker, answer in zip(ids, every(lines, list(map(registration, ids))), strict=True):
        told = cast(BrokerRegistrationResponse, answer)
        check(told.error_code, f"registration of {broker}")
        epochs[broker] = told.broker_epoch
    alive = Lives(epochs)
    for answer in every(lines, list(map(alive.heartbeat, ids))):
        check(cast(BrokerHeartbeatResponse, answer).error_code, "heartbeat")
    for line in lines:
        line.socket.close()
    return alive


def registration(broker: int) -> BrokerRegistrationRequest:
    """Return what a broker says of itself."""
    listener = BrokerRegistrationRequest.Listener(
        name="PLAINTEXT", host="127.0.0.1", port=10_000 + broker, security_protocol=0
    )
    return BrokerRegistrationRequest(
        broker_id=broker,
        cluster_id=CLUSTER_ID,
        incarnation_id=Uuid(os.urandom(16)),
        listeners=[listener],
        features=[
            BrokerRegistrationRequest.Feature(
                name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in supported_levels(unstable=False).items()
        ],
        log_dirs=[Uuid(os.urandom(16))],
    )


def check(code: int, what: str) -> None:
    """Fail if there was an error."""
    if code:
        raise RuntimeError(f"{what}: {ErrorCode(code).name}")


# --- controllers ----------------------------------------------------------------------------------


@contextmanager
def quorum(
    kind: type[Node], place: Path, count: int, settings: dict[str, str] | None = None
) -> Iterator[Controllers]:
    """A quorum of one kind that writes nothing by itself."""
    usual = {
        **QUIET,
        "broker.session.timeout.ms": str(LONG_SESSION_MS),
        "broker.heartbeat.interval.ms": "1000",
        "controller.quorum.fetch.timeout.ms": str(FETCH_TIMEOUT_MS),
    }
    with Controllers(place, [kind] * count, settings={**usual, **(settings or {})}) as controllers:
        yield controllers
