"""One TCP connection: bytes in without knowing who still looks at them, bytes out in one send.

    readable ─▶ recv ─▶ received(view) ─▶ parts queue up ─▶ one send
                  ▲            │ not consumed
                  └─ kept ◀────┘
                                      ┌── writable ◀── the kernel is full
                                      └─▶ send, sendfile, send …

**Reading.** When nothing is kept, a read asks the kernel for up to 64 KiB as a new ``bytes``
object.  The object shrinks to what came, is handed on, and belongs to whoever holds a view of it;
an idle connection therefore owns no buffer at all, and nobody has to find out whether a buffer may
be written again.  This was measured against a shared buffer of which small reads are copied out,
and against asking a ``bytearray`` whether it is still looked at: it is the fastest of the three
from 100 bytes to 64 KiB (decision 0005).  Only bytes that were not consumed are kept, in a
buffer that grows with them towards what ``expect`` announced, and the next reads go straight in
there.  A buffer that is full up to the announced frame ends with that frame, so that whoever holds
the frame holds nothing else.

**Writing.** Parts wait in one queue with slices of files between them.  What ``received`` sends
leaves when it returns; what tasks send leaves at the end of the loop's turn.  Few bytes are joined
into one block, many go to ``sendmsg`` as they are.  A slice goes from file to socket inside the
kernel, and what stands before it is sent with the word that more will follow, so that a header
travels in the same segment as its data.

**The end.**

    OPEN ──close()──▶ CLOSING ──all sent──▶ LINGERING ──peer's end, or time──▶ CLOSED
      │                  │                                                       ▲
      └── abort(), an error on the wire, a receiver that raised ─────────────────┘

Non-obvious:

- A peer that closes its side has ended the connection, even in the middle of a frame; what is
  queued is still sent.  So does Kafka.
- LINGERING is of no concern to the receiver, which has been told.  Linux answers bytes that come
  after ``close`` with a reset, and a reset may overtake the last reply; so the socket is kept a
  while and what comes is dropped.
- A paused connection does not read, so it learns of the peer's end when it resumes or sends.
- A receiver that raises is a bug.  Its connection is aborted, the receiver is told with its own
  exception, and the exception goes to ``on_failure``: the node decides to stop.
"""

import asyncio
import contextlib
import enum
import errno
import os
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Final

from barnabas.host.disk import HostFile
from barnabas.runtime.disk import Buffer, File
from barnabas.runtime.network import DRAINED_BYTES, Address, Receiver
from barnabas.runtime.tasks import OnFailure

# The most one read takes.  Allocating more than 128 KiB asks the kernel for pages each time.
READ_BYTES: Final = 65_536

# Up to here, copying parts together is cheaper than describing them to the kernel one by one.
JOIN_BYTES: Final = 16_384

# The most parts that sendmsg takes (UIO_MAXIOV of Linux, IOV_MAX of the BSDs).
PARTS_MAX: Final = 1_024

# The most one connection sends before others have their turn.
TURN_BYTES: Final = 4_194_304

# A buffer for a frame that is expected grows by this factor: after the first read of a batch of
# 1 MiB, the most a client sends by default, there is room for all of it.
GROWTH: Final = 16

# A kept buffer may be this many times larger than what it holds.
SLACK: Final = GROWTH + 2

# How long a socket whose end has been sent waits for the peer's.
LINGER_SECONDS: Final = 2.0

# Says that more follows; where the platform has no such word the network decides.
MORE: Final[int] = getattr(socket, "MSG_MORE", 0)

# SO_LINGER with no time at all: ``close`` resets.
RESET: Final = struct.pack("ii", 1, 0)


class Stage(enum.Enum):
    """How far a connection has come."""

    OPEN = enum.auto()
    CLOSING = enum.auto()
    LINGERING = enum.auto()
    CLOSED = enum.auto()


OPEN: Final = Stage.OPEN
CLOSED: Final = Stage.CLOSED


class Slice:
    """What is left to send of a file, which stays open for as long even if its owner closes it."""

    __slots__ = ("count", "file", "number", "offset")

    def __init__(self, file: HostFile, offset: int, count: int) -> None:
        self.file: Final = file
        self.number: Final = file.hold()
        self.offset = offset
        self.count = count


