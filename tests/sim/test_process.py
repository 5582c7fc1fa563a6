"""Lives of processes: how they end, and what they cannot do afterwards."""

import asyncio
import sys
from collections.abc import Iterator

import pytest

from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.loop import DeadIncarnation
from barnabas.sim.world import World
from tests.runtime.network_contract import Peer
from tests.sim.worlds import world_of


async def forever(runtime: Runtime) -> None:
    """Do nothing until cancelled."""
    await asyncio.Event().wait()


def ending(world: World) -> str:
    """Return how the only process ended."""
    (process,) = world.processes
    assert process.death is not None
    return process.death.ending


def test_a_killed_process_runs_no_finally_and_a_stopped_one_does() -> None:
    def tidied(kill: bool) -> list[str]:
        said: list[str] = []

        async def part() -> None:
            try:
                await asyncio.sleep(1_000)
            finally:
                said.append("part")

        async def main(runtime: Runtime) -> None:
            tasks = runtime.tasks.child("parts")
            tasks.spawn(part(), "part")
            try:
                await asyncio.Event().wait()
            finally:
                await tasks.close()
                said.append("main")

        with world_of("a") as world:
            world.start("a", main)
            world.run_ms(10)
            (world.kill if kill else world.stop)("a")
            world.run_ms(10_000)
            assert ending(world) == ("killed" if kill else "exited")
            return list(said)

    assert tidied(kill=False) == ["part", "main"]
    assert tidied(kill=True) == []


def test_what_a_dead_process_was_reading_ends_without_a_word() -> None:
    def parts(runtime: Runtime) -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            runtime.clock.now_ms()

    async def main(runtime: Runtime) -> None:
        for _ in parts(runtime):
            await asyncio.sleep(1)

    told: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with world_of("a") as world:
            world.start("a", main)
            world.run_ms(10)
            world.kill("a")
            world.run_ms(10)
        # What others raise there is told as ever.
        assert sys.unraisablehook == told.append
        assert told == []
    finally:
        sys.unraisablehook = before


def test_the_dead_can_do_nothing() -> None:
    runtimes: list[Runtime] = []
    peers: list[Peer] = []

    async def main(runtime: Runtime) -> None:
        runtimes.append(runtime)
        listener = await runtime.network.listen(Address("", 7), Peer)
        peer = Peer()
        await runtime.network.connect(listener.address, peer, 1_000)
        peers.append(peer)
        await asyncio.Event().wait()

    with world_of("a") as world:
        world.start("a", main)
        world.run_ms(100)
        world.kill("a")
        (runtime,), (peer,) = runtimes, peers
        connection = peer.connection
        doors = [
            runtime.clock.now_ms,
            runtime.clock.now_ns,
            runtime.clock.wall_ms,
            lambda: runtime.clock.call_at(1, print),
            lambda: runtime.clock.sleep_ms(1).send(None),
            lambda: runtime.entropy.below(2),
            runtime.entropy.uuid,
            lambda: runtime.disk.exists("/"),
            lambda: runtime.probes.trace("step"),
            lambda: runtime.probes.buggify("point"),
            lambda: runtime.network.listen(Address("", 8), Peer).send(None),
            lambda: runtime.network.connect(Address("a", 7), Peer(), 1).send(None),
            lambda: connection.send((b"x",)),
            connection.close,
            connection.abort,
            connection.pause,
        ]
        for door in doors:
            with pytest.raises(DeadIncarnation, match=r"a\.1 was killed"):
                door()


def test_death_may_strike_in_the_middle_of_a_handle() -> None:
    said: list[str] = []

    async def main(runtime: Runtime) -> None:
        file = runtime.disk.open("/vote", "create")
        file.write(0, (b"before",))
        runtime.probes.trace("wrote")
        said.append("computed")
        file.write(0, (b"after!",))
        said.append("never")

    with world_of("a") as world:
        world.on("wrote", lambda moment: world.kill(moment.host))
        world.start("a", main)
        world.run_ms(100)
        assert ending(world) == "killed"
        assert said == ["computed"], "what it computes has no effect"

        async def look(runtime: Runtime) -> None:
            said.append(runtime.disk.open("/vote", "read").read(0, 100).decode())
            await forever(runtime)

        world.start("a", look)
        world.run_ms(100)
        assert said == ["computed", "before"]


def test_a_process_whose_main_returns_has_exited_and_its_port_is_free() -> None:
    async def main(runtime: Runtime) -> None:
        await runtime.network.listen(Address("", 7), Peer)
        runtime.tasks.spawn(asyncio.sleep(1_000), "left over")

    with world_of("a") as world:
        world.hosts["a"].wanted = False
        world.start("a", main)
        world.run_ms(100)
        assert ending(world) == "exited"
        world.start("a", main)
        world.run_ms(100)
        assert world.violation is None


def test_a_failed_task_ends_the_process_and_the_run() -> None:
    async def part() -> None:
        await asyncio.sleep(1)
        raise KeyError("lost")

    async def main(runtime: Runtime) -> None:
        runtime.tasks.child("part").spawn(part(), "search")
        await forever(runtime)

    with world_of("a") as world:
        world.start("a", main)
        world.run_ms(5_000)
        assert ending(world) == "failed"
        assert world.now_ms < 1_100
        violation = world.violation
        assert violation is not None
        assert violation.oracle == "X-01"
        assert "KeyError: 'lost'" in violation.story
        assert "a.1/part/search" in violation.story
        assert violation.place.startswith("KeyError sim/test_process.py:")


def test_two_processes_on_one_host_share_its_disk_and_its_ports() -> None:
    refused: list[OSError] = []

    async def main(runtime: Runtime) -> None:
        runtime.disk.make_directory("/data")
        try:
            runtime.disk.lock("/data")
            await runtime.network.listen(Address("", 7), Peer)
        except OSError as error:
            refused.append(error)
        await forever(runtime)

    with world_of("a") as world:
        world.start("a", main)
        world.run_ms(100)
        world.pause("a")
        world.start("a", main)
        world.run_ms(100)
        assert isinstance(refused[0], BlockingIOError), "the older one has the directory"
        world.kill("a")
        world.start("a", main)
        world.run_ms(100)
        assert len(refused) == 1, "locks go with their owners"


def test_what_is_buried_may_await_on_its_way_out_as_often_as_it_likes() -> None:
    async def stubborn() -> None:
        try:
            try:
                await asyncio.sleep(1_000)
            finally:
                await asyncio.sleep(1_000)
        finally:
            await asyncio.sleep(1_000)

    async def main(runtime: Runtime) -> None:
        runtime.tasks.child("part").spawn(stubborn(), "stubborn")
        await stubborn()

    with world_of("a") as world:
        world.start("a", main)
        world.run_ms(10)
        world.kill("a")
