"""Small worlds for tests: one host, or a few, and a way to run coroutines on them."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from barnabas.runtime.runtime import Runtime
from barnabas.sim.plan import Plan
from barnabas.sim.profile import Profile
from barnabas.sim.run import Outcome, run
from barnabas.sim.tape import Tape
from barnabas.sim.tripwires import Tripwires
from barnabas.sim.world import Settings, World
from tests.sim.register.profile import PROFILE

Main = Callable[[Runtime], Coroutine[Any, Any, None]]

LIMIT_MS = 600_000


@contextmanager
def world_of(*hosts: str, seed: int = 1, settings: Settings | None = None) -> Iterator[World]:
    """Yield a world with these hosts, and take it down."""
    world = World(Tape(seed), settings)
    try:
        for host in hosts:
            world.add_host(host)
        with Tripwires(world.kernel):
            yield world
    finally:
        world.close()


def start(world: World, host: str, main: Main) -> list[bool]:
    """Start a process; what is returned holds True once its main has come to its end."""
    ended: list[bool] = []

    async def noted(runtime: Runtime) -> None:
        await main(runtime)
        ended.append(True)
        # A process whose main returned is over, and its sockets with it; tests look on.
        await runtime.clock.sleep_ms(LIMIT_MS)

    world.hosts[host].wanted = False
    world.start(host, noted)
    return ended


def run_to_end(world: World, *ended: list[bool]) -> None:
    """Let the world go on until these processes' mains have ended; raise what they raised."""
    reached = world.run_until(lambda: all(ended), LIMIT_MS)
    for process in world.processes:
        if process.death is not None and process.death.error is not None:
            raise process.death.error
    assert reached, f"not everything ended: {world.story[-1]}"


def run_in_world(main: Main, seed: int = 1, settings: Settings | None = None) -> None:
    """Run one process on one host until its main ends; raise what it raises."""
    with world_of("here", seed=seed, settings=settings) as world:
        run_to_end(world, start(world, "here", main))


def first_failure(mutant: str) -> tuple[Plan, Outcome]:
    """Return the first plan of the register that kills a mutant, and how."""
    for seed in range(1, 200):
        plan = PROFILE.plan(seed, mutant)
        outcome = run(PROFILE, plan)
        if outcome.oracle:
            return plan, outcome
    raise AssertionError(f"{mutant} survives")


def first_oracle(profile: Profile, plant: Callable[[str], None], mutant: str, seeds: int) -> str:
    """Return the oracle that notices a mutant first, within so many seeds; empty if none does."""
    try:
        for seed in range(1, seeds + 1):
            if found := run(profile, profile.plan(seed, mutant)).oracle:
                return found
    finally:
        plant("")
    return ""
