"""A client: reads and writes the register through a majority of replicas.

It keeps one connection to each replica and makes it anew when it breaks or when a question stayed
unanswered.  An operation that finds no majority in time ends *unknown*: it may have happened, or
may yet.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from barnabas.runtime.network import Address, Connection
from barnabas.runtime.runtime import Runtime
from tests.sim.register.protocol import (
    FRAME,
    NOTHING,
    PORT,
    QUERY,
    STORE,
    Frame,
    Tag,
    Tagged,
    frames,
)

CONNECT_MS: Final = 500
BACK_OFF_MS: Final = 100
ANSWER_MS: Final = 1_000

# The mutants of a client.
NO_REPAIR: Final = "REG-reads-without-repair"
GIVES_UP: Final = "REG-never-reconnects"


class NoMajorityError(Exception):
    """Too few replicas answered in time."""


class Question:
    """One question to all replicas, until a majority answered."""

    def __init__(self, majority: int) -> None:
        self.answers: Final[list[Frame]] = []
        self._majority: Final = majority
        self._enough: Final = asyncio.get_running_loop().create_future()

    def answer(self, frame: Frame) -> None:
        """Take the answer of one replica."""
        self.answers.append(frame)
        # Whoever asked may have lost patience while this answer waited its turn.
        if len(self.answers) == self._majority and not self._enough.done():
            self._enough.set_result(None)

    async def enough(self) -> None:
        """Return when a majority answered."""
        await self._enough


class Link:
    """The connection to one replica, made anew as long as the client lives."""

    def __init__(self, runtime: Runtime, replica: str, mutant: str) -> None:
        self.replica: Final = replica
        self._runtime: Final = runtime
        self._mutant: Final = mutant
        self._connection: Connection | None = None
        self._asked: dict[int, Question] = {}
        self._down = asyncio.Event()

    def opened(self, connection: Connection) -> None:
        """Take the connection."""
        self._connection = connection

    def received(self, data: memoryview) -> int:
        """Hand answers to whoever asked."""
        count = 0
        for frame in frames(data):
            count += 1
            question = self._asked.pop(frame.request, None)
            if question is not None:
                question.answer(frame)
        return count * FRAME.size

    def closed(self, error: Exception | None) -> None:
        """Go and connect again."""
        self._connection = None
        self._down.set()

    async def keep(self) -> None:
        """Connect, and connect again, for ever."""
        runtime = self._runtime
        was_connected = False
        while True:
            self._down.clear()
            try:
                await runtime.network.connect(Address(self.replica, PORT), self, CONNECT_MS)
            except OSError:
                if self._mutant == GIVES_UP and was_connected:
                    return
                await runtime.clock.sleep_ms(BACK_OFF_MS)
                continue
            was_connected = True
            await self._down.wait()

    def ask(self, question: Question, frame: Frame) -> None:
        """Send a question, if there is a connection to send it on."""
        if self._connection is not None:
            self._asked[frame.request] = question
            self._connection.send((frame.encode(),))

    def doubt(self, request: int) -> None:
        """Take an unanswered question back, and the connection it was asked on for dead."""
        if self._asked.pop(request, None) is not None and self._connection is not None:
            self._connection.abort()


class Client:
    """Reads and writes."""

    def __init__(self, runtime: Runtime, replicas: Sequence[str], mutant: str) -> None:
        self._runtime: Final = runtime
        self._mutant: Final = mutant
        self._links: Final = [Link(runtime, replica, mutant) for replica in replicas]
        self._majority: Final = len(replicas) // 2 + 1
        # A life of its own: no two tags may be alike, not even across a restart.
        self._writer: Final = int.from_bytes(runtime.entropy.octets(4))
        self._counter = 0
        self._requests = 0

    def connect(self) -> None:
        """Begin to keep connections."""
        tasks = self._runtime.tasks.child("client")
        for link in self._links:
            tasks.spawn(link.keep(), f"link-{link.replica}")

    async def read(self) -> int:
        """Return the register's value; raise ``NoMajorityError``."""
        newest = await self._newest()
        if self._mutant != NO_REPAIR:
            await self._ask(STORE, newest)
        return newest.number

    async def write(self, number: int) -> None:
        """Set the register's value; raise ``NoMajorityError``, and then it may be set or not."""
        newest = await self._newest()
        # A write that ended unknown used its counter up, even if nobody remembers.
        self._counter = max(self._counter, newest.tag.counter) + 1
        await self._ask(STORE, Tagged(Tag(self._counter, self._writer), number))

    async def _newest(self) -> Tagged:
        newest = NOTHING
        for answer in await self._ask(QUERY, NOTHING):
            if answer.held.tag.newer_than(newest.tag):
                newest = answer.held
        return newest

    async def _ask(self, kind: int, held: Tagged) -> list[Frame]:
        """Ask every replica, and return the answers of the first majority."""
        self._requests += 1
        request = self._requests
        frame = Frame(kind, request, held)
        question = Question(self._majority)
        for link in self._links:
            link.ask(question, frame)
        try:
            async with asyncio.timeout(ANSWER_MS / 1_000):
                await question.enough()
        except TimeoutError as error:
            for link in self._links:
                link.doubt(request)
            answered = len(question.answers)
            raise NoMajorityError(f"{answered} of {self._majority} answered") from error
        return question.answers[: self._majority]
