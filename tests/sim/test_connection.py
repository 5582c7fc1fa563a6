"""Pipes of bytes: in order, whole, at their own pace, whatever happens to the link."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.world import Settings
from tests.runtime.network_contract import Door, Peer
from tests.sim.worlds import run_to_end, start, world_of

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 3_000)),
        st.tuples(st.just("wait"), st.integers(1, 400)),
        st.tuples(st.just("cut"), st.integers(0, 1)),
        st.tuples(st.just("heal"), st.integers(0, 1)),
        st.tuples(st.just("stall"), st.integers(1, 2_000)),
        st.tuples(st.just("pieces"), st.integers(0, 50)),
    ),
    max_size=30,
)


@settings(max_examples=40)
@given(st.integers(0, 1_000), STEPS, st.sampled_from((100, 4_096)))
def test_whatever_the_network_does_bytes_come_whole_and_in_order(
    seed: int, steps: list[tuple[str, int]], window: int
) -> None:
    knobs = Settings(policy="random", slack_ns=100_000, window_bytes=window, patience_ms=600_000)
    with world_of("there", "here", seed=seed, settings=knobs) as world:
        door = Door(Peer)
        ways = [world.fabric.links.between("here", "there")]
        ways.append(world.fabric.links.between("there", "here"))
        said = bytearray()

        async def listening(runtime: Runtime) -> None:
            door.listener = await runtime.network.listen(Address("", 7), door.accept)
            await asyncio.Event().wait()

        async def main(runtime: Runtime) -> None:
            near = Peer()
            await runtime.clock.sleep_ms(10)
            await runtime.network.connect(Address("there", 7), near, 1_000)
            far = await door.next()
            for what, number in steps:
                match what:
                    case "send":
                        part = bytes([len(said) % 256]) * number
                        said.extend(part)
                        near.connection.send((part,))
                    case "wait":
                        await runtime.clock.sleep_ms(number)
                    case "cut":
                        ways[number].cut()
                    case "heal":
                        if ways[number].cuts:
                            ways[number].heal()
                    case "stall":
                        world.fabric.linger("here", "there", number * 1_000_000, lose=False)
                    case "pieces":
                        ways[0].segment_bytes_max = number
                    case _:
                        raise AssertionError(what)
            for way in ways:
                while way.cuts:
                    way.heal()
            await far.until(lambda: len(far.taken) == len(said))
            assert far.taken == said
            near.connection.close()
            assert await far.ending() is None

        start(world, "there", listening)
        run_to_end(world, start(world, "here", main))


def test_a_hint_is_believed_and_what_came_is_shown_together() -> None:
    class Whole(Peer):
        def take(self, data: memoryview) -> int:
            if len(data) < 1_000:
                self.connection.expect(1_000)
                return 0
            return len(data)

    with world_of("there", "here", settings=Settings(cpu_ns=0)) as world:
        door = Door(Whole)

        async def listening(runtime: Runtime) -> None:
            await runtime.network.listen(Address("", 7), door.accept)
            await asyncio.Event().wait()

        async def main(runtime: Runtime) -> None:
            near = Peer()
            await runtime.clock.sleep_ms(10)
            world.fabric.links.between("here", "there").segment_bytes_max = 20
            await runtime.network.connect(Address("there", 7), near, 1_000)
            near.connection.send((bytes(1_000),))
            far = await door.next()
            await far.until(lambda: far.taken)
            assert (len(far.taken), far.calls) == (1_000, 2)

        start(world, "there", listening)
        run_to_end(world, start(world, "here", main))


def test_a_receiver_that_raises_is_a_bug_and_hears_of_it_first() -> None:
    class Broken(Peer):
        def take(self, data: memoryview) -> int:
            raise ValueError("no such frame")

    with world_of("there", "here") as world:
        door = Door(Broken)

        async def listening(runtime: Runtime) -> None:
            await runtime.network.listen(Address("", 7), door.accept)
            await asyncio.Event().wait()

        async def main(runtime: Runtime) -> None:
            near = Peer()
            await runtime.clock.sleep_ms(10)
            await runtime.network.connect(Address("there", 7), near, 1_000)
            near.connection.send((b"frame",))
            assert isinstance(await near.ending(), ConnectionResetError)

        world.excuses = lambda process: True
        start(world, "there", listening)
        ended = start(world, "here", main)
        assert world.run_until(lambda: bool(ended), 1_000)
        (there, here) = world.processes
        assert here.alive
        assert there.death is not None
        assert isinstance(there.death.error, ValueError)
        assert door.peers[0].endings == [there.death.error]
