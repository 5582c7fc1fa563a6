"""Worlds: hosts, faults, checkers, and that the same seed is the same world."""

import asyncio
import gc

import pytest

from barnabas.runtime.runtime import Runtime
from barnabas.sim.kernel import VIOLATION
from barnabas.sim.probes import Moment
from barnabas.sim.tape import Tape
from barnabas.sim.world import Settings, Violation, World, name_in_tree, place_of, tell
from tests.sim.worlds import world_of


async def counting(runtime: Runtime) -> None:
    """Count on disk, and say so."""
    file = runtime.disk.open("/count", "create")
    await runtime.disk.sync_directory("/")
    count = int.from_bytes(file.read(0, 8))
    while True:
        count += 1
        file.write(0, (count.to_bytes(8),))
        await file.sync()
        runtime.probes.trace("counted", count=count)
        await runtime.clock.sleep_ms(runtime.entropy.between(1, 20))


class NeverBack:
    """An oracle: what was counted is counted on from."""

    kinds = frozenset({"counted"})

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}
        self.checks = 0

    def hear(self, moment: Moment) -> None:
        count = moment.facts["count"]
        assert isinstance(count, int)
        self.counts.setdefault(moment.host, []).append(count)

    def check(self) -> None:
        self.checks += 1
        for host, counts in self.counts.items():
            if counts[-2:] != sorted(set(counts[-2:])):
                raise Violation("C-01", f"{host} counted {counts[-2:]}", "back")

    def finish(self) -> None:
        self.check()


def history(seed: int, policy: str = "random") -> tuple[int, int, tuple[str, ...]]:
    """Run a small world with some faults; return what two equal runs have in common."""
    settings = Settings(policy=policy, slack_ns=1_000_000, buggify=True)
    world = World(Tape(seed), settings)
    for host in ("a", "b", "c"):
        world.add_host(host)
        world.start(host, counting)
    world.run_ms(1_000)
    world.kill("a")
    world.cut_power("b", "block")
    world.pause("c")
    world.run_ms(500)
    for host in ("a", "b"):
        world.restart(host)
    world.thaw("c")
    world.run_ms(1_000)
    result = world.kernel.trace_hash, world.kernel.events, tuple(world.story)
    world.close()
    return result


@pytest.mark.parametrize("policy", ["fifo", "random", "pct", "starve", "burst"])
def test_one_seed_is_one_world_and_another_seed_another(policy: str) -> None:
    assert history(1, policy) == history(1, policy)
    assert history(1, policy)[0] != history(2, policy)[0]


def test_synced_counts_survive_every_way_to_die() -> None:
    oracle = NeverBack()
    with world_of("a") as world:
        world.watch([oracle])
        world.start("a", counting)
        for fault in (world.kill, lambda host: world.cut_power(host, "prefix"), world.stop):
            world.run_ms(500)
            fault("a")
            world.run_ms(100)
            world.restart("a")
        world.run_ms(500)
        assert world.violation is None
        assert world.hosts["a"].lives == 4
    assert oracle.checks >= len(oracle.counts["a"]) > 100


def test_a_checker_that_says_no_stops_the_run_at_that_event() -> None:
    oracle = NeverBack()

    async def forgetful(runtime: Runtime) -> None:
        for count in (1, 2, 1, 2):
            runtime.probes.trace("other")
            runtime.probes.trace("counted", count=count)
            await runtime.clock.sleep_ms(10)

    with world_of("a") as world:
        world.watch([oracle])
        world.start("a", forgetful)
        world.run_ms(1_000)
        assert world.violation is not None
        assert world.violation.signature == "C-01 back"
        assert world.kernel.stopped is not None
        assert world.kernel.stopped.reason == VIOLATION
        assert oracle.counts == {"a": [1, 2, 1]}
        assert world.now_ms < 30
        assert "violation of C-01: a counted [2, 1]" in world.story[-1]


def test_the_first_violation_is_believed() -> None:
    with world_of("a") as world:
        world.found(Violation("A", "one"))
        world.found(Violation("B", "two"))
        assert str(world.violation) == "A: one"


def test_what_is_stopping_is_started_again_when_it_is_wanted() -> None:
    async def main(runtime: Runtime) -> None:
        await asyncio.Event().wait()

    with world_of("a") as world:
        world.start("a", main)
        world.run_ms(10)
        world.pause("a")
        world.stop("a")
        world.restart("a")
        world.run_ms(10)
        world.thaw("a")
        world.run_ms(10)
        assert [process.alive for process in world.processes] == [False, True]


def test_a_slow_host_takes_longer_for_the_same() -> None:
    async def work(runtime: Runtime) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        runtime.probes.trace("done")
        await asyncio.Event().wait()

    def done_ms(slowness: int) -> int:
        done: list[int] = []
        with world_of("a", settings=Settings(cpu_ns=100_000)) as world:
            world.on("done", lambda moment: done.append(moment.at_ms))
            world.start("a", work)
            world.slow_down("a", slowness)
            world.run_ms(100_000)
            world.slow_down("a", 1)
        return done[0]

    assert done_ms(50) > 40 * done_ms(1)


def test_the_collector_is_off_inside_and_as_before_outside() -> None:
    assert gc.isenabled()
    with world_of("a"):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_errors_are_told_in_the_same_words_every_time() -> None:
    def told() -> str:
        try:
            raise ValueError(f"what is {object()!r}?")
        except ValueError as error:
            return f"{tell(error)} {place_of(error)}"

    assert told() == told()
    assert "in test_errors_are_told_in_the_same_words_every_time.<locals>.told" in told()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/checkout/src/barnabas/sim/world.py", "sim/world.py"),
        ("/a/checkout/tests/sim/worlds.py", "sim/worlds.py"),
        ("/a/barnabas/tests/sim/worlds.py", "sim/worlds.py"),
        ("/tests/barnabas/src/barnabas/log/index.py", "log/index.py"),
        ("/elsewhere/profile.py", "/elsewhere/profile.py"),
    ],
)
def test_a_module_has_one_name_wherever_the_checkout_lies(path: str, name: str) -> None:
    assert name_in_tree(path) == name


def test_a_visitor_is_not_what_a_host_starts_again() -> None:
    started: list[str] = []

    async def resident(runtime: Runtime) -> None:
        started.append("resident")
        await asyncio.Event().wait()

    async def visitor(runtime: Runtime) -> None:
        started.append("visitor")
        await runtime.clock.sleep_ms(10)

    with world_of("a") as world:
        world.start("a", resident)
        world.run_ms(1)
        world.visit("a", visitor)
        world.run_ms(100)
        assert [process.life for process in world.hosts["a"].processes] == [1]
        world.kill("a")
        world.run_ms(1)
        world.visit("a", visitor)
        world.run_ms(1)
        world.restart("a")
        world.run_ms(100)
        assert [process.life for process in world.hosts["a"].processes] == [4]
    assert started == ["resident", "visitor", "visitor", "resident"]