class HostConnection:
    """One end of a TCP connection."""

    __slots__ = (
        "_buffer",
        "_drained",
        "_ended",
        "_expected",
        "_filled",
        "_flushing",
        "_forget",
        "_lingering",
        "_loop",
        "_on_failure",
        "_paused",
        "_queue",
        "_receiver",
        "_receiving",
        "_recv",
        "_send",
        "_slices",
        "_socket",
        "_stage",
        "_unsent",
        "_writing",
        "local",
        "remote",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        receiver: Receiver,
        forget: Callable[["HostConnection"], None],
        on_failure: OnFailure,
    ) -> None:
        """Take a connected, non-blocking socket; ``forget`` is called when it is given back."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.local: Final = address_of(sock.getsockname())
        self.remote: Final = address_of(sock.getpeername())
        self._loop: Final = loop
        self._socket: Final = sock
        self._recv: Final = sock.recv
        self._send: Final = sock.send
        self._receiver: Receiver = receiver
        self._forget: Final = forget
        self._on_failure: Final = on_failure
        self._stage = Stage.OPEN
        # Reading.  _buffer holds _filled bytes that were not consumed, and room behind them.
        self._buffer: bytearray | None = None
        self._filled = 0
        self._expected = 0
        self._paused = False
        self._receiving = False
        self._ended = False
        # Writing.  _slices counts those in _queue; _flushing: at the end of this turn; _writing:
        # as soon as the kernel takes more.
        self._queue: list[Buffer | Slice] = []
        self._slices = 0
        self._unsent = 0
        self._flushing = False
        self._writing = False
        self._drained: list[asyncio.Future[None]] = []
        self._lingering: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Introduce the receiver, then read."""
        try:
            self._receiver.opened(self)
        except Exception as error:  # noqa: BLE001 -- the top of what runs here
            self._failed(error)
        if self._stage is OPEN and not self._paused:
            self._loop.add_reader(self._socket, self._readable)

    # What the product asks for.

    @property
    def unsent_bytes(self) -> int:
        """How much was given to ``send`` and has not been handed to the kernel."""
        return self._unsent

    def send(self, parts: Sequence[Buffer]) -> None:
        """Send the parts in order, after everything sent before."""
        if self._stage is not OPEN:
            return
        self._unsent += len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        self._queue += parts
        if not (self._receiving or self._writing or self._flushing):
            self._flushing = True
            self._loop.call_soon(self._turn_ends)

    def send_file(self, file: File, offset: int, count: int) -> None:
        """Send a slice of a file, in its turn."""
        if self._stage is not OPEN or not count:
            return
        assert isinstance(file, HostFile), f"{file} is not a file of this world"
        self._slices += 1
        self._queue.append(Slice(file, offset, count))
        self._unsent += count
        self.send(())

    async def drained(self) -> None:
        """Return when ``unsent_bytes`` is small; ``ConnectionError`` if nothing can be sent."""
        if self._stage is not OPEN:
            raise ConnectionAbortedError(errno.ECONNABORTED, f"{self} is closed")
        if self._unsent > DRAINED_BYTES:
            waiter = self._loop.create_future()
            self._drained.append(waiter)
            await waiter

    def expect(self, count: int) -> None:
        """Hint that ``received`` will consume nothing before it sees ``count`` bytes."""
        self._expected = count

    def pause(self) -> None:
        """Stop reading."""
        if not self._paused:
            self._paused = True
            if self._stage is OPEN:
                self._loop.remove_reader(self._socket)

    def resume(self) -> None:
        """Read again."""
        if self._paused:
            self._paused = False
            if self._stage is OPEN:
                self._loop.add_reader(self._socket, self._readable)

    def close(self) -> None:
        """Send what is queued, however long the peer takes to read it, then close."""
        if self._stage is not OPEN:
            return
        self._stage = Stage.CLOSING
        self._loop.remove_reader(self._socket)
        if not self._queue:
            self._finish()

    def abort(self) -> None:
        """Drop what is queued and reset."""
        self._lost(ConnectionAbortedError(errno.ECONNABORTED, f"{self} was aborted by this end"))

    # Reading.

    def _readable(self) -> None:
        buffer = self._buffer
        try:
            if buffer is None:
                data = memoryview(self._recv(READ_BYTES))
            else:
                data = self._read_behind(buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lost(error)
            return
        size = len(data)
        if size == self._filled:
            self._ended = True
            self.close()
            return
        self._receiving = True
        self._expected = 0
        try:
            consumed = self._receiver.received(data)
            assert 0 <= consumed <= size, f"consumed {consumed} bytes of {size}"
        except Exception as error:  # noqa: BLE001 -- the top of what runs here
            self._failed(error)
            return
        finally:
            self._receiving = False
        if consumed == size:
            self._buffer = None
            self._filled = 0
        elif self._stage is OPEN:
            self._keep(data, consumed)
        if self._queue and not self._writing:
            self._flush()

    def _read_behind(self, buffer: bytearray) -> memoryview:
        """Read into the room behind what is kept, and return all of it."""
        filled = self._filled
        if filled == len(buffer):
            self._buffer = bytearray(room(filled, self._expected))
            self._buffer[:filled] = buffer
            buffer = self._buffer
        view = memoryview(buffer)
        return view[: filled + self._socket.recv_into(view[filled:])]

    def _keep(self, data: memoryview, consumed: int) -> None:
        """Keep what was not consumed."""
        filled = len(data) - consumed
        buffer = self._buffer
        if buffer is None or consumed or len(buffer) > SLACK * filled:
            # Views of the old buffer may be held, so what remains moves.  It moves into room for
            # the rest if what has come is in proportion to that.
            size = room(filled, self._expected)
            self._buffer = bytearray(size if size <= SLACK * filled else filled)
            self._buffer[:filled] = data[consumed:]
        self._filled = filled

    # Writing.

    def _turn_ends(self) -> None:
        self._flushing = False
        if self._queue and not self._writing:
            self._flush()

    def _flush(self) -> None:
        """Hand the kernel what it takes; come back when it takes more."""
        try:
            if self._slices or self._unsent > JOIN_BYTES:
                self._send_many()
            elif self._send_few() and not self._writing and self._stage is OPEN:
                # By far the most frequent case: all has gone and nobody waits for that.
                return
        except (BlockingIOError, InterruptedError):
            self._settle()
        except OSError as error:
            self._lost(error)
        else:
            self._settle()

    def _settle(self) -> None:
        """See to those who wait for the queue."""
        if not self._queue:
            if self._writing:
                self._writing = False
                self._loop.remove_writer(self._socket)
            if self._stage is Stage.CLOSING:
                self._finish()
        elif not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._flush)
        if self._drained and self._unsent <= DRAINED_BYTES:
            waiters, self._drained = self._drained, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def _send_few(self) -> bool:
        """Send a queue of few bytes, and return whether the kernel took all of them."""
        # There is no slice among them.
        parts: list[Buffer] = self._queue  # type: ignore[assignment]  # -- see above
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        sent = self._send(data)
        parts.clear()
        if sent == self._unsent:
            self._unsent = 0
            return True
        self._unsent -= sent
        parts.append(memoryview(data)[sent:])
        return False

    def _send_many(self) -> None:
        """Send until the kernel takes no more, or others should have their turn."""
        until = self._unsent - TURN_BYTES
        while self._queue and self._unsent > until:
            if self._slices:
                whole = self._send_around_slices()
            else:
                # There is no slice among them.
                parts: list[Buffer] = self._queue[:PARTS_MAX]  # type: ignore[assignment]  # -- so
                whole = self._send_parts(parts, 0)
            if not whole:
                break

    def _send_around_slices(self) -> bool:
        head = self._queue[0]
        if isinstance(head, Slice):
            return self._send_slice(head)
        parts: list[Buffer] = []
        for part in self._queue:
            if isinstance(part, Slice):
                return self._send_parts(parts, MORE)
            parts.append(part)
            if len(parts) == PARTS_MAX:
                break
        return self._send_parts(parts, 0)

    def _send_parts(self, parts: list[Buffer], flags: int) -> bool:
        """Send the parts at the head of the queue."""
        sent = left = self._socket.sendmsg(parts, (), flags)
        self._unsent -= sent
        for at, part in enumerate(parts):
            if left < len(part):
                self._queue[: at + 1] = [memoryview(part)[left:]]
                return False
            left -= len(part)
        del self._queue[: len(parts)]
        return True

    def _send_slice(self, head: Slice) -> bool:
        """Send of the slice at the head of the queue."""
        wanted = min(head.count, TURN_BYTES)
        sent = os.sendfile(self._socket.fileno(), head.number, head.offset, wanted)
        if not sent:
            raise ConnectionAbortedError(
                errno.ECONNABORTED,
                f"{head.file.path} ends at {head.offset}; {self} was promised {head.count} more",
            )
        self._unsent -= sent
        head.offset += sent
        head.count -= sent
        if not head.count:
            head.file.release()
            del self._queue[0]
            self._slices -= 1
        return sent == wanted

    # The end.

    def _finish(self) -> None:
        """Send the end: everything queued is on its way."""
        assert self._stage is Stage.CLOSING
        assert not self._queue
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._lost(error)
            return
        self._stage = Stage.LINGERING
        self._loop.call_soon(self._tell, None)
        if self._ended:
            self._release()
        else:
            self._loop.add_reader(self._socket, self._discard)
            self._lingering = self._loop.call_later(LINGER_SECONDS, self._release)

    def _discard(self) -> None:
        try:
            over = not self._recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # A reset is an end too, and the receiver has been told of an orderly one.
            over = True
        if over:
            self._release()

    def _failed(self, error: Exception) -> None:
        """Deal with a receiver that raised: a bug."""
        self._lost(error)
        self._on_failure(f"{self}", error)

    def _lost(self, error: Exception) -> None:
        """End at once, by a reset if the peer is still there."""
        if self._stage is CLOSED:
            return
        # Some platforms refuse options on a connection that the peer has reset.
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._release()
        # Whoever was told of an orderly end before is not told again.
        self._loop.call_soon(self._tell, error)

    def _release(self) -> None:
        """Give the socket back."""
        self._stage = CLOSED
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        if self._lingering is not None:
            self._lingering.cancel()
        self._socket.close()
        for part in self._queue:
            if isinstance(part, Slice):
                part.file.release()
        self._queue.clear()
        self._slices = self._unsent = 0
        self._buffer = None
        self._forget(self)

    def _tell(self, error: Exception | None) -> None:
        """Tell everybody who waits that it is over."""
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_exception(ConnectionAbortedError(errno.ECONNABORTED, f"{self} closed"))
        self._drained.clear()
        # Told once: there may have been an end and then a reset.  And connection and receiver know
        # each other; letting go here spares the collector the cycle.
        receiver, self._receiver = self._receiver, NOBODY
        try:
            receiver.closed(error)
        except Exception as bug:  # noqa: BLE001 -- the top of what runs here
            self._on_failure(f"{self}", bug)

    def __str__(self) -> str:
        return f"connection {self.local} to {self.remote}"


class Nobody:
    """The receiver of a connection that is over."""

    def opened(self, connection: object) -> None:
        """Never called."""
        raise AssertionError(f"{connection} was opened after it was over")

    def received(self, data: memoryview) -> int:
        """Never called."""
        raise AssertionError(f"{len(data)} bytes for a connection that is over")

    def closed(self, error: Exception | None) -> None:
        """Not care."""


NOBODY: Final = Nobody()


def room(filled: int, expected: int) -> int:
    """Return how large a buffer should be that holds ``filled`` bytes of ``expected``.

    At least another read, up to what is expected, but in proportion to what has come: a length
    that somebody claims costs nobody memory.
    """
    return min(max(expected, filled + READ_BYTES), GROWTH * filled + READ_BYTES)


def address_of(name: tuple[str, int] | tuple[str, int, int, int]) -> Address:
    """Return the address in what the socket module calls a name."""
    return Address(name[0], name[1])
