"""Quorums of controllers on loopback, Kafka's and ours: one process each, static or dynamic.

    with Controllers(place, [Node, Node, OurNode]) as quorum:
        quorum.leader()

A dynamic quorum (kraft.version 1) is formatted with its initial controllers, a static one
(kraft.version 0) has ``controller.quorum.voters``.  Who leads and how far everybody is, is asked
of the controllers themselves.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.raft.asking import TOPIC
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.compat.asker import ask
from tests.compat.kafka_node import CLUSTER_ID, Node

T = TypeVar("T")

SETTLE_S: Final = 60

# Elections on one machine need not take long.
SETTINGS: Final = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "500",
}

QUIET: Final = {"metadata.max.idle.interval.ms": "0"}
"""Write nothing to the metadata log only because time goes by."""

SNAPSHOTS: Final = {"metadata.log.max.record.bytes.between.snapshots": "100"}
"""Take a snapshot as soon as there is anything to put into one."""

Described = DescribeQuorumResponse.PartitionData


def eventually(look: Callable[[], T | None], what: str, timeout_s: float = SETTLE_S) -> T:
    """Return what a look finds as soon as it finds anything; fail if it does not in time."""
    until = time.monotonic() + timeout_s
    while (found := look()) is None:
        assert time.monotonic() < until, f"{what}: not within {timeout_s} s"
        time.sleep(0.1)
    return found


def directory_id(node_id: int) -> Uuid:
    """Return the id that an initial controller's directory is formatted with."""
    return Uuid(f"directory of   {node_id}".encode())


def describe(node: Node) -> Described | None:
    """Ask a controller about its quorum; None if it does not lead, or does not answer."""
    node.check()
    if not node.runs:
        return None
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name=TOPIC, partitions=[partition])
    try:
        response = ask(node.controller, DescribeQuorumRequest(topics=[topic]))
    except OSError:
        return None
    assert isinstance(response, DescribeQuorumResponse)
    (said,) = response.topics[0].partitions
    return said if said.error_code == ErrorCode.NONE else None


def write_metadata(node: Node, names: Sequence[str]) -> ErrorCode | None:
    """Ask a controller for a quota for each user; it answers when the records are committed.

    Return the error, None if there was no answer.
    """
    entry, entity = AlterClientQuotasRequest.EntryData, AlterClientQuotasRequest.EntityData
    operation = AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=1_000.0)
    request = AlterClientQuotasRequest(
        entries=[
            entry(entity=[entity(entity_type="user", entity_name=name)], ops=[operation])
            for name in names
        ]
    )
    try:
        response = ask(node.controller, request)
    except OSError:
        return None
    assert isinstance(response, AlterClientQuotasResponse)
    errors = {ErrorCode(entry.error_code) for entry in response.entries}
    (error,) = errors
    return error


