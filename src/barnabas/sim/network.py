"""The network: hosts with ports, links between them, and what may go wrong there.

    HostNetwork (one per process) ── listen, connect ──▶ Fabric ── link ──▶ the other host's Fabric

A connection is made as TCP makes it.  A SYN that meets no listener is refused, one that meets a cut
link or a host without power is sent again after one second, two, four, and so is one that meets a
full backlog; the caller's patience ends it.  A connection is established when the listener's
*kernel* says so: a process that is paused has a backlog full of callers who think they are heard.
"""

import asyncio
import errno
from collections.abc import Callable, Sequence
from typing import Final

from barnabas.runtime.network import Address, Receiver
from barnabas.sim.connection import Owner, Pipe, SimConnection, Tuning
from barnabas.sim.kernel import Kernel
from barnabas.sim.link import Link, Links
from barnabas.sim.loop import NodeLoop
from barnabas.sim.tape import Tape

NS_PER_MS: Final = 1_000_000
SYN_AGAIN_NS: Final = 1_000_000_000
BACKLOG: Final = 100
EPHEMERAL_PORT: Final = 32_768
EPHEMERAL_PORTS: Final = 28_232

# Names by which a host calls itself.
SELF: Final = frozenset({"", "localhost", "127.0.0.1", "0.0.0.0", "::", "::1"})

# Of a hundred connections of a killed process, how many end with a reset although nothing was
# left unread: whether a socket lingers is the platform's affair.
KILL_RESETS_PER_MILLION: Final = 500_000


class Port:
    """A listening port of a host: ``runtime.Listener``."""

    def __init__(self, network: "HostNetwork", port: int, accept: Callable[[], Receiver]) -> None:
        self.network: Final = network
        self.port: Final = port
        self.backlog: Final[dict[SimConnection, None]] = {}
        self._accept: Final = accept
        self._open = True

    @property
    def address(self) -> Address:
        """Where it listens."""
        return Address(self.network.host, self.port)

    def close(self) -> None:
        """Accept no more; accepted connections live on."""
        self.network.owner.assert_alive()
        self.shut()

    def shut(self) -> None:
        """Give the port back and reset whoever waits in the backlog."""
        if self._open:
            self._open = False
            self.network.fabric.unbind(self)
            for end in list(self.backlog):
                end.orphan(reset=True)
            self.backlog.clear()

    def accept(self, end: SimConnection) -> None:
        """Give a waiting connection its receiver.  Runs on the process's loop."""
        if self.backlog.pop(end, self) is None and not end.shut:
            end.accepted(self._accept())


class Attempt:
    """A connection in the making, as its caller sees it."""

    def __init__(self, network: "HostNetwork", remote: Address, receiver: Receiver) -> None:
        self.network: Final = network
        self.remote: Final = remote
        self.receiver: Final = receiver
        self.future: Final[asyncio.Future[SimConnection]] = network.owner.loop.create_future()
        self.tries = 0
        self.end: SimConnection | None = None

    @property
    def over(self) -> bool:
        """Whether the caller has an answer, or wants none any more."""
        return self.future.done()

    def refuse(self, error: OSError) -> None:
        """Answer that there will be no connection.  Runs on the process's loop."""
        if not self.over:
            self.future.set_exception(error)

    def established(self) -> None:
        """Queue the news that the other host agreed."""
        self.network.owner.loop.input(self._open)

    def _open(self) -> None:
        end = self.end
        assert end is not None, f"{self.remote} agreed to a connection that was not asked for"
        if self.over:
            end.abort()
        elif not end.shut:
            end.accepted(self.receiver)
            self.future.set_result(end)
        else:
            self.refuse(ConnectionResetError(errno.ECONNRESET, f"{self.remote} reset it"))


