"""Three voters on loopback with something to tell in their log, and a command that runs beside."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from barnabas.host.world import live
from barnabas.node.member import open_member
from barnabas.raft.config import RaftConfig
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.records.checksum import Buffer
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.runtime import Runtime
from tests.cli.running import CLUSTER, free_port

POLL_MS: Final = 5
CLOSE_MS: Final = 1_000


class Tells:
    """A state machine that has something to say in the first epoch that it leads."""

    def __init__(self, node_id: int) -> None:
        self.node_id: Final = node_id
        self.epoch: int | None = None

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot."""

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take what comes next."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Take note of when to speak."""
        self.epoch = epoch if leader_id == self.node_id else None


def beside_three_voters(
    place: Path, batches: Sequence[Sequence[Buffer]], do: Callable[[list[int]], None]
) -> None:
    """Do something in a thread while three voters run that have committed some batches."""
    ports = [free_port() for _ in range(3)]
    voters = VoterSet.of(
        Voter(ReplicaKey(node_id), (Endpoint("CONTROLLER", "127.0.0.1", port),), (0, 1))
        for node_id, port in enumerate(ports, 1)
    )

    async def main(runtime: Runtime) -> None:
        async with AsyncExitStack() as opened:
            members = []
            for voter in voters.voters:
                directory = place / str(voter.key.id)
                directory.mkdir()
                tells = Tells(voter.key.id)
                config = RaftConfig(voter.key, CLUSTER, voter.endpoints, election_timeout_ms=150)
                listen = [at.address for at in voter.endpoints]
                member = await open_member(
                    runtime, config, str(directory), listen, voters, (tells,)
                )
                opened.push_async_callback(member.close, CLOSE_MS)
                members.append((member.quorum, tells))
            leading = None
            while leading is None:
                await runtime.clock.sleep_ms(POLL_MS)
                leading = next((pair for pair in members if pair[1].epoch is not None), None)
            quorum, tells = leading
            assert tells.epoch is not None, "it was just chosen for its epoch"
            ends = [quorum.append(tells.epoch, values) for values in batches]
            await quorum.committed(tells.epoch, ends[-1])
            await asyncio.to_thread(do, ports)

    asyncio.run(live("voters", main))