class Controllers:
    """Some controllers that are the first voters of their quorum, by their ids from 1."""

    def __init__(
        self,
        place: Path,
        kinds: Sequence[type[Node]],
        *,
        static: bool = False,
        settings: Mapping[str, str] | None = None,
        own_settings: Mapping[type[Node], Mapping[str, str]] | None = None,
    ) -> None:
        self.place: Final = place
        self.static: Final = static
        self.nodes: Final = {
            node_id: kind(place / f"controller-{node_id}", node_id, "controller")
            for node_id, kind in enumerate(kinds, 1)
        }
        self._first: Final = tuple(self.nodes)
        self._settings: Final = {**SETTINGS, **(settings or {})}
        self._own_settings: Final = own_settings or {}
        voters = [
            f"{node.id}@{node.controller}:{uuid_text(directory_id(node.id))}"
            for node in self.voters
        ]
        words = () if static else ("--initial-controllers", ",".join(voters))
        for node in self.voters:
            node.configure(self.settings_of(node))
            node.format(*words)

    @property
    def voters(self) -> list[Node]:
        """The first voters."""
        return [self.nodes[node_id] for node_id in self._first]

    @property
    def bootstrap(self) -> str:
        """Where operators and replicas begin."""
        return ",".join(node.controller for node in self.voters)

    @property
    def cluster_id(self) -> str:
        """The id of the cluster."""
        return CLUSTER_ID

    def settings_of(self, node: Node) -> dict[str, str]:
        """Return the properties that a member of the quorum needs."""
        settings = {**self._settings, **self._own_settings.get(type(node), {})}
        if self.static:
            voters = ",".join(f"{voter.id}@{voter.controller}" for voter in self.voters)
            return {**settings, "controller.quorum.voters": voters}
        return {**settings, "controller.quorum.bootstrap.servers": self.bootstrap}

    def newcomer(
        self, kind: type[Node], node_id: int, settings: Mapping[str, str] | None = None
    ) -> Node:
        """Return one more controller, formatted: an observer, unless somebody adds it."""
        node = kind(self.place / f"controller-{node_id}", node_id, "controller")
        node.configure({**self.settings_of(node), **(settings or {})})
        node.format(*(() if self.static else ("--no-initial-controllers",)))
        self.nodes[node_id] = node
        return node

    def replaced(self, node: Node, kind: type[Node]) -> Node:
        """Return a node that goes on with what another has left: its directory, id and role.

        It is reached in another place.
        """
        assert not node.runs, f"{node} runs"
        successor = kind(node.place, node.id, node.roles)
        self.nodes[node.id] = successor
        successor.configure(self.settings_of(successor))
        return successor

    def __enter__(self) -> "Controllers":
        for node in self.voters:
            node.launch()
        self.leader()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node in self.nodes.values():
            node.kill()

    # --- how it stands ---------------------------------------------------------------------------

    def state(self) -> Described:
        """Return what the leader tells, as soon as one has committed something of its epoch.

        One that was deposed and has not heard of it may still think that it leads.
        """

        def look() -> Described | None:
            told = [said for said in map(describe, self.nodes.values()) if said is not None]
            newest = max(told, key=lambda said: said.leader_epoch, default=None)
            return newest if newest is not None and newest.high_watermark >= 0 else None

        return eventually(look, "a leader that has committed something")

    def quiet_state(self, still_s: float = 0) -> Described:
        """Return what the leader tells when every voter has everything, and it is committed.

        Needs a quorum that writes nothing by itself (``QUIET``); ``still_s`` is for how long
        nothing may have been written, since controllers register some time after they start.
        """
        since, last = time.monotonic(), (-1, -1)

        def look() -> Described | None:
            nonlocal since, last
            said = self.state()
            now = said.leader_epoch, said.high_watermark
            if now != last:
                since, last = time.monotonic(), now
            level = {voter.log_end_offset for voter in said.current_voters} == {now[1]}
            return said if level and time.monotonic() - since >= still_s else None

        return eventually(look, "a quorum with nothing to do")

    def leader(self) -> Node:
        """Return the controller that leads."""
        return self.nodes[self.state().leader_id]

    def new_leader(self, epoch: int) -> Node:
        """Return who leads an epoch behind this one."""

        def look() -> Node | None:
            said = self.state()
            return self.nodes[said.leader_id] if said.leader_epoch > epoch else None

        return eventually(look, f"a leader behind epoch {epoch}")

    def caught_up(self, node: Node) -> Described:
        """Return what the leader tells once a replica has everything that was there before."""
        end_offset = self.state().high_watermark

        def look() -> Described | None:
            said = self.state()
            everybody = (*said.current_voters, *said.observers)
            ends = [it.log_end_offset for it in everybody if it.replica_id == node.id]
            return said if ends and min(ends) >= end_offset else None

        return eventually(look, f"{node} at {end_offset}")

    def write(self, names: Sequence[str]) -> None:
        """Have the leader commit a quota for each of some users."""

        def look() -> ErrorCode | None:
            error = write_metadata(self.leader(), names)
            return error if error is ErrorCode.NONE else None

        eventually(look, f"quotas for {names[:3]}")
