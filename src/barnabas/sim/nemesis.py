"""What goes wrong, and who does it: the kinds of faults, and the one that carries out a plan.

Each kind says two things: how one entry of it is drawn, and what is done when its moment comes.
Doing returns the undoing, or nothing where there is nothing to undo; the nemesis undoes when the
entry's duration is over, or when the world is healed.

To add a kind: write the two functions and a line in ``KINDS`` (or in the ``kinds`` of a profile,
where a fault is of the product and not of the world).  Nothing else knows them by name.
"""

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, Protocol, TypeAlias

from barnabas.model.value import value
from barnabas.sim.disk import CAPACITY_BYTES
from barnabas.sim.disk_content import PAGE
from barnabas.sim.disk_faults import PROFILES, DiskFaults, Injection, Law, Trouble
from barnabas.sim.disk_faults import Kind as Operation
from barnabas.sim.link import Link
from barnabas.sim.plan import SPEAKER, Fault, Params, draw_times
from barnabas.sim.probes import Moment
from barnabas.sim.world import World

Undo: TypeAlias = Callable[[], None]


class Permission(Protocol):
    """What a fault may not do, because nobody promised to survive it."""

    def permits(self, world: World, fault: Fault) -> bool:
        """Tell whether this fault, now, is within what the product promises to bear."""
        ...


@value
class Drawn:
    """What is drawn for one entry: whom it hits, for how long, and how."""

    target: tuple[str, ...]
    duration_ms: int
    params: Params = ()


Draw: TypeAlias = Callable[[Random, Sequence[str]], Drawn]
Do: TypeAlias = Callable[[World, Fault], Undo | None]


@value
class Kind:
    """A kind of fault.  ``unusual`` ones are not in ordinary plans; profiles ask for them."""

    draw: Draw
    do: Do
    # Whether its moment matters so much that it is worth waiting for a step of some process; and
    # whether it then hits that process's host rather than those that were drawn.
    timely: bool = False
    personal: bool = False
    unusual: bool = False
    # How much more often than others it is there, and comes: what finds most is worth most.
    weight: int = 1


class Nemesis:
    """Carries out the faults of a plan, and takes them back."""

    def __init__(self, world: World, kinds: Mapping[str, Kind], permission: Permission) -> None:
        self._world: Final = world
        self._kinds: Final = kinds
        self._permission: Final = permission
        self._undoes: Final[dict[int, Undo]] = {}
        self._applied = 0
        self._over = False
        self.done: Final[dict[str, int]] = {}

    def begin(self, faults: Sequence[Fault]) -> None:
        """Wait for each fault's moment, from now on."""
        for fault in faults:
            self._world.later(fault.at_ms, partial(self._due, fault))

    def heal(self) -> None:
        """Take everything back that is still in force, and do nothing more."""
        self._over = True
        for undo in list(self._undoes.values()):
            undo()
        self._undoes.clear()

    def _due(self, fault: Fault) -> None:
        if self._over:
            return
        if not fault.on:
            self._do(fault)
            return
        left = fault.nth

        def heard(moment: Moment) -> None:
            nonlocal left
            left -= 1
            if left == 0 and not self._over:
                self._do(aimed(fault, moment.host))

        self._world.on(fault.on, heard)

    def _do(self, fault: Fault) -> None:
        world = self._world
        if not self._permission.permits(world, fault):
            world.note(f"not permitted now: {fault}")
            return
        world.note(f"{fault}")
        self.done[fault.kind] = self.done.get(fault.kind, 0) + 1
        undo = self._kinds[fault.kind].do(world, fault)
        if undo is None:
            return
        self._applied += 1
        number = self._applied
        self._undoes[number] = undo

        def expire() -> None:
            again = self._undoes.pop(number, None)
            if again is not None:
                world.note(f"over: {fault.kind} {'>'.join(fault.target)}")
                again()

        world.later(fault.duration_ms, expire)


def aimed(fault: Fault, host: str) -> Fault:
    """Return the fault with the host it is for."""
    target = tuple(host if name == SPEAKER else name for name in fault.target)
    return Fault(fault.kind, fault.at_ms, target, fault.duration_ms, fault.params)


