"""The simulated network: the contract of every network, and what only a simulation can do."""

import asyncio
import errno

import pytest

from barnabas.runtime.network import Address, Connection
from barnabas.runtime.runtime import Runtime
from barnabas.sim.world import Settings, World
from tests.runtime.network_contract import Door, Main, NetworkContract, Peer
from tests.sim.worlds import run_in_world, run_to_end, start, world_of


class TestSimNetwork(NetworkContract):
    """The contract, here."""

    host = "here"
    directory = ""

    def run(self, main: Main) -> None:
        run_in_world(main)


class TestNastySimNetwork(NetworkContract):
    """The contract, with a small window and any order between hosts."""

    host = "here"
    directory = ""

    def run(self, main: Main) -> None:
        settings = Settings(policy="random", slack_ns=50_000, window_bytes=4_096)
        run_in_world(main, seed=2, settings=settings)


class Echo(Peer):
    """Sends back what it gets."""

    def take(self, data: memoryview) -> int:
        self.connection.send((data,))
        return len(data)


PORT = 7


async def echo(runtime: Runtime) -> None:
    """Listen and echo, for ever."""
    await runtime.network.listen(Address("", PORT), Echo)
    await asyncio.Event().wait()


async def dial(runtime: Runtime, host: str, timeout_ms: int = 5_000) -> Peer:
    """Connect to the echo of a host; try again while nobody listens there."""
    peer = Peer()
    while True:
        try:
            await runtime.network.connect(Address(host, PORT), peer, timeout_ms)
        except ConnectionRefusedError:
            await runtime.clock.sleep_ms(10)
        else:
            return peer


async def say(peer: Peer, words: bytes) -> None:
    """Send words and return when exactly they came back, after what came before."""
    before = bytes(peer.taken)
    peer.connection.send((words,))
    await peer.has(before + words)


def echo_and(main: Main) -> None:
    """Run an echo on one host and a main on another."""
    with world_of("there", "here") as world:
        start(world, "there", echo)
        run_to_end(world, start(world, "here", main))


def test_a_killed_process_ends_its_connections_and_frees_its_port() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            await say(peer, b"one")
            world.kill("there")
            await peer.ending()
            with pytest.raises(ConnectionRefusedError):
                await runtime.network.connect(Address("there", PORT), Peer(), 1_000)
            world.restart("there")
            await say(await dial(runtime, "there"), b"two")

        run_to_end(world, start(world, "here", main))


def test_a_host_without_power_leaves_its_peers_half_open() -> None:
    with world_of("there", "here", settings=Settings(patience_ms=5_000)) as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            idle, busy = await dial(runtime, "there"), await dial(runtime, "there")
            await say(busy, b"one")
            world.cut_power("there", "prefix")
            with pytest.raises(TimeoutError):
                await runtime.network.connect(Address("there", PORT), Peer(), 2_000)
            assert not busy.endings, "nobody told it"
            busy.connection.send((b"hello?",))
            assert isinstance(await busy.ending(), TimeoutError)
            world.restart("there")
            await say(await dial(runtime, "there"), b"two")
            assert not idle.endings, "it still thinks that somebody is there"
            idle.connection.send((b"hello?",))
            assert isinstance(await idle.ending(), ConnectionResetError)

        run_to_end(world, start(world, "here", main))


def test_a_cut_link_delays_and_loses_nothing() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            await say(peer, b"one ")
            way = [world.fabric.links.between("here", "there")]
            world.fabric.cut(way)
            for word in (b"two ", b"three ", b"four "):
                peer.connection.send((word,))
                await runtime.clock.sleep_ms(100)
            assert peer.taken == b"one "
            world.fabric.heal(way)
            await peer.has(b"one two three four ")

        run_to_end(world, start(world, "here", main))


def test_a_way_can_be_cut_while_the_way_back_is_fine() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            await say(peer, b"one ")
            back = [world.fabric.links.between("there", "here")]
            world.fabric.cut(back)
            peer.connection.send((b"two ",))
            await runtime.clock.sleep_ms(1_000)
            assert peer.taken == b"one ", "the answer is held"
            world.fabric.heal(back)
            await peer.has(b"one two ")

        run_to_end(world, start(world, "here", main))


def test_a_sender_gives_up_on_a_link_that_stays_cut() -> None:
    with world_of("there", "here", settings=Settings(patience_ms=5_000)) as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            await say(peer, b"one ")
            world.fabric.cut([world.fabric.links.between("here", "there")])
            asked_ms = runtime.clock.now_ms()
            peer.connection.send((b"two ",))
            error = await peer.ending()
            assert isinstance(error, TimeoutError)
            assert error.errno == errno.ETIMEDOUT
            assert 5_000 <= runtime.clock.now_ms() - asked_ms < 12_000

        run_to_end(world, start(world, "here", main))


