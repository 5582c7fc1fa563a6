"""A connection: two ends, and a pipe of bytes in each direction.

    send ─▶ unsent ─▶ window ─▶ segments ─▶ link ─▶ inbox ─▶ received
            (in the process)    (in the kernels and on the wire)    (in the other process)

Bytes are copied once, when they are sent, and are immutable from then on: two processes never look
at the same object that one of them may change, and views stay valid for as long as somebody wants.

Who learns what, and when

``close``       what is queued, then FIN; the other end hears ``closed(None)`` after the last byte
``abort``       a reset after what is on the wire; the other end hears ``ConnectionResetError``,
                this one ``ConnectionAbortedError``
killed          the kernel of that host goes on: FIN, or a reset if bytes lie unread
no power        nothing: the other end is half open until it sends and is not answered
cut link        nothing, until it heals or the sender gives up (``TimeoutError``)

Non-obvious:

- A window's worth of bytes is in flight at most; the rest is ``unsent``, in the process, and dies
  with it.
- The receiver's acknowledgements travel the other way: where only that way is cut, bytes arrive and
  the sender stalls all the same.
- ``linger`` stalls one pipe while its link is fine: the owner gives up and reconnects, and what it
  said on the old connection arrives after what it says on the new one.  TCP keeps order inside a
  connection and promises nothing between two.
- A reset travels in order, behind the data before it; what has arrived can still be read.
"""

import errno
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol, TypeAlias
from zlib import crc32

from barnabas.runtime.disk import Buffer, File
from barnabas.runtime.network import DRAINED_BYTES, Address, Receiver
from barnabas.sim.kernel import Kernel
from barnabas.sim.link import Link
from barnabas.sim.loop import NodeLoop
from barnabas.sim.tape import Tape

# After an outage the next attempt to send again comes up to as long later as the outage was, for
# TCP doubles its patience each time; but not more than this.
BACKOFF_NS_MAX: Final = 30_000_000_000

# Pieces that one send is cut into at most, and the time between two of them.
PIECES_MAX: Final = 64
PIECE_GAP_NS: Final = 300_000

Kind: TypeAlias = Literal["data", "fin", "rst", "syn-ack"]


class Owner(Protocol):
    """The process that an end of a connection belongs to."""

    @property
    def loop(self) -> NodeLoop:
        """Its loop."""
        ...

    def assert_alive(self) -> None:
        """Raise ``DeadIncarnation`` if the process is dead."""


class Tuning:
    """What TCP is set to on every host of a world."""

    def __init__(self, window_bytes: int = 256 * 1024, patience_ms: int = 20_000) -> None:
        self.window_bytes: Final = window_bytes
        # How long a sender waits for an acknowledgement before it gives the connection up.
        self.patience_ns: Final = patience_ms * 1_000_000


class Segment:
    """Some bytes on their way, or the end of them."""

    __slots__ = ("count", "here", "kind", "parts", "pipe")

    def __init__(self, pipe: "Pipe", kind: Kind, part: Buffer) -> None:
        self.pipe: Final = pipe
        self.kind: Final = kind
        self.parts: Final = [part]
        self.count = len(part)
        self.here = False