def draw_faults(
    source: Random,
    kinds: Mapping[str, Kind],
    hosts: Sequence[str],
    length_ms: int,
    mean_gap_ms: int,
    moments: Sequence[str] = (),
) -> tuple[Fault, ...]:
    """Return the faults of one plan: a random part of the kinds, spread over the time of chaos.

    ``moments`` are the kinds of ``trace`` worth striking at.
    """
    # Few kinds, often: what they do together is found in runs that do little else.
    share = source.choice((0.1, 0.2, 0.4))
    enabled = [
        name
        for name, kind in kinds.items()
        if not kind.unusual and source.random() < share * kind.weight
    ]
    if not enabled:
        return ()
    weights = [kinds[name].weight for name in enabled]
    faults: list[Fault] = []
    for at_ms in draw_times(source, length_ms, mean_gap_ms):
        (name,) = source.choices(enabled, weights)
        kind = kinds[name]
        drawn = kind.draw(source, hosts)
        on, nth, target = "", 1, drawn.target
        if moments and (kind.timely or kind.personal) and source.random() < 0.7:
            on, nth = source.choice(list(moments)), source.randint(1, 4)
            target = (SPEAKER,) if kind.personal else target
        faults.append(Fault(name, at_ms, target, drawn.duration_ms, drawn.params, on, nth))
    return tuple(faults)


# ---- drawing


def one(low_ms: int, high_ms: int, **choices: Sequence[int | str]) -> Draw:
    """Return a draw that hits one host, for a time whose size is drawn before its value."""

    def draw(source: Random, hosts: Sequence[str]) -> Drawn:
        return Drawn((source.choice(list(hosts)),), span(source, low_ms, high_ms), chosen(source))

    def chosen(source: Random) -> Params:
        return tuple((name, source.choice(list(values))) for name, values in choices.items())

    return draw


def way(low_ms: int, high_ms: int, **choices: Sequence[int | str]) -> Draw:
    """Return a draw that hits the way from one host to another."""

    def draw(source: Random, hosts: Sequence[str]) -> Drawn:
        params = tuple((name, source.choice(list(values))) for name, values in choices.items())
        return Drawn(tuple(source.sample(list(hosts), 2)), span(source, low_ms, high_ms), params)

    return draw


def part(low_ms: int, high_ms: int, **choices: Sequence[int | str]) -> Draw:
    """Return a draw that hits some hosts at once."""

    def draw(source: Random, hosts: Sequence[str]) -> Drawn:
        params = tuple((name, source.choice(list(values))) for name, values in choices.items())
        target = source.sample(list(hosts), source.randint(1, len(hosts)))
        return Drawn(tuple(target), span(source, low_ms, high_ms), params)

    return draw


def room(low_ms: int, high_ms: int, **choices: Sequence[int | str]) -> Draw:
    """Return a draw that hits everybody, or some hosts at once."""
    some = part(low_ms, high_ms, **choices)

    def draw(source: Random, hosts: Sequence[str]) -> Drawn:
        drawn = some(source, hosts)
        return replace(drawn, target=tuple(hosts)) if source.random() < 0.5 else drawn

    return draw


def span(source: Random, low_ms: int, high_ms: int) -> int:
    """Return a duration; short ones are as likely as long ones, whatever the range."""
    bits = source.uniform(low_ms.bit_length(), high_ms.bit_length())
    return max(low_ms, min(high_ms, int(2**bits)))


# ---- doing


def kill(world: World, fault: Fault) -> Undo:
    """Kill -9 a host's process; it is started again."""
    (host,) = fault.target
    world.kill(host)
    return lambda: world.restart(host)


def cut_power(world: World, fault: Fault) -> Undo:
    """Take the power from a host; it comes back."""
    (host,) = fault.target
    profile = fault.word("profile", "prefix")
    world.cut_power(host, next(known for known in PROFILES if known == profile))
    return lambda: world.restart(host)


def black_out(world: World, fault: Fault) -> Undo:
    """Take the power from several hosts at one moment, as a rack or a room loses it."""
    profile = fault.word("profile", "prefix")
    known = next(known for known in PROFILES if known == profile)
    for host in fault.target:
        world.cut_power(host, known)

    def undo() -> None:
        for host in fault.target:
            world.restart(host)

    return undo


def stop(world: World, fault: Fault) -> Undo:
    """Stop a host's process as an operator does; it is started again."""
    (host,) = fault.target
    world.stop(host)
    return lambda: world.restart(host)


def pause(world: World, fault: Fault) -> Undo:
    """Let a host's processes run nothing for a while."""
    (host,) = fault.target
    world.pause(host)
    return lambda: world.thaw(host)


def slow_down(world: World, fault: Fault) -> Undo:
    """Make a host's processor slow."""
    (host,) = fault.target
    world.slow_down(host, fault.param("factor", 10))
    return lambda: world.slow_down(host, 1)


def skew(world: World, fault: Fault) -> Undo:
    """Let a host's clock run fast or slow."""
    host = world.hosts[fault.target[0]]
    host.clock.set_rate(fault.param("ppm"))
    return lambda: host.clock.set_rate(host.rate_ppm)


def step_wall(world: World, fault: Fault) -> None:
    """Put a host's calendar forward or back, and leave it there."""
    world.hosts[fault.target[0]].clock.step_wall(fault.param("step_ms"))


