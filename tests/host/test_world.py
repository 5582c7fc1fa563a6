"""A life of a process on this machine, and how it ends."""

import asyncio
from pathlib import Path

import pytest

from barnabas.host.world import live
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from tests.runtime.network_contract import Peer


class PlantedError(Exception):
    """A bug."""


def test_a_process_has_everything_a_process_may_ask_for(tmp_path: Path) -> None:
    said: list[object] = []

    async def main(runtime: Runtime) -> None:
        with_file = runtime.disk.open(str(tmp_path / "file"), "create")
        with_file.write(0, (b"written",))
        await with_file.sync()
        with_file.close()
        said.append((tmp_path / "file").read_bytes())
        said.append(runtime.tasks.name)
        said.append(runtime.probes.listening)
        said.append(len(runtime.entropy.octets(5)))
        said.append(runtime.clock.now_ms() > 0)

    asyncio.run(live("node 1", main))
    assert said == [b"written", "node 1", False, 5, True]


def test_what_main_raises_ends_the_life_and_is_raised() -> None:
    async def main(_: Runtime) -> None:
        raise PlantedError

    with pytest.raises(PlantedError):
        asyncio.run(live("node 1", main))


def test_a_task_that_fails_ends_the_life_with_the_task_s_name() -> None:
    async def failing() -> None:
        raise PlantedError

    async def main(runtime: Runtime) -> None:
        runtime.tasks.child("part").spawn(failing(), "work")
        await asyncio.get_running_loop().create_future()

    with pytest.raises(PlantedError) as raised:
        asyncio.run(live("node 1", main))
    assert raised.value.__notes__ == ["in node 1/part/work"]


def test_a_timer_that_fails_ends_the_life() -> None:
    def failing() -> None:
        raise PlantedError

    async def main(runtime: Runtime) -> None:
        runtime.clock.call_at(runtime.clock.now_ms(), failing)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(PlantedError):
        asyncio.run(live("node 1", main))


def test_the_first_of_several_failures_is_the_one_raised() -> None:
    first, second = PlantedError("first"), PlantedError("second")

    async def failing(error: PlantedError) -> None:
        raise error

    async def main(runtime: Runtime) -> None:
        runtime.tasks.spawn(failing(first), "one")
        runtime.tasks.spawn(failing(second), "two")
        await asyncio.get_running_loop().create_future()

    with pytest.raises(PlantedError) as raised:
        asyncio.run(live("node 1", main))
    assert raised.value is first


def test_the_end_takes_tasks_first_then_connections_and_listeners() -> None:
    story: list[str] = []
    address: list[Address] = []

    class Telling(Peer):
        def closed(self, error: Exception | None) -> None:
            story.append(f"closed: {type(error).__name__}")

    async def waiting() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            story.append("task ended")

    async def main(runtime: Runtime) -> None:
        listener = await runtime.network.listen(Address("127.0.0.1", 0), Peer)
        address.append(listener.address)
        runtime.tasks.spawn(waiting(), "waiting")
        await runtime.network.connect(listener.address, Telling(), 10_000)
        await asyncio.sleep(0)

    async def then() -> None:
        await live("node 1", main)
        assert story == ["task ended", "closed: ConnectionAbortedError"]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(address[0].host, address[0].port)

    asyncio.run(then())


def test_a_life_that_is_cancelled_from_outside_says_so() -> None:
    story: list[str] = []

    async def main(_: Runtime) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            story.append("main ended")

    async def outside() -> None:
        life = asyncio.get_running_loop().create_task(live("node 1", main))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        life.cancel()
        with pytest.raises(asyncio.CancelledError):
            await life

    asyncio.run(outside())
    assert story == ["main ended"]
