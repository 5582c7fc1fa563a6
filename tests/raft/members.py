"""Members of a quorum in a simulated world, and a listener that keeps what it is told."""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from barnabas.model.errors import Refused
from barnabas.model.ids import Uuid
from barnabas.node import member as seat
from barnabas.raft.config import RaftConfig
from barnabas.raft.outline import SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.world import World
from tests.sim.worlds import world_of

T = TypeVar("T")

DIRECTORY: Final = "/metadata"
PORT: Final = 9093
LIMIT_MS: Final = 60_000


class Notes:
    """A listener that keeps what it is told, in order."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.offsets: list[int] = []
        self.told: list[tuple[int | None, int]] = []
        self.loaded: list[SnapshotId] = []

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Begin again with a snapshot."""
        self.loaded.append(snapshot)
        self.values = [text for batch in batches for text in texts(batch)]
        self.offsets = [snapshot.end_offset]

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Keep what is committed."""
        for batch in batches:
            self.values += texts(batch)
            self.offsets.append(batch.end_offset)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Keep who leads, and how far everything was then."""
        self.told.append((leader_id, epoch))


def texts(batch: OpenedBatch) -> list[str]:
    """Return the values of a batch as text."""
    return [bytes(value).decode(errors="replace") for value in batch.values]


class Member:
    """One member: its process, as far as it lives, and what it is asked to do."""

    def __init__(
        self, world: World, config: RaftConfig, voters: VoterSet, attach: "Attach | None" = None
    ) -> None:
        self.config: Final = config
        self.host: Final = f"n{config.key.id}"
        self.notes = Notes()
        self.seat: seat.Member
        self._world: Final = world
        self._voters: Final = voters
        self._jobs: Final[list[Job]] = []
        self._attach: Final = attach

    @property
    def quorum(self) -> Quorum:
        """Its seat in the quorum."""
        return self.seat.quorum

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._world.hosts[self.host].process is not None

    @property
    def is_leading(self) -> bool:
        """Whether its listener was told that it leads, and nothing else since."""
        told = self.notes.told
        return self.is_alive and bool(told) and told[-1][0] == self.config.key.id

    @property
    def epoch(self) -> int:
        """The epoch that its listener knows of."""
        return self.notes.told[-1][1] if self.notes.told else -1

    def start(self) -> None:
        """Start its process."""
        self._world.start(self.host, self._live)

    async def _live(self, runtime: Runtime) -> None:
        self.notes = Notes()
        runtime.disk.make_directory(DIRECTORY)
        await runtime.disk.sync_directory("/")
        listen = [Address(self.host, PORT)] if self.config.endpoints else []
        self.seat = await seat.open_member(
            runtime, self.config, DIRECTORY, listen, self._voters, [self.notes]
        )
        if self._attach is not None:
            self._attach(self, runtime)
        while True:
            await runtime.clock.sleep_ms(1)
            while self._jobs:
                job = self._jobs.pop(0)
                runtime.tasks.spawn(job.run(self), "job")

    def do(self, work: Callable[["Member"], Coroutine[Any, Any, T]]) -> "Job":
        """Let something be done in its process; what came of it is in the job."""
        job = Job(work)
        self._jobs.append(job)
        return job


Attach: TypeAlias = Callable[[Member, Runtime], None]
"""Puts something on the log of a member that has just started."""


class Job:
    """Something that a member is asked to do."""

    def __init__(self, work: Callable[[Member], Coroutine[Any, Any, Any]]) -> None:
        self._work: Final = work
        self.result: Any = None
        self.refused: Refused | None = None
        self.is_done = False

    async def run(self, member: Member) -> None:
        """Do it."""
        try:
            self.result = await self._work(member)
        except Refused as refused:
            self.refused = refused
        self.is_done = True


class Members:
    """A quorum, and what tests do to it."""

    def __init__(
        self, world: World, count: int, retention_bytes: int, attach: "Attach | None" = None
    ) -> None:
        self.world: Final = world
        own = [voter(each) for each in range(1, count + 1)]
        self.voters: Final = VoterSet.of(replace(each, key=ReplicaKey(each.key.id)) for each in own)
        configs = [
            RaftConfig(each.key, "cluster", each.endpoints, retention_bytes=retention_bytes)
            for each in own
        ]
        self.all: Final = [Member(world, config, self.voters, attach) for config in configs]
        for member in self.all:
            member.start()

    def add(self, config: RaftConfig) -> Member:
        """Start one more, which does not vote."""
        self.world.add_host(f"n{config.key.id}")
        member = Member(self.world, config, self.voters)
        self.all.append(member)
        member.start()
        return member

    def until(self, reached: Callable[[], bool]) -> None:
        """Let the world go on until something is so."""
        assert self.world.run_until(reached, LIMIT_MS), "\n".join(self.world.story)

    def leader(self, above: int = 0) -> Member:
        """Return who leads in an epoch above one, as soon as somebody does."""
        leading: list[Member] = []

        def found() -> bool:
            leading[:] = [each for each in self.all if each.is_leading and each.epoch > above]
            return bool(leading)

        self.until(found)
        return max(leading, key=lambda member: member.epoch)

    def finish(self, *jobs: Job) -> None:
        """Let the world go on until these are done."""
        self.until(lambda: all(job.is_done for job in jobs))

    def put(self, member: Member, *values: str) -> None:
        """Let a leader append values, each as a batch, and see them committed."""
        jobs = [member.do(partial(put, text=text)) for text in values]
        self.finish(*jobs)
        assert not any(job.refused for job in jobs), [job.refused for job in jobs]


async def put(member: Member, text: str) -> int:
    """Append a value and return where, when it is committed."""
    quorum, epoch = member.quorum, member.epoch
    end_offset = quorum.append(epoch, [text.encode()])
    await quorum.committed(epoch, end_offset)
    return end_offset


@contextmanager
def quorum_of(
    count: int, retention_bytes: int = -1, attach: Attach | None = None
) -> Iterator[Members]:
    """Yield a quorum that has just been started."""
    hosts = [f"n{each}" for each in range(1, count + 1)]
    with world_of(*hosts) as world:
        members = Members(world, count, retention_bytes, attach)
        yield members
        for process in world.processes:
            if process.death is not None and process.death.error is not None:
                raise process.death.error


def voter(node_id: int) -> Voter:
    """Return a voter on a host of its own."""
    endpoint = Endpoint("CONTROLLER", f"n{node_id}", PORT)
    return Voter(ReplicaKey(node_id, Uuid(bytes([node_id]) * 16)), (endpoint,), (0, 1))