class Pipe:
    """One direction of one connection: from the window of one end to the inbox of the other."""

    def __init__(
        self,
        kernel: Kernel,
        tape: Tape,
        link: Link,
        reverse: Link,
        source: "SimConnection",
        target: "SimConnection",
    ) -> None:
        self.link: Final = link
        self.source: Final = source
        self.target: Final = target
        self.in_flight_bytes = 0
        self.stalled = False
        self.abandoned = False
        self._reverse: Final = reverse
        self._kernel: Final = kernel
        self._last_ns = 0
        # Everything on the way, in order: what overtook something on the wire waits for it here.
        self._queue: Final[deque[Segment]] = deque()
        self._held: Final[list[Segment]] = []
        self._held_since_ns = 0
        # Bytes read by the other end whose acknowledgement could not travel.
        self._owed_bytes = 0
        self._watching = False
        self._joinable: Segment | None = None
        self._joinable_event = -1
        self._backoff: Final = tape.site(f"net/{link}/backoff")
        self._pieces: Final = tape.site(f"net/{link}/pieces")
        self._corrupt: Final = tape.site(f"net/{link}/corrupt")
        self._fin: Final = tape.site(f"net/{link}/fin")

    def transmit(self, data: Buffer) -> None:
        """Put bytes on the wire, in one segment or in several."""
        self.in_flight_bytes += len(data)
        largest = self.link.segment_bytes_max
        if not largest:
            # What one handle sends leaves together.
            if self._joinable is not None and self._joinable_event == self._kernel.events:
                self._joinable.parts.append(data)
                self._joinable.count += len(data)
                return
            self._joinable = self._segment("data", data)
            self._joinable_event = self._kernel.events
            return
        view = memoryview(data)
        # Not too many pieces of what is large: they would be all that the run does.
        least = len(view) // PIECES_MAX
        while view:
            count = min(len(view), max(least, largest - self._pieces.below(largest)))
            self._last_ns += 1 + self._pieces.below(PIECE_GAP_NS)
            self._segment("data", view[:count])
            view = view[count:]

    def not_before(self, leaving_ns: int) -> None:
        """Let nothing that is sent from now on leave before this."""
        self._last_ns = max(self._last_ns, leaving_ns + self.link.latency_ns)

    def signal(self, kind: Kind) -> None:
        """Send what is not data, behind all data; the end of a stream may take its time."""
        self._joinable = None
        if kind == "fin" and self.link.fin_delay_ns_max:
            delay_ns = self._fin.below(self.link.fin_delay_ns_max)
            self._last_ns = max(self._last_ns, self._kernel.now_ns + delay_ns)
        self._segment(kind, b"")

    def _segment(self, kind: Kind, part: Buffer) -> Segment:
        link = self.link
        if link.corrupt_per_million and part and self._corrupt.chance(link.corrupt_per_million):
            spoiled = bytearray(part)
            spoiled[self._corrupt.below(len(spoiled))] ^= 1 << self._corrupt.below(8)
            part = bytes(spoiled)
        segment = Segment(self, kind, part)
        self._queue.append(segment)
        # Never before what was sent before it.
        self._last_ns = max(self._last_ns, link.arrival_ns(len(part)))
        self._kernel.at(self._last_ns, arrive, segment)
        return segment

    # ---- when nothing gets through

    def hold(self, segment: Segment) -> None:
        """Keep a segment until it can go on."""
        if not self._held:
            self._held_since_ns = self._kernel.now_ns
        self._held.append(segment)
        if not self.stalled:
            self.link.hold(self)
            self._watch()

    def deliver(self, segment: Segment) -> None:
        """Hand over what has arrived, in the order in which it was sent."""
        segment.here = True
        queue = self._queue
        while queue and queue[0].here:
            self.target.arrived(queue.popleft())

    def stall(self, duration_ns: int) -> None:
        """Let nothing of this pipe arrive for so long, whatever its link does."""
        if not self.stalled:
            self.stalled = True
            self._kernel.after(duration_ns, _unstall, self)

    def unstall(self) -> None:
        """Let everything go on that waited."""
        self.stalled = False
        if self._held or self._owed_bytes:
            self.link_healed()

    def link_healed(self) -> None:
        """Send again what waited, as late as TCP might."""
        if self.stalled:
            return
        if self.link.blocked or (self._owed_bytes and self._reverse.blocked):
            (self.link if self.link.blocked else self._reverse).hold(self)
            return
        self.acknowledge(0)
        if not self._held:
            return
        now_ns = self._kernel.now_ns
        outage_ns = min(now_ns - self._held_since_ns, BACKOFF_NS_MAX)
        self._last_ns = max(self._last_ns, now_ns + self._backoff.below(outage_ns + 1))
        held = list(self._held)
        self._held.clear()
        for segment in held:
            self._last_ns = max(self._last_ns, self.link.arrival_ns(segment.count))
            self._kernel.at(self._last_ns, arrive, segment)

    def acknowledge(self, count: int) -> None:
        """Tell the sender that bytes were read, if the way back is open."""
        if self._reverse.blocked:
            self._owed_bytes += count
            self._reverse.hold(self)
            self._watch()
            return
        self.in_flight_bytes -= count + self._owed_bytes
        self._owed_bytes = 0
        self.source.window_opened()

    def _watch(self) -> None:
        """Start the patience of a sender that is not answered."""
        if not self._watching:
            self._watching = True
            self._kernel.after(self.source.tuning.patience_ns, _lose_patience, self)

    def lose_patience(self) -> None:
        """Give the connection up unless it has got better."""
        self._watching = False
        waited_ns = self._kernel.now_ns - self._held_since_ns
        if self._owed_bytes or (self._held and waited_ns >= self.source.tuning.patience_ns):
            self._held.clear()
            self._queue.clear()
            self._owed_bytes = 0
            self.abandoned = True
            self.source.lost(TimeoutError(errno.ETIMEDOUT, f"no answer from {self.source.remote}"))
        elif self._held:
            self._watch()


