"""Subscribers: those who have to know, as inconvenient as they may be.

    Reader     takes what it is told; slow, raising, late, gone again, as the scene has it
    Replicas   a stand-in for the partitions of one broker, moved by publications and by answers

Everybody tells the witness what it is told and when it is done, and by how long it kept the process
from everything else meanwhile.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Final, Protocol

from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.local_changes import LocalChanges, local_changes
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.ids import TopicIdPartition
from barnabas.model.value import value
from barnabas.runtime.runtime import Runtime

NS_PER_MS: Final = 1_000_000


class StumbledError(Exception):
    """What a subscriber raises if the scene wants it to."""


class Witness(Protocol):
    """Who hears what subscribers are told, and says how they are to behave."""

    def published(self, name: str, seen: "Seen", publication: Publication) -> None:
        """Learn that a subscriber of a process is told."""

    def applied(self, name: str, seen: "Seen") -> None:
        """Learn that it is done with it."""

    def led(self, name: str, seen: "Seen", leader: LeaderAndEpoch) -> None:
        """Learn that it is told who leads."""

    def held_up(self, name: str, seen: "Seen", blocked_ms: int) -> None:
        """Learn for how long it kept the process from everything else."""

    def moved(self, name: str, place: TopicIdPartition, before: "Held", after: "Held") -> None:
        """Learn that a replica is another than it was."""

    def delay_ms(self, name: str) -> int:
        """Return how slow subscribers of a process are now."""
        ...

    def stumbles(self, name: str, subscriber: str) -> bool:
        """Tell whether a subscriber raises at what it is told this time."""
        ...


class Seen:
    """A subscriber that is looked after."""

    def __init__(self, runtime: Runtime, witness: Witness, name: str, fatal: bool = False) -> None:
        self.publisher: Final = Publisher(name, fatal)
        self.image: MetadataImage = EMPTY
        """What it was given last."""
        self.leader: LeaderAndEpoch | None = None
        """Whom it was told last."""
        self.is_introduced = False
        """Whether it was given everything once, and took it."""
        self.stumbled_at_first = False
        self.is_closed = False
        self._runtime: Final = runtime
        self._witness: Final = witness
        self._process: Final = runtime.tasks.name

    @property
    def is_told(self) -> bool:
        """Whether it has begun to be told, and not ended."""
        return self.is_introduced and not self.is_closed

    async def update(self, publication: Publication) -> None:
        """Take the next image."""
        self._witness.published(self._process, self, publication)
        self.image = publication.image
        if self._witness.stumbles(self._process, self.publisher.name):
            self.stumbled_at_first = not self.is_introduced
            raise StumbledError(f"{self.publisher.name} does not like {publication.image.offset}")
        now_ns = self._runtime.clock.now_ns
        await Timed(self.take(publication), now_ns, self._report)
        self.is_introduced = True
        self._witness.applied(self._process, self)

    async def take(self, publication: Publication) -> None:
        """Do with the news whatever this subscriber does."""

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Learn who leads."""
        self._witness.led(self._process, self, leader)
        self.leader = leader

    async def close(self) -> None:
        """Expect nothing more."""
        self.is_closed = True

    def _report(self, blocked_ns: int) -> None:
        self._witness.held_up(self._process, self, blocked_ns // NS_PER_MS)


class Reader(Seen):
    """Takes the news, in its own time."""

    def __init__(
        self,
        runtime: Runtime,
        witness: Witness,
        name: str,
        fatal: bool = False,
        gone: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(runtime, witness, name, fatal)
        self._gone: Final = gone

    async def take(self, publication: Publication) -> None:
        """Dawdle, if the scene wants that."""
        delay_ms = self._witness.delay_ms(self._process)
        if delay_ms:
            await self._runtime.clock.sleep_ms(delay_ms)

    async def close(self) -> None:
        """Say so: another of the name may come."""
        await super().close()
        if self._gone is not None:
            self._gone(self.publisher.name)


@value
class Held:
    """A replica of the stand-in table."""

    role: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    by_answer: bool = False
    """Whether an answer of the controller moved it, ahead of the log."""


class Replicas(Seen):
    """The replicas of one broker, as far as their epochs: a stand-in for the partitions' own shell.

    They move by what the log says and by what the controller answers, whichever comes first; what
    is older than what they know is passed over (M-13).
    """

    def __init__(self, runtime: Runtime, witness: Witness, name: str, broker_id: int) -> None:
        super().__init__(runtime, witness, name, fatal=True)
        self.broker_id: Final = broker_id
        self.table: Final[dict[TopicIdPartition, Held]] = {}
        self.changes: LocalChanges | None = None
        """What the last publication meant to this broker."""

    async def take(self, publication: Publication) -> None:
        """Let go of what is deleted, and move the others."""
        self.changes = local_changes(publication.delta.topics, self.broker_id)
        for place in self.changes.deletes:
            self.table.pop(place, None)
        for place, partition in self.changes.leaders.items():
            self._move(place, held("leader", partition))
        for place, partition in self.changes.followers.items():
            self._move(place, held("follower", partition))

    def answered(self, place: TopicIdPartition, leader_epoch: int, partition_epoch: int) -> None:
        """Take an answer to AlterPartition, which may be late."""
        known = self.table.get(place)
        if known is None or known.role != "leader" or known.leader_epoch != leader_epoch:
            return
        after = Held("leader", leader_epoch, partition_epoch, known.isr, by_answer=True)
        self._move(place, after)

    def _move(self, place: TopicIdPartition, after: Held) -> None:
        known = self.table.get(place)
        if known is not None and after.partition_epoch < known.partition_epoch:
            return
        self.table[place] = after
        if known is not None:
            self._witness.moved(self._process, place, known, after)


def held(role: str, partition: PartitionRegistration) -> Held:
    """Return a replica as the log has it."""
    return Held(role, partition.leader_epoch, partition.partition_epoch, partition.isr)


class Timed:
    """Some work, and how long each part of it goes on without letting anybody else."""

    def __init__(
        self,
        work: Coroutine[Any, Any, None],  # Any: what it is sent, by asyncio
        now_ns: Callable[[], int],
        report: Callable[[int], None],
    ) -> None:
        self._work: Final = work
        self._now_ns: Final = now_ns
        self._report: Final = report

    def __await__(self) -> Generator[Any, Any, None]:
        go_on: Callable[[], Any] = partial(self._work.send, None)
        while True:
            begun_ns = self._now_ns()
            try:
                waits_for = go_on()
            except StopIteration:
                self._report(self._now_ns() - begun_ns)
                return
            self._report(self._now_ns() - begun_ns)
            try:
                yield waits_for
            except asyncio.CancelledError as cancelled:
                go_on = partial(self._work.throw, cancelled)
            else:
                go_on = partial(self._work.send, None)
