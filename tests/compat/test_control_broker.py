"""A Barnabas broker under Apache Kafka's controllers: registers, runs, is fenced, leaves, returns.

Whole processes on loopback.  What Kafka's controllers think of our broker is read in their metadata
log, asked of a broker of Kafka's, and told by Kafka's own dump tool.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from barnabas.log.checkpoints import decode_clean_mark
from barnabas.records.opened import opened
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.metadata_records import decode_record
from tests.compat.asker import ask
from tests.compat.controllers import QUIET, Controllers, eventually
from tests.compat.kafka_node import Node
from tests.compat.kafka_tools import tool
from tests.compat.our_node import OurNode

OURS: Final = 7
SESSION_S: Final = 3

IMPATIENT: Final = {"broker.session.timeout.ms": str(SESSION_S * 1_000)}
BRISK: Final = {
    "broker.heartbeat.interval.ms": "500",
    "initial.broker.registration.timeout.ms": "15000",
    "broker.rack": "rack-7",
}
SOON_OVER: Final = {**BRISK, "initial.broker.registration.timeout.ms": "5000"}


class Cluster:
    """A node of Kafka that is broker and controller, and brokers of ours beside it."""

    def __init__(self, place: Path, static: bool) -> None:
        self.place = place
        self.kafka = Node(place / "kafka", 1, "broker,controller")
        where = {"controller.quorum.bootstrap.servers": self.kafka.controller}
        if static:
            where = {"controller.quorum.voters": f"1@{self.kafka.controller}"}
        self.where = where
        self.kafka.configure({**QUIET, **IMPATIENT, **where})
        self.kafka.format(*([] if static else ["--standalone"]))
        self.brokers: list[OurNode] = []

    def broker(self, name: str, settings: dict[str, str] | None = None, **how: str) -> OurNode:
        """Return a broker of ours, formatted, with a directory of its own."""
        broker = OurNode(self.place / name, OURS, "broker")
        broker.configure({**self.where, **(settings or BRISK)})
        broker.format(**how)
        self.brokers.append(broker)
        return broker

    @property
    def standing(self) -> DescribeClusterResponse.DescribeClusterBroker | None:
        """What Kafka's broker tells of ours; None if it knows none."""
        request = DescribeClusterRequest(include_fenced_brokers=True)
        told = ask(self.kafka.bootstrap, request)
        assert isinstance(told, DescribeClusterResponse)
        found = [each for each in told.brokers if each.broker_id == OURS]
        return found[0] if found else None

    def until(self, is_fenced: bool) -> None:
        """Return when Kafka has our broker fenced, or not."""

        def look() -> bool | None:
            standing = self.standing
            return True if standing is not None and standing.is_fenced == is_fenced else None

        eventually(look, f"our broker {'fenced' if is_fenced else 'unfenced'}", 30)