def test_an_old_connection_delivers_after_its_owner_reconnected() -> None:
    class Remembering(Peer):
        heard: list[bytes] = []  # noqa: RUF012 -- shared by all connections on purpose

        def take(self, data: memoryview) -> int:
            self.heard.append(bytes(data))
            return len(data)

    with world_of("there", "here") as world:

        async def listening(runtime: Runtime) -> None:
            await runtime.network.listen(Address("", PORT), Remembering)
            await asyncio.Event().wait()

        start(world, "there", listening)

        async def main(runtime: Runtime) -> None:
            old = await dial(runtime, "there")
            await runtime.clock.sleep_ms(100)
            old.connection.send((b"old",))
            assert world.fabric.linger("here", "there", 2_000_000_000, lose=True) == 1
            assert isinstance(await old.ending(), ConnectionResetError)
            new = await dial(runtime, "there")
            new.connection.send((b"new",))
            await runtime.clock.sleep_ms(5_000)

        run_to_end(world, start(world, "here", main))
        assert Remembering.heard == [b"new", b"old"]


def test_bytes_may_come_in_single_pieces() -> None:
    with world_of("there", "here", settings=Settings(cpu_ns=0)) as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            world.fabric.links.between("there", "here").segment_bytes_max = 1
            peer = await dial(runtime, "there")
            await say(peer, b"a sentence")
            assert peer.calls == len(b"a sentence")

        run_to_end(world, start(world, "here", main))


def test_a_narrow_link_takes_its_time() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            world.fabric.links.between("here", "there").bandwidth_bytes_per_s = 10_000
            asked_ms = runtime.clock.now_ms()
            await say(peer, bytes(50_000))
            assert runtime.clock.now_ms() - asked_ms >= 5_000

        run_to_end(world, start(world, "here", main))


def test_a_firewall_may_reject_and_connections_may_be_reset() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            assert world.fabric.reset("here", "there") == 2, "one pipe each way"
            assert isinstance(await peer.ending(), ConnectionResetError)
            peer = await dial(runtime, "there")
            world.fabric.links.between("here", "there").rejects = True
            peer.connection.send((b"let me in",))
            assert isinstance(await peer.ending(), ConnectionResetError)
            with pytest.raises(ConnectionRefusedError):
                await runtime.network.connect(Address("there", PORT), Peer(), 1_000)

        run_to_end(world, start(world, "here", main))


def test_corruption_changes_bytes_and_never_their_number() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            world.fabric.links.between("here", "there").corrupt_per_million = 1_000_000
            peer.connection.send((bytes(100),))
            await peer.until(lambda: len(peer.taken) == 100)
            assert sum(map(int.bit_count, peer.taken)) == 1

        run_to_end(world, start(world, "here", main))


def test_a_full_backlog_lets_callers_wait_until_they_lose_patience() -> None:
    with world_of("there", "here") as world:
        start(world, "there", echo)

        async def main(runtime: Runtime) -> None:
            await dial(runtime, "there")
            world.pause("there")
            # The kernel of a paused process goes on agreeing, up to its backlog.
            peers = [await dial(runtime, "there") for _ in range(100)]
            with pytest.raises(TimeoutError):
                await runtime.network.connect(Address("there", PORT), Peer(), 500)
            world.thaw("there")
            for peer in peers:
                await say(peer, b"at last")

        run_to_end(world, start(world, "here", main))


def test_bytes_that_only_the_process_had_die_with_it_and_others_arrive() -> None:
    with world_of("there", "here", settings=Settings(window_bytes=1_000)) as world:
        door = Door(Peer)

        async def listening(runtime: Runtime) -> None:
            await runtime.network.listen(Address("", PORT), door.accept)
            await asyncio.Event().wait()

        async def talking(runtime: Runtime) -> None:
            peer = await dial(runtime, "there")
            peer.connection.send((bytes(10_000),))
            assert peer.connection.unsent_bytes == 9_000
            world.kill("here")

        start(world, "there", listening)
        start(world, "here", talking)
        world.run_ms(10_000)
        (far,) = door.peers
        assert len(far.taken) == 1_000
        assert len(far.endings) == 1


def test_a_listener_that_is_paused_does_not_stop_others() -> None:
    def rounds(world: World) -> int:
        count = 0

        async def main(runtime: Runtime) -> None:
            nonlocal count
            peer = await dial(runtime, "other")
            while count < 100:
                await say(peer, b"x")
                count += 1

        start(world, "there", echo)
        start(world, "other", echo)
        world.pause("there")
        run_to_end(world, start(world, "here", main))
        return count

    with world_of("there", "other", "here") as world:
        assert rounds(world) == 100


def test_a_connection_knows_both_of_its_names() -> None:
    async def main(runtime: Runtime) -> None:
        peer = await dial(runtime, "there")
        connection: Connection = peer.connection
        assert connection.remote == Address("there", PORT)
        assert connection.local.host == "here"
        with pytest.raises(OSError, match="no host is called nowhere"):
            await runtime.network.connect(Address("nowhere", PORT), Peer(), 1_000)
        with pytest.raises(OSError, match="there is not here"):
            await runtime.network.listen(Address("there", 1), Peer)

    echo_and(main)
