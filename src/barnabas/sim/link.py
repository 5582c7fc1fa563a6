"""One direction between two hosts: how long bytes take, and whether they arrive at all.

    a ──▶ b   latency, bandwidth, cuts        and, apart from it,        b ──▶ a

Kafka is TCP, so a fault is a fault of connections.  Bytes inside one never vanish and never change
places; they stall, come in odd pieces, or the connection dies.  What is lost on the way is sent
again, so a *cut* link holds segments and lets go of them when it heals; only a sender that waited
too long gives up.
"""

from collections.abc import Callable
from typing import Final, Protocol

from barnabas.sim.kernel import Kernel
from barnabas.sim.tape import Tape

NS_PER_S: Final = 1_000_000_000
MILLION: Final = 1_000_000

# A segment in a thousand meets a full queue somewhere.
TAIL_PER_MILLION: Final = 1_000
TAIL_FACTOR: Final = 50


class Held(Protocol):
    """What waits at a link until it heals."""

    def link_healed(self) -> None:
        """Go on: the link, or the host behind it, is back."""


class Link:
    """The way from one host to another, in this direction only."""

    def __init__(self, kernel: Kernel, tape: Tape, source: str, target: str) -> None:
        self.source: Final = source
        self.target: Final = target
        self.latency_ns = 200_000
        self.spread_ns = 300_000
        self.bandwidth_bytes_per_s = 0  # 0: as much as anybody wants
        self.slowness = 1
        self.segment_bytes_max = 0  # 0: segments as large as what was sent
        self.corrupt_per_million = 0
        self.fin_delay_ns_max = 0
        # A link is cut as often as somebody cut it and did not heal it yet.
        self.cuts = 0
        # Whether it answers every segment with a reset, as a firewall does that was told to.
        self.rejects = False
        # Whether the host at its end has power.  Without it nothing arrives and nobody says so.
        self.target_powered = True
        self._kernel: Final = kernel
        self._busy_until_ns = 0
        self._delay: Final = tape.site(f"net/{source}>{target}")
        self._tail: Final = tape.site(f"net/{source}>{target}/tail")
        # Ordered, so that they go on in the order in which they stopped.
        self._held: Final[dict[Held, None]] = {}

    def __str__(self) -> str:
        return f"{self.source}>{self.target}"

    @property
    def blocked(self) -> bool:
        """Whether nothing gets through."""
        return self.cuts > 0 or not self.target_powered

    def arrival_ns(self, count: int) -> int:
        """Return when ``count`` bytes that leave now arrive."""
        now_ns = self._kernel.now_ns
        delay_ns = self.latency_ns
        if self.spread_ns:
            delay_ns += self._delay.below(self.spread_ns)
            if self._tail.chance(TAIL_PER_MILLION):
                delay_ns *= TAIL_FACTOR
        delay_ns *= self.slowness
        if self.bandwidth_bytes_per_s:
            start_ns = max(now_ns, self._busy_until_ns)
            taken_ns = count * NS_PER_S * self.slowness // self.bandwidth_bytes_per_s
            self._busy_until_ns = start_ns + taken_ns
            return self._busy_until_ns + delay_ns
        return now_ns + delay_ns

    def hold(self, waiting: Held) -> None:
        """Remember somebody to call when the link heals."""
        self._held[waiting] = None

    def cut(self) -> None:
        """Let nothing through until ``heal``."""
        self.cuts += 1

    def heal(self) -> None:
        """Take one cut back; the last one lets everything go on."""
        assert self.cuts > 0, f"{self} was healed more often than cut"
        self.cuts -= 1
        self._go_on()

    def power(self, powered: bool) -> None:
        """Say whether the host at the end has power."""
        self.target_powered = powered
        self._go_on()

    def _go_on(self) -> None:
        if self.blocked:
            return
        held = list(self._held)
        self._held.clear()
        for waiting in held:
            waiting.link_healed()


class Links:
    """All links of a world, made when first asked for."""

    def __init__(self, kernel: Kernel, tape: Tape, configure: Callable[[Link], None]) -> None:
        self._kernel: Final = kernel
        self._tape: Final = tape
        self._configure: Final = configure
        self._links: Final[dict[tuple[str, str], Link]] = {}

    def between(self, source: str, target: str) -> Link:
        """Return the link from one host to another."""
        link = self._links.get((source, target))
        if link is None:
            link = Link(self._kernel, self._tape, source, target)
            if source == target:
                # Loopback: nothing is in the way, and no fault is ever put there.
                link.latency_ns = 20_000
                link.spread_ns = 0
            else:
                self._configure(link)
            self._links[source, target] = link
        return link

    def all(self) -> list[Link]:
        """Return every link used so far, in the order of first use."""
        return list(self._links.values())