class HostNetwork:
    """The network as one process on one host sees it: ``runtime.Network``."""

    def __init__(self, fabric: "Fabric", host: str, owner: Owner) -> None:
        self.fabric: Final = fabric
        self.host: Final = host
        self.owner: Final = owner
        # What the process has open, in the order in which it was opened.
        self.ends: Final[dict[SimConnection, None]] = {}
        self.ports: Final[dict[Port, None]] = {}

    async def listen(self, address: Address, accept: Callable[[], Receiver]) -> Port:
        """Listen; each connection gets a receiver of its own.  Port 0 picks a free one."""
        self.owner.assert_alive()
        if address.host not in SELF and address.host != self.host:
            raise OSError(errno.EADDRNOTAVAIL, f"{address.host} is not {self.host}")
        port = self.fabric.bind(self, address.port, accept)
        self.ports[port] = None
        return port

    async def connect(self, address: Address, receiver: Receiver, timeout_ms: int) -> SimConnection:
        """Connect and return after ``receiver.opened``; raise ``OSError`` if that cannot be."""
        self.owner.assert_alive()
        host = self.host if address.host in SELF else address.host
        if not self.fabric.knows(host):
            raise OSError(errno.EHOSTUNREACH, f"no host is called {host}")
        attempt = Attempt(self, Address(host, address.port), receiver)
        loop: NodeLoop = self.owner.loop
        late = TimeoutError(errno.ETIMEDOUT, f"{address} did not answer within {timeout_ms} ms")
        deadline_ns = loop.time_source.monotonic_ns() + timeout_ms * NS_PER_MS
        timer = loop.timer_at(deadline_ns, attempt.refuse, late)
        self.fabric.syn(attempt)
        try:
            return await attempt.future
        except asyncio.CancelledError:
            if attempt.end is not None and not attempt.end.shut and self.owner.loop.alive:
                attempt.end.abort()
            raise
        finally:
            timer.cancel()

    def forget(self, end: SimConnection) -> None:
        """Take a connection off the list that is no more."""
        self.ends.pop(end, None)

    def orphan(self) -> None:
        """Do what a kernel does with the sockets of a process that died."""
        for port in list(self.ports):
            port.shut()
        for end in list(self.ends):
            end.orphan(self.fabric.kill_resets.chance(KILL_RESETS_PER_MILLION))

    def vanish(self) -> None:
        """Do what a power cut does: nothing is closed, and nobody is told."""
        for port in list(self.ports):
            port.backlog.clear()
            port.shut()
        for end in list(self.ends):
            end.vanish()