@pytest.fixture(params=["dynamic", "static"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of Kafka's, of either kind of quorum."""
    running = Cluster(tmp_path, request.param == "static")
    running.kafka.start()
    try:
        yield running
    finally:
        for node in (*running.brokers, running.kafka):
            node.kill()


def records_of(node: Node) -> list[tuple[int, object]]:
    """Return the records about brokers in a node's metadata log, with their offsets."""
    data = b"".join(path.read_bytes() for path in sorted(node.metadata.glob("*.log")))
    found: list[tuple[int, object]] = []
    for batch in opened(data):
        for number, value in enumerate(batch.values):
            found.append((batch.base_offset + number, decode_record(value)[0]))
    return found


def registrations(node: Node) -> list[RegisterBrokerRecord]:
    """Return the registrations of our broker; each has its own offset for an epoch."""
    found = []
    for offset, record in records_of(node):
        if isinstance(record, RegisterBrokerRecord) and record.broker_id == OURS:
            assert record.broker_epoch == offset
            found.append(record)
    return found


def fences(node: Node) -> list[int]:
    """Return what was written of our broker being fenced: 1, and -1 for being unfenced."""
    found = []
    for _, record in records_of(node):
        if isinstance(record, BrokerRegistrationChangeRecord) and record.broker_id == OURS:
            found.append(record.fenced)
        elif isinstance(record, FenceBrokerRecord) and record.id == OURS:
            found.append(1)
    return [fence for fence in found if fence]


def ended(broker: OurNode, within_s: float) -> tuple[int, str]:
    """Return the exit code of a broker that ends by itself, and the last line that it printed."""

    def look() -> int | None:
        process = broker._process
        assert process is not None
        return process.poll()

    code = eventually(look, f"the end of {broker}", within_s)
    return code, broker.output().splitlines()[-1]


# --- the story ------------------------------------------------------------------------------------


def test_it_registers_runs_leaves_and_comes_back_under_another_epoch(cluster: Cluster) -> None:
    broker = cluster.broker("ours")
    broker.start()
    cluster.until(is_fenced=False)
    standing = cluster.standing
    assert standing is not None
    assert (standing.host, standing.rack) == ("127.0.0.1", "rack-7")
    assert standing.port == broker.ports["PLAINTEXT"]
    (first,) = registrations(cluster.kafka)
    assert list(first.log_dirs) == [broker.directory_id]
    assert "metadata.version" in {feature.name for feature in first.features}
    eventually(lambda: "became Running" in broker.output() or None, "RUNNING")
    assert f"became Running epoch={first.broker_epoch}" in broker.output()

    broker.stop()
    assert "became PendingControlledShutdown" in broker.output()
    assert "became ShuttingDown" in broker.output()
    cluster.until(is_fenced=True)
    mark = (broker.logs / ".kafka_cleanshutdown").read_bytes()
    assert decode_clean_mark(mark) == first.broker_epoch

    broker.start()
    cluster.until(is_fenced=False)
    assert f"last_epoch={first.broker_epoch}" in broker.output()
    again = registrations(cluster.kafka)[-1]
    assert again.broker_epoch > first.broker_epoch
    assert again.incarnation_id != first.incarnation_id


def test_kafkas_own_tool_shows_it_registered_and_let_in(cluster: Cluster) -> None:
    cluster.broker("ours").start()
    cluster.until(is_fenced=False)
    log = sorted(cluster.kafka.metadata.glob("*.log"))[-1]
    told = tool("dump-log", "--cluster-metadata-decoder", "--files", str(log))
    records = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", told)]
    ours = [each for each in records if each["data"].get("brokerId") == OURS]
    assert [each["type"] for each in ours] == [
        "REGISTER_BROKER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        *(["BROKER_REGISTRATION_CHANGE_RECORD"] * (len(ours) - 2)),
    ]
    assert ours[0]["data"]["fenced"] is True
    assert -1 in [each["data"].get("fenced") for each in ours[1:]]


def test_it_is_fenced_while_it_is_frozen_and_let_in_again_under_its_epoch(
    cluster: Cluster,
) -> None:
    broker = cluster.broker("ours")
    broker.start()
    cluster.until(is_fenced=False)
    broker.pause()
    cluster.until(is_fenced=True)
    broker.resume()
    cluster.until(is_fenced=False)
    assert len(registrations(cluster.kafka)) == 1
    assert fences(cluster.kafka) == [-1, 1, -1]


def test_killed_and_back_at_once_it_waits_for_its_session_to_expire(cluster: Cluster) -> None:
    broker = cluster.broker("ours")
    broker.start()
    cluster.until(is_fenced=False)
    killed = time.monotonic()
    broker.kill()
    broker.start()
    eventually(lambda: len(registrations(cluster.kafka)) == 2 or None, "a new registration")
    assert time.monotonic() - killed > SESSION_S - 1
    cluster.until(is_fenced=False)
    assert "DUPLICATE_BROKER_REGISTRATION" in broker.output()
    former, present = registrations(cluster.kafka)
    assert present.broker_epoch > former.broker_epoch
    # Nobody vouches for a life that was killed.
    assert broker.output().count("last_epoch=-1") == 2


def test_the_same_id_started_twice_is_refused_until_its_time_is_up(cluster: Cluster) -> None:
    cluster.broker("ours").start()
    cluster.until(is_fenced=False)
    second = cluster.broker("second", SOON_OVER)
    begun = time.monotonic()
    second.launch()
    code, line = ended(second, 30)
    assert code == 1
    assert time.monotonic() - begun >= 5
    assert line.startswith("barnabas node: broker 7 could not register within 5000 ms")
    assert "DUPLICATE_BROKER_REGISTRATION" in line
    assert "another node.id" in line
    cluster.until(is_fenced=False)
    assert len(registrations(cluster.kafka)) == 1


def test_one_that_was_replaced_while_it_was_frozen_ends(cluster: Cluster) -> None:
    first, second = cluster.broker("ours"), cluster.broker("second")
    first.start()
    cluster.until(is_fenced=False)
    first.pause()
    cluster.until(is_fenced=True)
    second.start()
    cluster.until(is_fenced=False)
    first.resume()
    code, line = ended(first, 30)
    assert code == 1
    _, present = registrations(cluster.kafka)
    assert f"registered under this node.id with epoch {present.broker_epoch}" in line
    cluster.until(is_fenced=False)


def test_a_broker_of_another_cluster_is_told_so_when_its_time_is_up(cluster: Cluster) -> None:
    broker = cluster.broker("ours", SOON_OVER, cluster_id="XcZZOzUqS4yHOjhMQB6JLQ")
    begun = time.monotonic()
    broker.launch()
    code, line = ended(broker, 30)
    assert code == 1
    assert time.monotonic() - begun >= 5
    assert "could not register within 5000 ms" in line
    assert "of another cluster" in line
    assert not registrations(cluster.kafka)


def test_clients_are_told_what_it_serves_and_what_the_cluster_agreed_upon(
    cluster: Cluster,
) -> None:
    broker = cluster.broker("ours")
    broker.start()
    cluster.until(is_fenced=False)
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    ours, theirs = ask(broker.bootstrap, request), ask(cluster.kafka.bootstrap, request)
    assert isinstance(ours, ApiVersionsResponse)
    assert isinstance(theirs, ApiVersionsResponse)
    assert [api.api_key for api in ours.api_keys] == [18]

    def levels(told: ApiVersionsResponse) -> dict[str, int]:
        return {each.name: each.max_version_level for each in told.finalized_features}

    def ranges(told: ApiVersionsResponse) -> dict[str, tuple[int, int]]:
        return {each.name: (each.min_version, each.max_version) for each in told.supported_features}

    assert levels(ours) == levels(theirs)
    assert ranges(ours) == ranges(theirs)


# --- several controllers --------------------------------------------------------------------------


def test_it_stays_what_it_is_while_the_controllers_fail_over(tmp_path: Path) -> None:
    with Controllers(tmp_path, [Node] * 3, settings={**QUIET, **IMPATIENT}) as quorum:
        broker = OurNode(tmp_path / "ours", OURS, "broker")
        broker.configure({"controller.quorum.bootstrap.servers": quorum.bootstrap, **BRISK})
        broker.format()
        broker.start()
        eventually(lambda: "became Running" in broker.output() or None, "RUNNING")
        epoch, leader = quorum.state().leader_epoch, quorum.leader()
        leader.kill()
        successor = quorum.new_leader(epoch)
        quorum.write(["a user of the new leader"])
        time.sleep(2 * SESSION_S)
        assert len(registrations(successor)) == 1
        assert fences(successor) == [-1]
        broker.stop()
        eventually(lambda: fences(successor) == [-1, 1] or None, "a fence for who has left")
        assert "became ShuttingDown" in broker.output()


def test_one_that_is_a_controller_too_registers_with_who_leads(tmp_path: Path) -> None:
    with Controllers(tmp_path, [Node], settings={**QUIET, **IMPATIENT}) as quorum:
        node = OurNode(tmp_path / "both", OURS, "broker,controller")
        node.configure({"controller.quorum.bootstrap.servers": quorum.bootstrap, **BRISK})
        node.format("--no-initial-controllers")
        node.start()
        eventually(lambda: "became Running" in node.output() or None, "RUNNING")
        (registration,) = registrations(quorum.leader())
        assert [at.name for at in registration.end_points] == ["PLAINTEXT"]
        node.stop()
        eventually(lambda: fences(quorum.leader()) == [-1, 1] or None, "a fence for who has left")