def arrive(segment: Segment) -> None:
    """Hand a segment to the end it is for, unless something is in the way."""
    pipe = segment.pipe
    if pipe.abandoned:
        return
    link = pipe.link
    if pipe.stalled or link.blocked:
        pipe.hold(segment)
    elif link.rejects:
        pipe.source.lost(ConnectionResetError(errno.ECONNRESET, f"{link} rejects"))
        pipe.target.lost(ConnectionResetError(errno.ECONNRESET, f"{link} rejects"))
    else:
        pipe.deliver(segment)


def _unstall(pipe: Pipe) -> None:
    pipe.unstall()


def _lose_patience(pipe: Pipe) -> None:
    pipe.lose_patience()


class SimConnection:
    """One end of a connection: ``runtime.Connection``."""

    out: Pipe
    into: Pipe

    def __init__(
        self,
        kernel: Kernel,
        owner: Owner,
        local: Address,
        remote: Address,
        tuning: Tuning,
        forget: Callable[["SimConnection"], None],
    ) -> None:
        self.tuning: Final = tuning
        self.receiver: Receiver | None = None
        self.established: Callable[[], None] | None = None
        self._kernel: Final = kernel
        self._owner: Final = owner
        self._local: Final = local
        self._remote: Final = remote
        self._forget: Final = forget
        self._unsent: Final[deque[Buffer]] = deque()
        self._unsent_bytes = 0
        self._inbox: Final[list[Buffer]] = []
        self._inbox_bytes = 0
        self._left: Buffer = b""
        self._expected_bytes = 0
        self._paused = False
        self._corked = False
        self._reading = False
        self._ended = False
        self._error: Exception | None = None
        # open: both ways; closing: sending what is queued; shut: the socket is gone.
        self._closing = False
        self._shut = False
        self._told = False
        self._waiters: Final[list[Future[None]]] = []

    def __repr__(self) -> str:
        return f"<{self._local} to {self._remote}>"

    @property
    def local(self) -> Address:
        """This end."""
        return self._local

    @property
    def remote(self) -> Address:
        """The other end."""
        return self._remote

    @property
    def unsent_bytes(self) -> int:
        """How much was given to ``send`` and has not been handed to the network."""
        return self._unsent_bytes

    @property
    def shut(self) -> bool:
        """Whether this host knows nothing of the connection any more."""
        return self._shut

    @property
    def _ending(self) -> bool:
        return self._closing or self._shut or self._ended

    # ---- what the product does

    def send(self, parts: Sequence[Buffer]) -> None:
        """Send the parts in order, after everything sent before."""
        self._owner.assert_alive()
        if self._ending:
            return
        # One copy, and immutable: what the sender does with its buffers later is its own affair.
        data = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        if not data:
            return
        busy_until_ns = self._owner.loop.free_at_ns
        if busy_until_ns > self._kernel.now_ns:
            # Something slow came before this in the same handle, a write to a disk perhaps.
            self.out.not_before(busy_until_ns)
        if self._corked:
            # What ``received`` sends leaves when it has returned, or never if it aborts.
            self._unsent.append(data)
            self._unsent_bytes += len(data)
            return
        if not self._unsent and self.out.in_flight_bytes + len(data) <= self.tuning.window_bytes:
            self.out.transmit(data)
            return
        self._unsent.append(data)
        self._unsent_bytes += len(data)
        self._pump()

    def send_file(self, file: File, offset: int, count: int) -> None:
        """Send a slice of a file, in its turn; abort if there is less of it than promised."""
        self._owner.assert_alive()
        data = file.read(offset, count)
        if len(data) < count:
            self.abort()
            return
        self.send((data,))

    async def drained(self) -> None:
        """Return when ``unsent_bytes`` is small; raise ``ConnectionError`` if it is ending."""
        self._owner.assert_alive()
        while self._unsent_bytes > DRAINED_BYTES and not self._ending:
            waiter: Future[None] = self._owner.loop.create_future()
            self._waiters.append(waiter)
            await waiter
        if self._ending:
            raise ConnectionResetError(errno.ECONNRESET, f"the connection to {self._remote} ends")

    def expect(self, count: int) -> None:
        """Hint that ``received`` will consume nothing before it sees ``count`` bytes."""
        self._owner.assert_alive()
        self._expected_bytes = count

    def pause(self) -> None:
        """Stop reading: the peer will feel it."""
        self._owner.assert_alive()
        self._paused = True

    def resume(self) -> None:
        """Read again."""
        self._owner.assert_alive()
        if self._paused:
            self._paused = False
            self._look()

    def close(self) -> None:
        """Send what is queued, then close.  ``closed(None)`` follows."""
        self._owner.assert_alive()
        if not self._closing and not self._shut:
            self._closing = True
            self._wake_waiters()
            if not self._corked:
                self._pump()

    def abort(self) -> None:
        """Drop what is queued and reset; ``closed`` with a ``ConnectionAbortedError`` follows."""
        self._owner.assert_alive()
        if not self._shut:
            self.out.signal("rst")
            why = f"the connection to {self._remote} was aborted here"
            self.lost(ConnectionAbortedError(errno.ECONNABORTED, why))

    # ---- what the network does

    def arrived(self, segment: Segment) -> None:
        """Take a segment off the wire."""
        if self._shut:
            # Nobody has this socket: whoever still sends is told so.
            if segment.kind != "rst" and not self.into.source.shut:
                self.out.signal("rst")
            return
        match segment.kind:
            case "data":
                data = segment.parts[0] if len(segment.parts) == 1 else b"".join(segment.parts)
                self._kernel.mix(crc32(data))
                self._inbox.append(data)
                self._inbox_bytes += segment.count
            case "fin":
                self._ended = True
            case "rst":
                self._ended = True
                self._error = ConnectionResetError(errno.ECONNRESET, f"{self._remote} reset it")
                self._drop_unsent()
                if self._closing:
                    self.lost(self._error)
                    return
            case "syn-ack":
                if self.established is not None:
                    self.established()
                return
        self._look()

    def lost(self, error: Exception) -> None:
        """Learn from this host's own kernel that the connection is no more."""
        if not self._shut:
            self._shut_down()
            self._owner.loop.input(self._tell, error)

    def window_opened(self) -> None:
        """Send more, if there is more."""
        if not (self._shut or self._corked) and (self._unsent or self._closing):
            self._pump()

    def accepted(self, receiver: Receiver) -> None:
        """Begin: this end has a receiver now.  Runs on the process's loop."""
        self.receiver = receiver
        receiver.opened(self)
        self._look()

    def orphan(self, reset: bool) -> None:
        """Go on without a process: the kernel closes what the dead had open."""
        if not self._shut:
            # What lies in the process's own memory is lost; what the kernel took is sent.
            unread = bool(self._inbox)
            self.out.signal("rst" if reset or unread else "fin")
            self._shut_down()

    def vanish(self) -> None:
        """Be gone with the power, telling nobody."""
        self._shut_down()

    # ---- inside

    def _pump(self) -> None:
        """Move unsent bytes into the window; behind the last one, end if that is wanted."""
        window_bytes = self.tuning.window_bytes
        while self._unsent:
            room = window_bytes - self.out.in_flight_bytes
            if room <= 0:
                return
            part = self._unsent.popleft()
            if len(part) > room:
                view = memoryview(part)
                self._unsent.appendleft(view[room:])
                part = view[:room]
            self._unsent_bytes -= len(part)
            self.out.transmit(part)
        if self._unsent_bytes <= DRAINED_BYTES:
            self._wake_waiters()
        if self._closing:
            self.out.signal("fin")
            self._shut_down()
            self._owner.loop.input(self._tell, None)

    def _look(self) -> None:
        """Queue a look at the inbox on the process's loop."""
        if not self._reading and not self._paused and self.receiver is not None:
            self._reading = True
            self._owner.loop.input(self._read)

    def _read(self) -> None:
        """Show the receiver what has come.  Runs on the process's loop."""
        self._reading = False
        if self._shut or self._closing or self._paused:
            return
        if self._inbox:
            count = self._inbox_bytes
            parts = [self._left, *self._inbox] if self._left else self._inbox
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            self._inbox.clear()
            self._inbox_bytes = 0
            self.into.acknowledge(count)
            self._show(data)
        self._end_if_over()

    def _show(self, data: Buffer) -> None:
        """Let the receiver look, unless it said that this is not enough."""
        if len(data) < self._expected_bytes:
            self._left = data
            return
        self._expected_bytes = 0
        receiver = self.receiver
        assert receiver is not None, f"{self} has bytes and nobody to show them to"
        self._corked = True
        try:
            consumed = receiver.received(memoryview(data))
        except Exception as error:
            # A bug: the process is about to end of it, and this connection hears it first.
            self.out.signal("rst")
            self._shut_down()
            self._tell(error)
            raise
        finally:
            self._corked = False
        assert 0 <= consumed <= len(data), f"{self}: {consumed} of {len(data)} bytes consumed"
        self._left = memoryview(data)[consumed:] if consumed < len(data) else b""
        if not self._shut and (self._unsent or self._closing):
            self._pump()

    def _end_if_over(self) -> None:
        """End because the other end did and everything it said was shown."""
        if not self._ended or self._paused or self._shut:
            return
        if self._error is not None:
            self.lost(self._error)
        else:
            # Flush what is queued; the other end closed its socket and will answer with a reset
            # if it minds.
            self._closing = True
            self._pump()

    def _tell(self, error: Exception | None) -> None:
        """Tell the receiver, once, that it is over.  Runs on the process's loop."""
        if not self._told and self.receiver is not None:
            self._told = True
            self.receiver.closed(error)

    def _shut_down(self) -> None:
        self._shut = True
        self._drop_unsent()
        self._inbox.clear()
        self._inbox_bytes = 0
        self._forget(self)
        self._wake_waiters()

    def _drop_unsent(self) -> None:
        self._unsent.clear()
        self._unsent_bytes = 0

    def _wake_waiters(self) -> None:
        waiters = list(self._waiters)
        self._waiters.clear()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
