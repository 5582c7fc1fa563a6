"""Our replica in the place of one of Kafka's: the same log, the same role, asked the same thing.

A twin opens a *copy* of a controller's metadata directory with our storage, so that it stands on
Kafka's own bytes: epochs, snapshots, voters, the vote.  It is put into the role that the controller
has, and from there on it is the product: machine, shell, wire words.  Only its connections are
somebody else's: a follower's leader has no news for it, and nobody else can be reached.
"""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from barnabas.host.world import live
from barnabas.model.errors import ErrorCode
from barnabas.model.value import value
from barnabas.raft.asking import PARTITION, TOPIC_ID
from barnabas.raft.config import RaftConfig
from barnabas.raft.progress import Leadership
from barnabas.raft.shell import Quorum
from barnabas.raft.states import Leader
from barnabas.raft.storage import Storage
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.codec import decode, encode
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.structs import Message, Request, Response
from tests.compat.controllers import Controllers
from tests.compat.kafka_node import Node

LISTENER: Final = "CONTROLLER"

M = TypeVar("M", bound=Message)

SETTLE_S: Final = 10

# Files that say nothing which is not also in the log, and are large.
LEFT_BEHIND: Final = shutil.ignore_patterns("*.index", "*.timeindex", "*.txnindex")


@value
class Situation:
    """What everybody in a quorum knows, and whom of them we ask."""

    quorum: Controllers
    asked: Node
    leader_id: int
    """-1 if there is none."""
    epoch: int
    start_offset: int
    """Where the leader's epoch begins."""
    end_offset: int

    @property
    def leads(self) -> bool:
        """Whether who is asked leads."""
        return self.asked.id == self.leader_id

    def key(self, node_id: int) -> ReplicaKey:
        """Return what a controller is known by."""
        return ReplicaKey(node_id, self.quorum.nodes[node_id].directory_id)

    def endpoints(self, node_id: int) -> tuple[Endpoint, ...]:
        """Return where a controller is reached; nobody is reached nowhere."""
        if node_id not in self.quorum.nodes:
            return ()
        port = self.quorum.nodes[node_id].ports[LISTENER]
        return (Endpoint(LISTENER, "127.0.0.1", port),)

    @property
    def configured(self) -> VoterSet:
        """The voters as a properties file has them, without directories."""
        return VoterSet.of(
            Voter(ReplicaKey(node_id), self.endpoints(node_id), (0, 1))
            for node_id in self.quorum.nodes
        )


def situation_of(quorum: Controllers, *, asks_leader: bool) -> Situation:
    """Return how things stand in a quorum that has nothing to do."""
    said = quorum.quiet_state()
    leader = quorum.nodes[said.leader_id]
    others = [node for node in quorum.nodes.values() if node is not leader]
    lines = (leader.metadata / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    starts = {int(epoch): int(start) for epoch, start in map(str.split, lines)}
    return Situation(
        quorum,
        leader if asks_leader else others[0],
        said.leader_id,
        said.leader_epoch,
        starts[said.leader_epoch],
        said.high_watermark,
    )


def lone_situation(quorum: Controllers) -> Situation:
    """Return how things stand for the only controller that runs, and has never seen another."""
    (asked,) = (node for node in quorum.nodes.values() if node.runs)
    return Situation(quorum, asked, -1, 0, 0, 0)


Asked = Sequence[tuple[Request, int]]
"""Requests, and in which version each is asked."""


class Twin:
    """One twin, asked one thing after the other."""

    def __init__(self, situation: Situation) -> None:
        self._situation: Final = situation
        self._leader_was_asked = 0
        self._has_fetched: Final = asyncio.Event()

    def answers(self, asked: Asked) -> list[Response]:
        """Return what our replica answers, as it arrives, when it is asked in this situation."""
        answers: list[Response] = []

        async def main(runtime: Runtime) -> None:
            with TemporaryDirectory() as place:
                copy = shutil.copytree(
                    self._situation.asked.metadata,
                    Path(place, self._situation.asked.metadata.name),
                    ignore=LEFT_BEHIND,
                )
                replica = await self._replica(runtime, str(copy.parent))
                for request, version in asked:
                    response = await replica.answer(as_sent(request, version), version, LISTENER)
                    answers.append(as_sent(response, version))
                await replica.stop(0)

        asyncio.run(live("twin", main))
        return answers

    async def _replica(self, runtime: Runtime, directory: str) -> Quorum:
        at = self._situation
        static = at.configured
        storage = await Storage.open(runtime.disk, directory, static, runtime.clock)
        assert storage.end_offset == at.end_offset, f"{storage.end_offset} of {at}"
        config = RaftConfig(
            at.key(at.asked.id), at.quorum.cluster_id, at.endpoints(at.asked.id), LISTENER
        )
        replica = Quorum(runtime, config, storage, self._elsewhere)
        if at.leads:
            self._lead(replica, runtime.clock.now_ms())
        replica.start()
        if at.leader_id >= 0 and not at.leads:
            async with asyncio.timeout(SETTLE_S):
                await self._has_fetched.wait()
        return replica

    def _lead(self, replica: Quorum, now_ms: int) -> None:
        """Let a replica be the leader of an epoch whose records are in its log already."""
        at, node = self._situation, replica.node
        leading = Leadership(at.epoch, at.start_offset, (), node.voters.current, at.end_offset)
        for voter in node.others:
            leading.fetched(voter.key, at.end_offset, at.end_offset, now_ms)
        # No event leads here: who restarts in the epoch that it leads does not lead it.
        node._state, node._duty = Leader(at.epoch, at.start_offset), leading
        node.high_watermark = node.flushed_offset = at.end_offset
        node.is_new = False

    async def _elsewhere(self, to: Address, request: Request, timeout_ms: int) -> Response:
        """Answer for everybody else."""
        at = self._situation
        leader = [place.address for place in at.endpoints(at.leader_id)]
        if not isinstance(request, FetchRequest) or to not in leader:
            raise ConnectionRefusedError(f"nobody is at {to}")
        self._leader_was_asked += 1
        if self._leader_was_asked > 1:
            # What it was told first is taken by now; there are no more news.
            self._has_fetched.set()
            await asyncio.get_running_loop().create_future()
        current = FetchResponse.LeaderIdAndEpoch(leader_id=at.leader_id, leader_epoch=at.epoch)
        partition = FetchResponse.PartitionData(
            partition_index=PARTITION,
            error_code=ErrorCode.NONE,
            high_watermark=at.end_offset,
            current_leader=current,
        )
        topic = FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
        return FetchResponse(responses=[topic])


def as_sent(message: M, version: int) -> M:
    """Return a message as it arrives."""
    return decode(type(message), version, encode(message, version))
