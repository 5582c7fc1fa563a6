"""Connections, without copies on the way in and with one send on the way out.

The product supplies a ``Receiver`` per connection; the world supplies the ``Connection``.

    world                                 product
    opened(connection)  ───────────────▶  keeps the connection
    received(view) ────────────────────▶  looks at everything not consumed yet,
                   ◀── bytes consumed ──  takes whole frames, leaves the rest
                   ◀── send(parts) ─────  any time; parts of one ``received`` leave together
    closed(error)  ────────────────────▶  exactly once, and nothing after it

Non-obvious:

- The view shown to ``received``, and every slice of it, stays valid for as long as somebody holds
  it: the world never writes again into memory that is still looked at.  Hold what you need, let
  go of what you do not; there is nothing to copy and nothing to give back.
- A receiver that waits for a frame of N bytes says so with ``expect(N)``.  It is a hint for the
  next buffer, not a demand: memory grows with the bytes that arrive, not with a length somebody
  claims.
- ``send`` does not block.  Whoever produces more than the peer takes must look at
  ``unsent_bytes`` or await ``drained()``.
- A peer that ends its side has ended the connection, even in the middle of a frame: no more is
  read, what is queued is sent, and ``closed(None)`` follows.  A paused connection learns of it when
  it resumes or sends.
- ``closed`` is a call of its own, in a later turn of the loop: never from within ``send``,
  ``close``, ``abort`` or ``received``.  Between ``close`` or ``abort`` and ``closed`` nothing is
  received.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from barnabas.model.value import value
from barnabas.runtime.disk import Buffer, File

# ``unsent_bytes`` is small from here on down.
DRAINED_BYTES: Final = 65_536


@value
class Address:
    """Where a listener is: a host name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Connection(Protocol):
    """One end of a connection, from ``opened`` until ``closed``."""

    @property
    def local(self) -> Address:
        """This end."""
        ...

    @property
    def remote(self) -> Address:
        """The other end."""
        ...

    @property
    def unsent_bytes(self) -> int:
        """How much was given to ``send`` and has not been handed to the network."""
        ...

    def send(self, parts: Sequence[Buffer]) -> None:
        """Send the parts in order, after everything sent before.

        Parts are not copied where that can be helped: do not change them afterwards.
        On a connection that is closing or closed this does nothing: ``closed`` tells the story.
        """

    def send_file(self, file: File, offset: int, count: int) -> None:
        """Send a slice of a file, in its turn, past Python where the platform can.

        The file stays open for as long, even if its owner closes it.  If it turns out shorter,
        the connection is aborted: the peer was promised more.
        """

    async def drained(self) -> None:
        """Return when ``unsent_bytes`` is small.

        Raises ``ConnectionError`` on a connection that is closing or closed, so that nobody goes
        on producing for it.
        """

    def expect(self, count: int) -> None:
        """Hint that ``received`` will consume nothing before it sees ``count`` bytes."""

    def pause(self) -> None:
        """Stop reading: the peer will feel it.  Harmless when paused."""

    def resume(self) -> None:
        """Read again.  Harmless when reading."""

    def close(self) -> None:
        """Send what is queued, however long the peer takes, then close; ``closed(None)`` follows.

        Harmless when closing or closed; ``abort`` is the way out of a wait that is too long.
        """

    def abort(self) -> None:
        """Drop what is queued and reset: the peer learns of an error.

        ``closed`` with a ``ConnectionAbortedError`` follows.  Harmless when closed.
        """


class Receiver(Protocol):
    """What the product does with one connection.  All calls come from the node's loop."""

    def opened(self, connection: Connection) -> None:
        """Take the connection; the first call."""

    def received(self, data: memoryview) -> int:
        """Look at all bytes not consumed yet and return how many are consumed now.

        Called again only when more bytes have arrived.  Raising is a bug: the connection is
        aborted, ``closed`` is told the exception, and the exception ends the process's life.
        """
        ...

    def closed(self, error: Exception | None) -> None:
        """Learn that the connection is over; None for an orderly end.  The last call.

        Otherwise an ``OSError`` (``ConnectionError`` from the peer or from ``abort``), or what
        this receiver itself has raised.
        """


class Listener(Protocol):
    """A port that accepts connections."""

    @property
    def address(self) -> Address:
        """Where it listens; the port is the real one even if 0 was asked for."""
        ...

    def close(self) -> None:
        """Accept no more; accepted connections live on.  Harmless when closed."""


class Network(Protocol):
    """The network as one host sees it."""

    async def listen(self, address: Address, accept: Callable[[], Receiver]) -> Listener:
        """Listen; each connection gets a receiver of its own.  Port 0 picks a free one."""
        ...

    async def connect(self, address: Address, receiver: Receiver, timeout_ms: int) -> Connection:
        """Connect and return after ``receiver.opened``.

        Raises ``OSError``: refused, unreachable, or ``TimeoutError`` (which is one).
        """
        ...
