"""The network of this machine: listening and connecting on sockets of our own.

Everything that happens on a connection once it stands is in ``connection``.

Non-obvious:

- A listener has one socket, as Kafka's has.  A name that means several addresses listens on the
  first, IPv4 before IPv6; no name at all means every address of the machine.
- Connecting tries every address a name means, each with its share of the time that is left.
- A machine that cannot accept, because it is out of file descriptors for one, would find its
  listener readable without end: the listener rests for a while and says so in the log.
- A connection to a free port of one's own machine can meet itself, if the kernel happens to pick
  that port for the near end: TCP allows it, and whoever retries long enough will see it.  Nobody
  listens there, so it counts as refused.
"""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable
from typing import Final

from barnabas.host.connection import HostConnection, address_of
from barnabas.runtime.network import Address, Receiver
from barnabas.runtime.tasks import OnFailure

# Connections the kernel may complete before we accept them; it has a limit of its own besides.
BACKLOG: Final = 1_024

# How long a listener rests that could not accept.
REST_SECONDS: Final = 0.1

# What the socket module calls a name; the last is of builds without IPv6.
Name = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]

log: Final = logging.getLogger("barnabas.host")


class HostNetwork:
    """The network as this process sees it."""

    def __init__(self, name: str, on_failure: OnFailure) -> None:
        self._name: Final = name
        self._on_failure: Final = on_failure
        # Ordered, so that closing does the same every time; the values say nothing.
        self._connections: Final[dict[HostConnection, None]] = {}
        self._listeners: Final[dict[HostListener, None]] = {}

    async def listen(self, address: Address, accept: Callable[[], Receiver]) -> "HostListener":
        """Listen; each connection gets a receiver of its own.  Port 0 picks a free one."""
        listener = HostListener(self, await listening_socket(address), accept)
        self._listeners[listener] = None
        return listener

    async def connect(
        self, address: Address, receiver: Receiver, timeout_ms: int
    ) -> HostConnection:
        """Connect and return after ``receiver.opened``."""
        return self.attach(await connected_socket(address, timeout_ms), receiver)

    def attach(self, sock: socket.socket, receiver: Receiver) -> HostConnection:
        """Make a connected socket a connection, and introduce it to its receiver."""
        try:
            connection = HostConnection(
                asyncio.get_running_loop(), sock, receiver, self._forget, self._report
            )
        except OSError:
            # The peer has reset it already.
            sock.close()
            raise
        self._connections[connection] = None
        connection.begin()
        return connection

    def close(self) -> None:
        """Close every listener and abort every connection: the process ends."""
        for listener in list(self._listeners):
            listener.close()
        for connection in list(self._connections):
            connection.abort()

    def closed(self, listener: "HostListener") -> None:
        """Forget a listener."""
        self._listeners.pop(listener, None)

    def accepted(self, sock: socket.socket, accept: Callable[[], Receiver]) -> None:
        """Give an accepted socket its receiver."""
        try:
            receiver = accept()
        except Exception as error:  # noqa: BLE001 -- the top of what runs here
            sock.close()
            self._report("accept", error)
            return
        try:
            self.attach(sock, receiver)
        except OSError as error:
            log.debug("[%s network] accepted and lost: %s", self._name, error)

    def rests(self, address: Address, error: OSError) -> None:
        """Say that a listener cannot accept for now."""
        log.warning(
            "[%s network] %s cannot accept and rests for %s s: %s",
            self._name, address, REST_SECONDS, error,
        )  # fmt: skip

    def _forget(self, connection: HostConnection) -> None:
        del self._connections[connection]

    def _report(self, place: str, error: BaseException) -> None:
        self._on_failure(f"{self._name}/{place}", error)


class HostListener:
    """A socket that accepts connections."""

    def __init__(
        self, network: HostNetwork, sock: socket.socket, accept: Callable[[], Receiver]
    ) -> None:
        self._network: Final = network
        self._socket: Final = sock
        self._accept: Final = accept
        self._loop: Final = asyncio.get_running_loop()
        self._resting: asyncio.TimerHandle | None = None
        self._address: Final = address_of(sock.getsockname())
        self._wake()

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._address

    def close(self) -> None:
        """Accept no more; accepted connections live on."""
        if self._socket.fileno() < 0:
            return
        if self._resting is not None:
            self._resting.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._network.closed(self)

    def _wake(self) -> None:
        self._resting = None
        self._loop.add_reader(self._socket, self._readable)

    def _readable(self) -> None:
        for _ in range(BACKLOG):
            if self._socket.fileno() < 0:
                # Somebody closed us when he saw the connection he had waited for.
                return
            try:
                sock, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._loop.remove_reader(self._socket)
                self._resting = self._loop.call_later(REST_SECONDS, self._wake)
                self._network.rests(self._address, error)
                return
            sock.setblocking(False)
            self._network.accepted(sock, self._accept)


async def listening_socket(address: Address) -> socket.socket:
    """Return a bound socket that listens."""
    if address.host:
        found = await resolved(address, socket.AI_PASSIVE)
        family, where = min(found, key=lambda it: it[0] != socket.AF_INET)
    elif socket.has_dualstack_ipv6():
        family, where = socket.AF_INET6, ("::", address.port)
    else:
        family, where = socket.AF_INET, ("0.0.0.0", address.port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        # A restarted broker must get its port back though old connections linger on it.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(address.host)))
        sock.bind(where)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise told(error, f"cannot listen on {address}") from None
    return sock


async def connected_socket(address: Address, timeout_ms: int) -> socket.socket:
    """Return a socket connected to the first address that answers."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1_000
    try:
        async with asyncio.timeout_at(deadline):
            found = await resolved(address, 0)
    except OSError as error:
        raise told(error, f"cannot connect to {address}") from None
    failure = OSError(errno.EADDRNOTAVAIL, "the name means no address")
    for left, (family, where) in zip(range(len(found), 0, -1), found, strict=True):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            async with asyncio.timeout((deadline - loop.time()) / left):
                await loop.sock_connect(sock, where)
            if meets_itself(sock):
                raise ConnectionRefusedError(errno.ECONNREFUSED, "connected to itself")
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise told(failure, f"cannot connect to {address}")


def meets_itself(sock: socket.socket) -> bool:
    """Tell whether both ends of a connection are the same socket."""
    return bool(sock.getsockname() == sock.getpeername())


def told(error: OSError, what: str) -> OSError:
    """Return the error as one that says what failed."""
    number = error.errno or errno.ETIMEDOUT
    return type(error)(number, f"{what}: {error.strerror or os.strerror(number)}")


async def resolved(address: Address, flags: int) -> list[tuple[socket.AddressFamily, Name]]:
    """Return what a name means, in the system's order; numbers ask nobody."""
    host, port, kind = address.host, address.port, socket.SOCK_STREAM
    try:
        numbers = flags | socket.AI_NUMERICHOST
        found = socket.getaddrinfo(host, port, type=kind, flags=numbers)
    except socket.gaierror:
        # A name: asking for it takes a thread, for it may take seconds.
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=kind, flags=flags)
    return [(family, where) for family, _, _, _, where in found]
