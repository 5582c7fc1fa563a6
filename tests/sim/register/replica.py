"""A replica: keeps the newest value it was given, on disk before it says so.

The file is a log of records, each as long as the others and with a checksum; the newest tag among
those that are whole is what the replica holds.  A record that power loss tore was never
acknowledged, so the log is cut there.
"""

import asyncio
from struct import Struct
from typing import Final
from zlib import crc32

from barnabas.runtime.disk import File
from barnabas.runtime.network import Address, Connection
from barnabas.runtime.runtime import Runtime
from barnabas.runtime.tasks import TaskScope
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

DIRECTORY: Final = "/register"
PATH: Final = "/register/log"
RECORD: Final = Struct(">QIqI")
CHECKED: Final = RECORD.size - 4

# The mutants of a replica.  The first one syncs when it has acknowledged, and some time after.
LATER_MS: Final = 500
EARLY: Final = "REG-acknowledges-before-sync"
LATE: Final = "REG-takes-late-stores"


class Store:
    """The newest value, durable."""

    def __init__(self, runtime: Runtime, file: File, mutant: str) -> None:
        self.held = NOTHING
        self._runtime: Final = runtime
        self._file: Final = file
        self._mutant: Final = mutant
        self._end = 0

    def recover(self) -> None:
        """Take the newest whole record, and cut the log behind the last of them."""
        data = self._file.read(0, self._file.size())
        for start in range(0, len(data) - RECORD.size + 1, RECORD.size):
            counter, writer, number, checksum = RECORD.unpack_from(data, start)
            if crc32(data[start : start + CHECKED]) != checksum:
                break
            self._keep(Tagged(Tag(counter, writer), number))
            self._end = start + RECORD.size
        self._file.truncate(self._end)
        self._runtime.probes.trace("replica.recovered", counter=self.held.tag.counter)

    async def store(self, offered: Tagged) -> None:
        """Return when nothing older than what is offered will be held any more."""
        if not offered.tag.newer_than(self.held.tag) and self._mutant != LATE:
            return
        tag = offered.tag
        body = RECORD.pack(tag.counter, tag.writer, offered.number, 0)[:CHECKED]
        self._file.write(self._end, (body, crc32(body).to_bytes(4)))
        self._end += RECORD.size
        self._runtime.probes.trace("replica.wrote", counter=tag.counter)
        if self._mutant == EARLY:
            self._keep(offered)
            self._runtime.tasks.spawn(self._sync_later(), "sync")
            return
        await self._file.sync()
        self._runtime.probes.trace("replica.synced", counter=tag.counter)
        self._keep(offered)

    async def _sync_later(self) -> None:
        await self._runtime.clock.sleep_ms(LATER_MS)
        await self._file.sync()

    def _keep(self, offered: Tagged) -> None:
        # Another store may have been faster while this one waited for the disk.
        if offered.tag.newer_than(self.held.tag) or self._mutant == LATE:
            self.held = offered


class Session:
    """One client's connection."""

    def __init__(self, store: Store, tasks: TaskScope, sessions: dict["Session", None]) -> None:
        self._store: Final = store
        self._tasks: Final = tasks
        self._sessions: Final = sessions
        self._connection: Connection | None = None

    def opened(self, connection: Connection) -> None:
        """Take the connection."""
        self._connection = connection
        self._sessions[self] = None

    def received(self, data: memoryview) -> int:
        """Answer whole frames."""
        count = 0
        for frame in frames(data):
            count += 1
            if frame.kind == QUERY:
                self._answer(Frame(QUERY, frame.request, self._store.held))
            else:
                self._tasks.spawn(self._store_and_answer(frame), "store")
        return count * FRAME.size

    def closed(self, error: Exception | None) -> None:
        """Forget the connection."""
        self._connection = None
        self._sessions.pop(self, None)

    def abort(self) -> None:
        """Hear no more."""
        if self._connection is not None:
            self._connection.abort()

    async def _store_and_answer(self, frame: Frame) -> None:
        await self._store.store(frame.held)
        self._answer(Frame(STORE, frame.request, frame.held))

    def _answer(self, frame: Frame) -> None:
        if self._connection is not None:
            self._connection.send((frame.encode(),))


async def serve(runtime: Runtime, mutant: str) -> None:
    """Run a replica until cancelled."""
    disk = runtime.disk
    disk.make_directory(DIRECTORY)
    file = disk.open(PATH, "create")
    await disk.sync_directory("/")
    await disk.sync_directory(DIRECTORY)
    store = Store(runtime, file, mutant)
    store.recover()
    tasks = runtime.tasks.child("replica")
    sessions: dict[Session, None] = {}
    listener = await runtime.network.listen(
        Address("", PORT), lambda: Session(store, tasks, sessions)
    )
    try:
        await asyncio.Event().wait()
    finally:
        listener.close()
        for session in list(sessions):
            session.abort()
        await tasks.close()
        file.close()