def links(world: World, source: str, target: str) -> list[Link]:
    """Return the link from one host to another, as a list."""
    return [world.fabric.links.between(source, target)]


def cut(world: World, fault: Fault) -> Undo:
    """Cut the way from one host to another; the way back is fine."""
    source, target = fault.target
    return cut_all(world, links(world, source, target))


def isolate(world: World, fault: Fault) -> Undo:
    """Cut some hosts off from all others, both ways."""
    inside = set(fault.target)
    apart = [
        link
        for link in world.fabric.links.all()
        if (link.source in inside) != (link.target in inside)
    ]
    return cut_all(world, apart)


def cut_all(world: World, apart: Sequence[Link]) -> Undo:
    """Cut links, and return how to heal them."""
    world.fabric.cut(apart)
    return lambda: world.fabric.heal(apart)


def slow_link(world: World, fault: Fault) -> Undo:
    """Make the way from one host to another slow."""
    source, target = fault.target
    link = world.fabric.links.between(source, target)
    link.slowness *= fault.param("factor", 100)

    def undo() -> None:
        link.slowness //= fault.param("factor", 100)

    return undo


def reject(world: World, fault: Fault) -> Undo:
    """Let a firewall answer everything on a way with a reset."""
    source, target = fault.target
    link = world.fabric.links.between(source, target)
    link.rejects = True

    def undo() -> None:
        link.rejects = False

    return undo


def reset(world: World, fault: Fault) -> None:
    """Reset the connections between two hosts."""
    world.fabric.reset(*fault.target)


def linger(world: World, fault: Fault) -> None:
    """Let what was said so far arrive late, after its speaker reconnected."""
    source, target = fault.target
    duration_ns = fault.duration_ms * 1_000_000
    world.fabric.linger(source, target, duration_ns, lose=fault.param("lose") == 1)


def chunk(world: World, fault: Fault) -> Undo:
    """Let bytes between two hosts come in odd pieces."""
    source, target = fault.target
    link = world.fabric.links.between(source, target)
    link.segment_bytes_max = fault.param("bytes", 16)

    def undo() -> None:
        link.segment_bytes_max = 0

    return undo


def narrow(world: World, fault: Fault) -> Undo:
    """Give the way from one host to another little bandwidth."""
    source, target = fault.target
    link = world.fabric.links.between(source, target)
    link.bandwidth_bytes_per_s = fault.param("bytes_per_s", 100_000)

    def undo() -> None:
        link.bandwidth_bytes_per_s = 0

    return undo


def delay_ends(world: World, fault: Fault) -> Undo:
    """Let the end of a stream arrive seconds after its last byte."""
    source, target = fault.target
    link = world.fabric.links.between(source, target)
    link.fin_delay_ns_max = 5_000_000_000

    def undo() -> None:
        link.fin_delay_ns_max = 0

    return undo


def corrupt(world: World, fault: Fault) -> Undo:
    """Flip bits on the way from one host to another, as a broken card does."""
    source, target = fault.target
    link = world.fabric.links.between(source, target)
    link.corrupt_per_million = fault.param("per_million", 10_000)

    def undo() -> None:
        link.corrupt_per_million = 0

    return undo


def stall_syncs(world: World, fault: Fault) -> Undo:
    """Let every sync of a host's disk that begins while this lasts hang for as long."""
    host = world.hosts[fault.target[0]]
    host.disk.latencies = replace(host.latencies, sync=Law(fault.duration_ms * 1_000_000))

    def undo() -> None:
        host.disk.latencies = host.latencies

    return undo


def slow_writes(world: World, fault: Fault) -> None:
    """Let one of the next writes of a host's disk block its process."""
    disk = world.hosts[fault.target[0]].disk
    delay_ns = fault.duration_ms * 1_000_000
    disk.inject(Injection("write", delay_ns=delay_ns, after=fault.param("after")))


def fail_disk(world: World, fault: Fault) -> None:
    """Let one of the next operations of a host's disk fail."""
    disk = world.hosts[fault.target[0]].disk
    operation = fault.word("operation", "sync")
    kind = next(known for known in FAILING if known == operation)
    disk.inject(Injection(kind, error=errno.EIO, after=fault.param("after")))


def trouble_disk(world: World, fault: Fault) -> Undo:
    """Let a host's disk be full, read-only or gone for a while."""
    disk = world.hosts[fault.target[0]].disk
    word = fault.word("trouble", "full")
    disk.trouble("/", next(known for known in TROUBLES if known == word))
    return lambda: disk.relieve("/")


