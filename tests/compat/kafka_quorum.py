"""Quorums of Apache Kafka's controllers on loopback: one to three processes, static or dynamic.

    with Quorum(place, 3) as quorum:
        quorum.leader()

A dynamic quorum (kraft.version 1) is formatted with its initial controllers, a static one
(kraft.version 0) has ``controller.quorum.voters``.
"""

import base64
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.raft.asking import TOPIC
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.compat.asker import ask
from tests.compat.kafka_node import CLUSTER_ID, Node

T = TypeVar("T")

SETTLE_S: Final = 60

# Elections on one machine need not take long; a quorum that is asked things has news of its own.
SETTINGS: Final = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "500",
}


def eventually(look: Callable[[], T | None], what: str, timeout_s: float = SETTLE_S) -> T:
    """Return what a look finds as soon as it finds anything; fail if it does not in time."""
    until = time.monotonic() + timeout_s
    while (found := look()) is None:
        assert time.monotonic() < until, f"{what}: not within {timeout_s} s"
        time.sleep(0.1)
    return found


def directory_id(node_id: int) -> Uuid:
    """Return the id that a controller's directory is formatted with."""
    return Uuid(f"directory of   {node_id}".encode())


def printed(directory: Uuid) -> str:
    """Return an id as Kafka prints it."""
    return base64.urlsafe_b64encode(directory).decode().rstrip("=")


def describe(place: str) -> DescribeQuorumResponse.PartitionData | None:
    """Ask a controller about its quorum; None if it does not lead, or does not answer."""
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name=TOPIC, partitions=[partition])
    try:
        response = ask(place, DescribeQuorumRequest(topics=[topic]))
    except OSError:
        return None
    assert isinstance(response, DescribeQuorumResponse)
    (said,) = response.topics[0].partitions
    return said if said.error_code == ErrorCode.NONE else None


class Quorum:
    """Some controllers that know each other; those not in ``voters`` only observe at first."""

    def __init__(
        self,
        place: Path,
        count: int,
        *,
        static: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.controllers: Final = {
            node_id: Node(place / f"controller-{node_id}", node_id, "controller")
            for node_id in range(1, count + 1)
        }
        self.static: Final = static
        self._settings: Final = {**SETTINGS, **(settings or {})}
        nodes = self.controllers.values()
        voters = (f"{node.id}@{node.controller}:{printed(directory_id(node.id))}" for node in nodes)
        words = () if static else ("--initial-controllers", ",".join(voters))
        for node in nodes:
            node.configure(self.settings())
            node.format(*words)

    @property
    def bootstrap(self) -> str:
        """Where operators and replicas begin."""
        return ",".join(node.controller for node in self.controllers.values())

    @property
    def cluster_id(self) -> str:
        """The id of the cluster."""
        return CLUSTER_ID

    def settings(self) -> dict[str, str]:
        """Return the properties that every member of the quorum needs."""
        nodes = self.controllers.values()
        if self.static:
            voters = ",".join(f"{node.id}@{node.controller}" for node in nodes)
            return {**self._settings, "controller.quorum.voters": voters}
        return {**self._settings, "controller.quorum.bootstrap.servers": self.bootstrap}

    def __enter__(self) -> "Quorum":
        for node in self.controllers.values():
            node.launch()
        self.leader()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node in self.controllers.values():
            node.kill()

    def state(self) -> DescribeQuorumResponse.PartitionData:
        """Return what the leader tells, as soon as one has committed something of its epoch."""

        def look() -> DescribeQuorumResponse.PartitionData | None:
            for node in self.controllers.values():
                said = describe(node.controller)
                if said is not None and said.high_watermark >= 0:
                    return said
            return None

        return eventually(look, "a leader that has committed something")

    def leader(self) -> Node:
        """Return the controller that leads."""
        return self.controllers[self.state().leader_id]

    def followers(self) -> list[Node]:
        """Return the controllers that do not."""
        leader = self.leader()
        return [node for node in self.controllers.values() if node is not leader]
