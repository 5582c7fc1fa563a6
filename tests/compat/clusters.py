"""Clusters on loopback: controllers of any kind, brokers of Apache Kafka's, and clients at work.

    with Cluster(place, [OurNode] * 3, brokers=3) as cluster:
        cluster.kafka("topics", "--create", "--topic", "foo", …)
        with Work(cluster, "foo") as work:
            cluster.brokers[11].pause()
            …
        work.judge()

Brokers have ids from 11.  What a topic looks like is asked of a broker, that is, of what the
controllers' decisions have become on their way.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.compat.asker import ask
from tests.compat.controllers import QUIET, Controllers, eventually
from tests.compat.kafka_node import Node
from tests.compat.kafka_tools import java, tool

FIRST_BROKER: Final = 11

SESSION_S: Final = 9
LAG_S: Final = 2

CONTROLLERS: Final = {**QUIET, "broker.session.timeout.ms": str(SESSION_S * 1_000)}

BROKERS: Final = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": str(SESSION_S * 1_000),
    # A follower that is still is out of the ISR before its session is over.
    "replica.lag.time.max.ms": str(LAG_S * 1_000),
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "num.network.threads": "2",
    "num.io.threads": "4",
}

WORD_S: Final = 120

Partition = MetadataResponse.MetadataResponsePartition


class Cluster:
    """Controllers of some kinds, and brokers of Kafka's under them."""

    def __init__(
        self,
        place: Path,
        kinds: Sequence[type[Node]],
        brokers: int,
        settings: Mapping[str, str] | None = None,
        own_settings: Mapping[type[Node], Mapping[str, str]] | None = None,
    ) -> None:
        everywhere = settings or {}
        self.controllers: Final = Controllers(
            place, kinds, settings={**CONTROLLERS, **everywhere}, own_settings=own_settings
        )
        self.brokers: Final[dict[int, Node]] = {}
        for broker_id in range(FIRST_BROKER, FIRST_BROKER + brokers):
            broker = Node(place / f"broker-{broker_id}", broker_id, "broker")
            where = {"controller.quorum.bootstrap.servers": self.controllers.bootstrap}
            broker.configure({**BROKERS, **where, **everywhere})
            broker.format()
            self.brokers[broker_id] = broker

    def __enter__(self) -> "Cluster":
        with ExitStack() as undo:
            self.controllers.__enter__()
            undo.callback(self.end)
            for broker in self.brokers.values():
                broker.launch()
            self.until_unfenced(*self.brokers)
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """End every process."""
        for broker in self.brokers.values():
            broker.kill()
        for controller in self.controllers.nodes.values():
            controller.kill()

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def kafka(self, name: str, *words: str) -> str:
        """Run ``kafka-<name>.sh`` through the brokers and return what it printed."""
        return tool(name, "--bootstrap-server", self.bootstrap, *words)

    # --- what brokers tell -----------------------------------------------------------------------

    def fenced(self, beside: int | None = None) -> dict[int, bool]:
        """Return the registered brokers and whether each is fenced; ask none that is ``beside``."""
        for broker in self.brokers.values():
            if broker.id == beside or not broker.runs:
                continue
            broker.check()
            try:
                told = ask(broker.bootstrap, DescribeClusterRequest(include_fenced_brokers=True))
            except OSError:
                continue
            assert isinstance(told, DescribeClusterResponse)
            if told.error_code == ErrorCode.NONE:
                return {each.broker_id: each.is_fenced for each in told.brokers}
        return {}

    def until_unfenced(self, *ids: int) -> None:
        """Return when brokers tell that all of these are in."""

        def look() -> bool | None:
            fenced = self.fenced()
            return True if all(fenced.get(each) is False for each in ids) else None

        eventually(look, f"brokers {ids} unfenced", WORD_S)

    def until_fenced(self, broker_id: int) -> None:
        """Return when other brokers tell that this one is fenced."""

        def look() -> bool | None:
            return True if self.fenced(beside=broker_id).get(broker_id) else None

        eventually(look, f"broker {broker_id} fenced", WORD_S)

    def partitions(self, topic: str, beside: int | None = None) -> dict[int, Partition]:
        """Return a topic's partitions as a broker that is not ``beside`` tells of them."""
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=topic)],
            allow_auto_topic_creation=False,
        )
        for broker in self.brokers.values():
            if broker.id == beside or not broker.runs:
                continue
            try:
                told = ask(broker.bootstrap, request)
            except OSError:
                continue
            assert isinstance(told, MetadataResponse)
            (found,) = told.topics
            return {each.partition_index: each for each in found.partitions}
        return {}

    def until_in_sync(self, topic: str) -> dict[int, Partition]:
        """Return a topic's partitions when every replica of each is in sync."""

        def look() -> dict[int, Partition] | None:
            found = self.partitions(topic)
            level = all(
                set(each.isr_nodes) == set(each.replica_nodes) and each.leader_id >= 0
                for each in found.values()
            )
            return found if found and level else None

        return eventually(look, f"{topic} in sync", WORD_S)


class Work:
    """Kafka's producer and consumer at work on a topic, in a process of their own."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._process: Final = subprocess.Popen(
            [*java("barnabas.Workload", "-Dlog4j2.level=OFF"), cluster.bootstrap, topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Work":
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        assert said == "working", f"clients do not work: {said!r}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._process.kill()
            self._process.wait()

    def judge(self) -> dict[str, int]:
        """Let the clients finish; fail if anything was lost, given up or out of order."""
        said, _ = self._process.communicate(timeout=2 * WORD_S)
        verdict = json.loads(said)
        faults = {name: verdict.pop(name) for name in ("failed", "lost", "disordered", "repeated")}
        assert faults == {"failed": [], "lost": 0, "disordered": 0, "repeated": 0}
        figures: dict[str, int] = verdict
        return figures