def fill_disk(world: World, fault: Fault) -> Undo:
    """Let somebody else use up a host's disk but for a few pages, and give the space back."""
    disk = world.hosts[fault.target[0]].disk
    disk.capacity_bytes = (disk.used_pages + fault.param("pages")) * PAGE

    def undo() -> None:
        disk.capacity_bytes = CAPACITY_BYTES

    return undo


def misdirect_writes(world: World, fault: Fault) -> Undo:
    """Let a host's disk put pages where others belong; the atlas may forbid it."""
    disk = world.hosts[fault.target[0]].disk
    disk.faults = replace(disk.faults, misdirected=fault.param("per_million", 100_000))

    def undo() -> None:
        disk.faults = replace(disk.faults, misdirected=0)

    return undo


def unreliable_disk(world: World, fault: Fault) -> Undo:
    """Let a host's disk fail now and then, each operation with a small probability."""
    disk = world.hosts[fault.target[0]].disk
    rate = fault.param("per_million", 1_000)
    disk.faults = DiskFaults(
        read_error=rate, write_error=rate, write_full=rate, sync_error=rate, sync_stall=rate
    )

    def undo() -> None:
        disk.faults = DiskFaults()

    return undo


def rot(world: World, fault: Fault) -> None:
    """Flip bits in something durable, as a disk does that nobody reads; the atlas may forbid it."""
    host = fault.target[0]
    disk = world.hosts[host].disk
    victims = [(path, size) for path, size in disk.durable_files() if size]
    if victims:
        path, size = victims[world.tape.below(f"rot/{host}", len(victims))]
        disk.evict()
        disk.rot(path, world.tape.below(f"rot/{host}", size), fault.param("mask", 1))


def wipe(world: World, fault: Fault) -> Undo:
    """Take the power from a host and give it an empty disk: a machine that was replaced."""
    host = fault.target[0]
    world.cut_power(host, "prefix")
    world.hosts[host].disk.wipe()
    return lambda: world.restart(host)


TROUBLES: Final[tuple[Trouble, ...]] = ("full", "read-only", "vanished")

FAILING: Final[tuple[Operation, ...]] = ("read", "write", "sync", "sync_directory")

KINDS: Final[Mapping[str, Kind]] = {
    "crash-kill": Kind(one(1, 20_000), kill, personal=True, weight=2),
    "crash-power": Kind(one(100, 30_000, profile=PROFILES), cut_power, personal=True, weight=2),
    "blackout": Kind(room(100, 10_000, profile=PROFILES), black_out, timely=True, weight=2),
    "stop-clean": Kind(one(1, 20_000), stop),
    "pause": Kind(one(10, 30_000), pause, personal=True),
    "slow-cpu": Kind(one(100, 20_000, factor=(10, 100, 1_000)), slow_down),
    "skew": Kind(one(1_000, 60_000, ppm=(-500, 500, -200_000, 250_000)), skew),
    "wall-step": Kind(one(1, 1, step_ms=(-3_600_000, -5_000, 5_000, 3_600_000)), step_wall),
    "link-down": Kind(way(10, 30_000), cut, weight=2),
    "partition": Kind(part(10, 30_000), isolate, weight=2),
    "slow-link": Kind(way(100, 20_000, factor=(10, 100, 1_000)), slow_link),
    "reject": Kind(way(10, 5_000), reject),
    "reset-conns": Kind(way(1, 1), reset),
    "linger-conn": Kind(way(10, 10_000, lose=(0, 1)), linger),
    "chunking": Kind(way(1_000, 60_000, bytes=(1, 16, 256)), chunk),
    "narrow-link": Kind(way(100, 20_000, bytes_per_s=(2_000, 50_000)), narrow),
    "late-fin": Kind(way(1_000, 30_000), delay_ends),
    "fsync-stall": Kind(one(10, 20_000), stall_syncs),
    "disk-slow": Kind(one(10, 5_000, after=(0, 1, 5)), slow_writes),
    "disk-fail": Kind(one(1, 1, operation=FAILING, after=(0, 1, 5, 20)), fail_disk, unusual=True),
    "disk-trouble": Kind(one(100, 20_000, trouble=TROUBLES), trouble_disk, unusual=True),
    "disk-fill": Kind(one(100, 5_000, pages=(0, 1, 4)), fill_disk, unusual=True),
    "misdirect": Kind(
        one(10, 5_000, per_million=(50_000, 500_000)), misdirect_writes, unusual=True
    ),
    "disk-rot": Kind(one(1, 1, mask=(1, 0x80, 0xFF)), rot, unusual=True),
    "wipe": Kind(one(100, 20_000), wipe, unusual=True),
    "disk-flaky": Kind(
        one(1_000, 20_000, per_million=(1_000, 50_000)), unreliable_disk, unusual=True
    ),
    "corrupt-link": Kind(way(10, 5_000, per_million=(1_000, 100_000)), corrupt, unusual=True),
}
