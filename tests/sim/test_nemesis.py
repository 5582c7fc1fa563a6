"""Faults: each kind does something, is taken back, and comes at its moment."""

import asyncio
from random import Random

import pytest

from barnabas.runtime.runtime import Runtime
from barnabas.sim.nemesis import KINDS, Nemesis, aimed, draw_faults, span
from barnabas.sim.plan import SPEAKER, Fault
from barnabas.sim.world import World
from tests.sim.worlds import world_of

HOSTS = ("a", "b", "c")


class Anything:
    """Permits everything, or nothing."""

    def __init__(self, answer: bool = True) -> None:
        self._answer = answer

    def permits(self, world: World, fault: Fault) -> bool:
        return self._answer


async def idle(runtime: Runtime) -> None:
    """Take a step now and then."""
    while True:
        runtime.probes.trace("step")
        await runtime.clock.sleep_ms(1_000)


def state(world: World) -> tuple[object, ...]:
    """Return everything about a world that a fault may leave behind."""
    links = [
        (
            link.cuts,
            link.slowness,
            link.rejects,
            link.segment_bytes_max,
            link.corrupt_per_million,
            link.bandwidth_bytes_per_s,
            link.fin_delay_ns_max,
            link.target_powered,
        )
        for link in world.fabric.links.all()
    ]
    hosts = [
        (host.powered, host.slowness, bool(host.processes), host.disk.faults, host.disk.latencies)
        for host in world.hosts.values()
    ]
    rooms = [host.disk.capacity_bytes for host in world.hosts.values()]
    paused = [process.loop.paused for host in world.hosts.values() for process in host.processes]
    return (*links, *hosts, *rooms, *paused)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_kind_of_fault_is_done_and_taken_back(name: str) -> None:
    kind = KINDS[name]
    for seed in range(3):
        with world_of(*HOSTS, seed=seed) as world:
            for host in HOSTS:
                world.start(host, idle)
            world.run_ms(500)
            before = state(world)
            drawn = kind.draw(Random(seed), HOSTS)
            nemesis = Nemesis(world, KINDS, Anything())
            nemesis.begin([Fault(name, 10, drawn.target, drawn.duration_ms, drawn.params)])
            world.run_ms(11)
            assert nemesis.done == {name: 1}
            assert any(name in line for line in world.story)
            world.run_ms(200)
            nemesis.heal()
            world.run_ms(61_000)
            assert state(world) == before
            assert world.violation is None


def test_a_fault_expires_by_itself_and_is_not_undone_twice() -> None:
    with world_of(*HOSTS) as world:
        nemesis = Nemesis(world, KINDS, Anything())
        nemesis.begin([Fault("link-down", 0, ("a", "b"), 100)])
        link = world.fabric.links.between("a", "b")
        world.run_ms(50)
        assert link.cuts == 1
        world.run_ms(100)
        assert link.cuts == 0
        nemesis.heal()
        assert link.cuts == 0


def test_a_triggered_fault_strikes_at_the_nth_moment_and_whoever_speaks() -> None:
    struck: list[tuple[int, str]] = []

    async def quick(runtime: Runtime) -> None:
        for _ in range(5):
            runtime.probes.trace("step")
            await runtime.clock.sleep_ms(100)
        await asyncio.Event().wait()

    with world_of(*HOSTS) as world:
        nemesis = Nemesis(world, KINDS, Anything())
        nemesis.begin([Fault("crash-kill", 50, (SPEAKER,), 10_000, on="step", nth=3)])
        world.start("b", quick)
        world.on("step", lambda moment: struck.append((moment.at_ms, moment.host)))
        world.run_ms(1_000)
        assert len(struck) == 4, "one before, and the third after"
        assert not world.hosts["b"].processes


def test_what_is_not_permitted_is_not_done() -> None:
    with world_of(*HOSTS) as world:
        world.start("a", idle)
        nemesis = Nemesis(world, KINDS, Anything(answer=False))
        nemesis.begin([Fault("crash-kill", 1, ("a",), 10)])
        world.run_ms(100)
        assert nemesis.done == {}
        assert world.hosts["a"].lives == 1


def test_after_healing_nothing_more_happens() -> None:
    with world_of(*HOSTS) as world:
        world.start("a", idle)
        nemesis = Nemesis(world, KINDS, Anything())
        nemesis.begin(
            [Fault("crash-kill", 100, ("a",), 10), Fault("pause", 0, ("a",), 10, on="step", nth=2)]
        )
        nemesis.heal()
        world.run_ms(5_000)
        assert nemesis.done == {}


def test_seeds_use_different_parts_of_the_kinds() -> None:
    used = []
    for seed in range(60):
        faults = draw_faults(Random(seed), KINDS, HOSTS, 60_000, 500, ("step",))
        used.append({fault.kind for fault in faults})
        assert not {kind for kind in used[-1] if KINDS[kind].unusual}
        for fault in faults:
            assert fault.on == "" or KINDS[fault.kind].timely or KINDS[fault.kind].personal
    assert set().union(*used) == {name for name, kind in KINDS.items() if not kind.unusual}
    assert len({frozenset(part) for part in used}) > 40


def test_short_spans_are_as_likely_as_long_ones() -> None:
    source = Random(1)
    spans = [span(source, 1, 30_000) for _ in range(2_000)]
    assert min(spans) >= 1
    assert max(spans) <= 30_000
    assert 400 < sum(each < 100 for each in spans) < 1_200


def test_aiming_puts_the_host_where_the_speaker_stands() -> None:
    fault = Fault("pause", 3, (SPEAKER, "b"), 10, (("n", 1),), "step", 2)
    assert aimed(fault, "a") == Fault("pause", 3, ("a", "b"), 10, (("n", 1),))


def test_faults_that_overlap_leave_nothing_behind() -> None:
    with world_of(*HOSTS) as world:
        before = state(world)
        nemesis = Nemesis(world, KINDS, Anything())
        pairs = [
            (Fault("fsync-stall", 10, ("a",), 100), Fault("fsync-stall", 50, ("a",), 500)),
            (Fault("skew", 10, ("b",), 100, (("ppm", 500),)), Fault("skew", 50, ("b",), 500)),
            (Fault("link-down", 10, ("a", "b"), 100), Fault("partition", 50, ("a",), 500)),
            (Fault("slow-link", 10, ("a", "b"), 100), Fault("slow-link", 50, ("a", "b"), 500)),
        ]
        nemesis.begin([fault for pair in pairs for fault in pair])
        world.run_ms(1_000)
        assert state(world) == before
        assert world.hosts["b"].clock.rate_ppm == world.hosts["b"].rate_ppm


def test_rot_damages_what_is_durable_and_a_wiped_disk_is_empty() -> None:
    async def keep(runtime: Runtime) -> None:
        file = runtime.disk.open("/kept", "create")
        file.write(0, (bytes(100),))
        await file.sync()
        await runtime.disk.sync_directory("/")
        await asyncio.Event().wait()

    with world_of("a") as world:
        world.start("a", keep)
        world.run_ms(1_000)
        disk = world.hosts["a"].disk
        KINDS["disk-rot"].do(world, Fault("disk-rot", 0, ("a",), params=(("mask", 1),)))
        content = disk.durable_content("/kept")
        assert content is not None
        assert sum(content.read(0, 100)) == 1
        KINDS["wipe"].do(world, Fault("wipe", 0, ("a",)))
        assert disk.durable_files() == []
        assert not world.hosts["a"].powered