class Fabric:
    """All hosts, their ports, and the links between them."""

    def __init__(
        self, kernel: Kernel, tape: Tape, tuning: Tuning, configure: Callable[[Link], None]
    ) -> None:
        self.links: Final = Links(kernel, tape, configure)
        self.tuning: Final = tuning
        self.kill_resets: Final = tape.site("net/kill")
        self._kernel: Final = kernel
        self._tape: Final = tape
        self._hosts: Final[dict[str, int]] = {}
        self._powered: Final[dict[str, bool]] = {}
        self._ports: Final[dict[tuple[str, int], Port]] = {}
        self._pipes: Final[dict[Pipe, None]] = {}

    # ---- hosts and ports

    def add_host(self, host: str) -> None:
        """Plug a host in."""
        assert host not in self._hosts, f"{host} is there already"
        for other in self._hosts:
            self.links.between(host, other)
            self.links.between(other, host)
        self._hosts[host] = EPHEMERAL_PORT
        self._powered[host] = True

    def knows(self, host: str) -> bool:
        """Tell whether a host has this name."""
        return host in self._hosts

    def power(self, host: str, powered: bool) -> None:
        """Say whether a host has power: without, it answers nothing, not even a refusal."""
        self._powered[host] = powered
        for other in self._hosts:
            if other != host:
                self.links.between(other, host).power(powered)

    def bind(self, network: HostNetwork, port: int, accept: Callable[[], Receiver]) -> Port:
        """Claim a port of a host; 0 is any free one."""
        number = port or self.free_port(network.host)
        if (network.host, number) in self._ports:
            raise OSError(errno.EADDRINUSE, f"{network.host}:{number} is in use")
        bound = self._ports[network.host, number] = Port(network, number, accept)
        return bound

    def unbind(self, port: Port) -> None:
        """Give a port back."""
        del self._ports[port.network.host, port.port]
        port.network.ports.pop(port, None)

    def free_port(self, host: str) -> int:
        """Return the next port that nobody on this host listens at."""
        while True:
            port = self._hosts[host]
            self._hosts[host] = EPHEMERAL_PORT + (port + 1 - EPHEMERAL_PORT) % EPHEMERAL_PORTS
            if (host, port) not in self._ports:
                return port

    # ---- making connections

    def syn(self, attempt: Attempt) -> None:
        """Ask a host for a connection, and ask again later if nobody answers."""
        if attempt.over or not attempt.network.owner.loop.alive:
            return
        link = self.links.between(attempt.network.host, attempt.remote.host)
        self._kernel.at(link.arrival_ns(0), self._syn_arrived, attempt)

    def _syn_arrived(self, attempt: Attempt) -> None:
        if attempt.over or not attempt.network.owner.loop.alive:
            return
        caller, remote = attempt.network, attempt.remote
        there = self.links.between(caller.host, remote.host)
        back = self.links.between(remote.host, caller.host)
        port = self._ports.get((remote.host, remote.port))
        # A refusal, like an agreement, has to find its way back.
        if there.blocked or back.blocked or (port is not None and len(port.backlog) >= BACKLOG):
            self._kernel.after(SYN_AGAIN_NS << attempt.tries, self.syn, attempt)
            attempt.tries += 1
        elif port is None or there.rejects or back.rejects:
            refused = ConnectionRefusedError(errno.ECONNREFUSED, f"{remote} refused")
            self._kernel.at(back.arrival_ns(0), _refuse, (attempt, refused))
        else:
            self._establish(attempt, port, there, back)

    def _establish(self, attempt: Attempt, port: Port, there: Link, back: Link) -> None:
        caller, called = attempt.network, port.network
        local = Address(caller.host, self.free_port(caller.host))
        remote = attempt.remote
        near = self._end(caller, local, remote)
        far = self._end(called, remote, local)
        near.out = far.into = self._pipe(there, back, near, far)
        far.out = near.into = self._pipe(back, there, far, near)
        attempt.end = near
        near.established = attempt.established
        port.backlog[far] = None
        called.owner.loop.input(port.accept, far)
        far.out.signal("syn-ack")

    def _end(self, network: HostNetwork, local: Address, remote: Address) -> SimConnection:
        end = SimConnection(self._kernel, network.owner, local, remote, self.tuning, network.forget)
        network.ends[end] = None
        return end

    def _pipe(
        self, link: Link, reverse: Link, source: SimConnection, target: SimConnection
    ) -> Pipe:
        pipe = Pipe(self._kernel, self._tape, link, reverse, source, target)
        self._pipes[pipe] = None
        if len(self._pipes) > 64 and len(self._pipes) > 4 * len(self.pipes()):
            self._forget_pipes()
        return pipe

    # ---- what may go wrong

    def pipes(self, source: str = "", target: str = "") -> list[Pipe]:
        """Return the pipes in use, those of one link if it is named."""
        return [
            pipe
            for pipe in self._pipes
            if not (pipe.source.shut and pipe.target.shut)
            and source in ("", pipe.link.source)
            and target in ("", pipe.link.target)
        ]

    def cut(self, links: Sequence[Link]) -> None:
        """Let nothing through these links."""
        for link in links:
            link.cut()

    def heal(self, links: Sequence[Link]) -> None:
        """Take that back."""
        for link in links:
            link.heal()

    def reset(self, source: str, target: str) -> int:
        """Reset the connections between two hosts at both ends; return how many there were."""
        pipes = self.pipes(source, target) + self.pipes(target, source)
        for pipe in pipes:
            pipe.source.lost(ConnectionResetError(errno.ECONNRESET, f"{pipe.link} was reset"))
        return len(pipes)

    def linger(self, source: str, target: str, duration_ns: int, lose: bool) -> int:
        """Let what was said so far from one host to another arrive ``duration_ns`` later.

        With ``lose`` the speaker is told at once that the connection is gone, which the listener
        finds out only after having read everything.
        """
        pipes = self.pipes(source, target)
        for pipe in pipes:
            pipe.stall(duration_ns)
            if lose and not pipe.source.shut:
                pipe.signal("fin")
                pipe.source.lost(ConnectionResetError(errno.ECONNRESET, f"{pipe.link} was lost"))
        return len(pipes)

    def _forget_pipes(self) -> None:
        alive = self.pipes()
        self._pipes.clear()
        self._pipes.update(dict.fromkeys(alive))


def _refuse(refusal: tuple[Attempt, OSError]) -> None:
    attempt, error = refusal
    attempt.network.owner.loop.input(attempt.refuse, error)
