"""A profile that depends on the hash seed: one process goes through a set of names."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.runtime.runtime import Runtime
from barnabas.sim.nemesis import Kind
from barnabas.sim.plan import Fault, Phases, Plan
from barnabas.sim.process import Process
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.world import Checker, Settings, World


async def main(runtime: Runtime) -> None:
    """Start a task per name, in the order that a set happens to have."""
    for name in {f"name-{number}" for number in range(20)}:
        runtime.tasks.spawn(asyncio.sleep(len(name)), f"order-{name}")
        await runtime.clock.sleep_ms(int(name.partition("-")[2]))
    await asyncio.Event().wait()


class Nothing:
    """A scene in which nothing is expected."""

    checkers: Sequence[Checker] = ()

    def ready(self) -> bool:
        return True

    def healed(self, hosts: Sequence[str]) -> None:
        return

    def recovered(self) -> bool:
        return True

    def permits(self, world: World, fault: Fault) -> bool:
        return True

    def excuses(self, process: Process) -> bool:
        return False

    def audit(self, world: World) -> None:
        return


class Dependent:
    """The profile."""

    name: Final = "tests.sim.driver.dependent"
    mutants: Sequence[Mutant] = ()
    kinds: Mapping[str, Kind] = {}
    must_see: Sequence[str] = ()

    def plan(self, seed: int, mutant: str) -> Plan:
        return Plan(self.name, seed, ("a",), Settings(), Phases(chaos_ms=1_000))

    def build(self, world: World, plan: Plan) -> Scene:
        world.start("a", main)
        return Nothing()


PROFILE: Final = Dependent()
