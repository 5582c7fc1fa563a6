"""What every network must do, whichever world it is in: the contract of ``runtime.network``.

A world subclasses ``NetworkContract`` in its own test module and says how to run a coroutine in it.
Each test is one process that listens and connects to itself, and waits for events, never for time.
"""

import asyncio
import random
import struct
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from barnabas.runtime.network import DRAINED_BYTES, Address, Connection, Listener
from barnabas.runtime.runtime import Runtime

Main = Callable[[Runtime], Coroutine[Any, Any, None]]


class Peer:
    """A receiver that remembers everything and lets a test wait for it."""

    connection: Connection

    def __init__(self) -> None:
        self.opens = 0
        self.taken = bytearray()
        self.calls = 0
        self.endings: list[Exception | None] = []
        self._changed = asyncio.Event()

    def opened(self, connection: Connection) -> None:
        self.opens += 1
        self.connection = connection
        self._changed.set()

    def received(self, data: memoryview) -> int:
        assert self.opens == 1
        assert not self.endings, "received after closed"
        self.calls += 1
        consumed = self.take(data)
        self.taken += data[:consumed]
        self._changed.set()
        return consumed

    def take(self, data: memoryview) -> int:
        """Return how much to consume: everything."""
        return len(data)

    def closed(self, error: Exception | None) -> None:
        self.endings.append(error)
        self._changed.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Return when something holds; it may become true with any call."""
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    async def has(self, taken: bytes) -> None:
        """Return when exactly these bytes were taken."""
        await self.until(lambda: len(self.taken) >= len(taken))
        assert self.taken == taken

    async def called(self, calls: int) -> None:
        """Return when ``received`` was called so often."""
        await self.until(lambda: self.calls >= calls)
        assert self.calls == calls

    async def ending(self) -> Exception | None:
        """Return how the connection ended."""
        await self.until(lambda: self.endings)
        return self.endings[0]


class Frames(Peer):
    """Takes whole frames, holds a view of each, and says what it waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[memoryview] = []

    def take(self, data: memoryview) -> int:
        at = 0
        while len(data) - at >= 4:
            end = at + 4 + struct.unpack_from(">i", data, at)[0]
            if end > len(data):
                self.connection.expect(end - at)
                break
            self.frames.append(data[at + 4 : end])
            at = end
        return at


class Door:
    """Listens, and keeps the receivers it made."""

    def __init__(self, make: Callable[[], Peer]) -> None:
        self.peers: list[Peer] = []
        self._make = make
        self._came = asyncio.Event()
        self.listener: Listener

    def accept(self) -> Peer:
        self.peers.append(self._make())
        self._came.set()
        return self.peers[-1]

    async def next(self) -> Peer:
        """Return the next peer that has come and been opened."""
        while not self.peers:
            self._came.clear()
            await self._came.wait()
        peer = self.peers.pop(0)
        await peer.until(lambda: peer.opens)
        return peer


def frame(body: bytes) -> bytes:
    """Return a body with its size in front."""
    return struct.pack(">i", len(body)) + body


class NetworkContract:
    """Subclass with a name that begins with Test and fill in the first three."""

    host = "127.0.0.1"
    directory = ""

    def run(self, main: Main) -> None:
        """Run a process in the world until ``main`` returns; raise what it raises."""
        raise AssertionError(f"{type(self).__name__} has no world")

    async def door(self, runtime: Runtime, make: Callable[[], Peer] = Peer) -> Door:
        """Listen on a free port."""
        door = Door(make)
        door.listener = await runtime.network.listen(Address(self.host, 0), door.accept)
        return door

    async def pair(
        self, runtime: Runtime, near: Peer | None = None, far: Callable[[], Peer] = Peer
    ) -> tuple[Peer, Peer]:
        """Return both ends of a connection."""
        door = await self.door(runtime, far)
        peer = near or Peer()
        await runtime.network.connect(door.listener.address, peer, 10_000)
        other = await door.next()
        door.listener.close()
        return peer, other

    def test_both_ends_are_opened_once_and_know_each_other(self) -> None:
        async def main(runtime: Runtime) -> None:
            door = await self.door(runtime)
            near = Peer()
            returned = await runtime.network.connect(door.listener.address, near, 10_000)
            assert returned is near.connection, "connect returns after opened"
            far = await door.next()
            assert (near.opens, far.opens) == (1, 1)
            assert near.connection.remote == far.connection.local == door.listener.address
            assert near.connection.local == far.connection.remote
            assert door.listener.address.port > 0

        self.run(main)

    def test_bytes_arrive_in_order_however_they_are_cut(self) -> None:
        draws = random.Random(7)
        pieces = [draws.randbytes(draws.choice((1, 3, 100, 5_000, 70_000))) for _ in range(200)]

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            for piece in pieces:
                near.connection.send((piece,))
                if draws.random() < 0.2:
                    await asyncio.sleep(0)
            await far.until(lambda: len(far.taken) == sum(map(len, pieces)))
            assert far.taken == b"".join(pieces)

        self.run(main)

    def test_a_frame_is_seen_whole_and_its_view_stays_as_it_was(self) -> None:
        draws = random.Random(8)
        sizes = [0, 1, 3, 60, 65_531, 65_532, 65_533, 300_000, 5, 2_000_000, 7]
        bodies = [draws.randbytes(size) for size in sizes]

        async def main(runtime: Runtime) -> None:
            far = Frames()
            near, far_peer = await self.pair(runtime, far=lambda: far)
            assert far_peer is far
            for body in bodies:
                near.connection.send((frame(body)[:4], body))
            await far.until(lambda: len(far.frames) == len(bodies))
            # More data than any buffer holds comes after the views were taken.
            near.connection.send((frame(b"\xff" * 1_000_000),) * 3)
            await far.until(lambda: len(far.frames) == len(bodies) + 3)
            assert [bytes(view) for view in far.frames[: len(bodies)]] == bodies

        self.run(main)

    def test_what_is_not_consumed_is_shown_again_with_what_came_after_it(self) -> None:
        class Reluctant(Peer):
            shown = b""

            def shown_up_to(self, count: int) -> bool:
                return len(self.shown) == count

            def take(self, data: memoryview) -> int:
                assert len(data) > len(self.shown), "called without more bytes"
                assert bytes(data).startswith(self.shown)
                # One byte is taken, so that the rest has a beginning of its own.
                consumed = 0 if self.shown else 1
                self.shown = bytes(data[consumed:])
                return consumed

        pieces = [bytes([at]) * 3_000 for at in range(40)]

        async def main(runtime: Runtime) -> None:
            far = Reluctant()
            near, _ = await self.pair(runtime, far=lambda: far)
            for count in range(1, len(pieces) + 1):
                near.connection.send((pieces[count - 1],))
                await far.until(partial(far.shown_up_to, count * 3_000 - 1))
            assert far.shown == b"".join(pieces)[1:]

        self.run(main)

    def test_a_wrong_hint_does_no_harm(self) -> None:
        class Wrong(Peer):
            def take(self, data: memoryview) -> int:
                self.connection.expect(draws.choice((0, 1, 5, 1 << 40)))
                return draws.randrange(len(data) + 1)

        draws = random.Random(9)
        content = draws.randbytes(400_000)

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, far=Wrong)
            for at in range(0, len(content), 1_000):
                near.connection.send((content[at : at + 1_000],))
                await asyncio.sleep(0)
            near.connection.close()
            assert await far.ending() is None
            assert content.startswith(far.taken)

        self.run(main)

    def test_sends_of_received_and_of_tasks_keep_their_order(self) -> None:
        class Answering(Peer):
            def take(self, data: memoryview) -> int:
                self.connection.send((b"first ",))
                self.connection.send((b"second ", b"third "))
                return len(data)

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, far=Answering)
            far.connection.send((b"before ",))
            near.connection.send((b"?",))
            await far.until(lambda: far.calls)
            far.connection.send((b"fourth ",))
            far.connection.send(())
            far.connection.send((b"", b"fifth", b""))
            far.connection.close()
            assert await near.ending() is None
            assert near.taken == b"before first second third fourth fifth"

        self.run(main)

    def test_a_receiver_may_send_as_soon_as_it_is_opened(self) -> None:
        class Greeting(Peer):
            def opened(self, connection: Connection) -> None:
                super().opened(connection)
                connection.send((b"hello",))

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, Greeting(), Greeting)
            for peer in (near, far):
                await peer.has(b"hello")

        self.run(main)

    def test_slices_of_files_take_their_turn_among_parts(self) -> None:
        content = random.Random(10).randbytes(3_000_000)

        async def main(runtime: Runtime) -> None:
            path = f"{self.directory}/segment"
            file = runtime.disk.open(path, "create")
            file.write(0, (content,))
            near, far = await self.pair(runtime)
            send = near.connection
            send.send((b"head",))
            send.send_file(file, 0, len(content))
            send.send((b"middle",))
            send.send_file(file, 100, 50)
            send.send_file(file, 200, 0)
            send.send_file(file, 10, 1)
            send.send((b"tail", b"end"))
            # The slices stay sendable though the owner of the file is done with it.
            file.close()
            runtime.disk.remove(path)
            send.close()
            assert await far.ending() is None
            assert far.taken == b"".join(
                (b"head", content, b"middle", content[100:150], content[10:11], b"tailend")
            )

        self.run(main)

    def test_a_file_shorter_than_promised_aborts_the_connection(self) -> None:
        async def main(runtime: Runtime) -> None:
            file = runtime.disk.open(f"{self.directory}/short", "create")
            file.write(0, (b"x" * 100,))
            near, far = await self.pair(runtime)
            near.connection.send_file(file, 50, 100)
            near.connection.send((b"never",))
            assert isinstance(await near.ending(), ConnectionAbortedError)
            assert isinstance(await far.ending(), ConnectionError)
            assert b"never" not in far.taken
            file.close()

        self.run(main)

    def test_a_sender_can_wait_for_a_slow_peer(self) -> None:
        total = 30_000_000

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            far.connection.pause()
            near.connection.send((bytes(total),))
            waiting = asyncio.get_running_loop().create_task(near.connection.drained())
            # The paused end takes nothing: after many turns it is still all the same.
            for _ in range(50):
                await asyncio.sleep(0)
            assert near.connection.unsent_bytes > DRAINED_BYTES
            assert not waiting.done()
            assert not far.taken
            far.connection.resume()
            await waiting
            assert near.connection.unsent_bytes <= DRAINED_BYTES
            await far.until(lambda: len(far.taken) == total)
            await near.connection.drained()
            assert near.connection.unsent_bytes == 0

        self.run(main)

    def test_waiting_for_a_peer_ends_with_the_connection(self) -> None:
        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            far.connection.pause()
            near.connection.send((bytes(30_000_000),))
            waiting = asyncio.get_running_loop().create_task(near.connection.drained())
            await asyncio.sleep(0)
            near.connection.abort()
            with pytest.raises(ConnectionError):
                await waiting
            with pytest.raises(ConnectionError):
                await near.connection.drained()
            assert near.connection.unsent_bytes == 0
            far.connection.abort()

        self.run(main)

    def test_who_gives_up_waiting_for_a_peer_is_left_alone(self) -> None:
        async def main(runtime: Runtime) -> None:
            for order in ("resume", "abort"):
                near, far = await self.pair(runtime)
                far.connection.pause()
                near.connection.send((bytes(30_000_000),))
                waiting = asyncio.get_running_loop().create_task(near.connection.drained())
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                getattr(far.connection, order)()
                if order == "resume":
                    await far.has(bytes(30_000_000))
                else:
                    assert isinstance(await near.ending(), ConnectionError)

        self.run(main)

    def test_nobody_waits_in_vain_on_a_connection_that_is_closing(self) -> None:
        async def main(runtime: Runtime) -> None:
            near, _ = await self.pair(runtime)
            near.connection.close()
            with pytest.raises(ConnectionError):
                await near.connection.drained()

        self.run(main)

    def test_a_paused_connection_receives_nothing_and_loses_nothing(self) -> None:
        class Sipping(Peer):
            def take(self, data: memoryview) -> int:
                # Pausing from within, as a server does whose client asks too much.
                self.connection.pause()
                return len(data)

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, far=Sipping)
            far.connection.pause()
            far.connection.pause()
            near.connection.send((b"abc" * 100_000,))
            for _ in range(50):
                await asyncio.sleep(0)
            assert far.calls == 0
            while len(far.taken) < 300_000:
                calls = far.calls
                far.connection.resume()
                far.connection.resume()
                await far.called(calls + 1)
            assert far.taken == b"abc" * 100_000

        self.run(main)

    def test_a_connection_can_be_paused_before_its_first_byte(self) -> None:
        class Closed(Peer):
            def opened(self, connection: Connection) -> None:
                super().opened(connection)
                connection.pause()

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, far=Closed)
            near.connection.send((b"knock",))
            for _ in range(50):
                await asyncio.sleep(0)
            assert far.calls == 0
            far.connection.resume()
            await far.has(b"knock")

        self.run(main)

    def test_closing_sends_what_is_queued_and_both_ends_end_in_order(self) -> None:
        content = random.Random(11).randbytes(5_000_000)

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            near.connection.send((content,))
            near.connection.close()
            near.connection.send((b"too late",))
            assert not near.endings, "closed is a call of its own"
            assert await far.ending() is None
            assert await near.ending() is None
            assert far.taken == content

        self.run(main)

    def test_a_reply_gets_through_though_the_peer_goes_on_sending(self) -> None:
        class Curt(Peer):
            def take(self, data: memoryview) -> int:
                self.connection.send((b"no" * 1_000,))
                self.connection.close()
                return 0

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, far=Curt)
            for _ in range(100):
                near.connection.send((bytes(10_000),))
                await asyncio.sleep(0)
            await near.until(lambda: near.taken == b"no" * 1_000)
            assert await far.ending() is None
            assert far.calls == 1, "nothing is received after close"

        self.run(main)

    def test_a_peer_that_leaves_in_the_middle_of_a_frame_has_ended_in_order(self) -> None:
        async def main(runtime: Runtime) -> None:
            far = Frames()
            near, _ = await self.pair(runtime, far=lambda: far)
            near.connection.send((frame(b"whole"), frame(b"half of it")[:7]))
            near.connection.close()
            assert await far.ending() is None
            assert [bytes(view) for view in far.frames] == [b"whole"]
            # What was not consumed was never taken.
            assert far.taken == frame(b"whole")

        self.run(main)

    def test_an_abort_is_an_error_at_both_ends(self) -> None:
        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            near.connection.send((b"x" * 100,))
            await far.until(lambda: far.taken)
            near.connection.abort()
            assert not near.endings, "closed is a call of its own"
            assert isinstance(await near.ending(), ConnectionAbortedError)
            assert isinstance(await far.ending(), ConnectionError)

        self.run(main)

    def test_an_abort_is_the_way_out_of_a_close_that_waits(self) -> None:
        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            far.connection.pause()
            near.connection.send((bytes(30_000_000),))
            near.connection.close()
            for _ in range(50):
                await asyncio.sleep(0)
            assert not near.endings
            near.connection.abort()
            assert isinstance(await near.ending(), ConnectionAbortedError)
            far.connection.abort()
            await far.ending()

        self.run(main)

    def test_the_end_is_told_exactly_once_whatever_is_asked_afterwards(self) -> None:
        async def main(runtime: Runtime) -> None:
            ends: list[Peer] = []
            for orders in (("close", "close"), ("abort", "abort"), ("abort", "close")):
                near, far = await self.pair(runtime)
                for order in orders:
                    getattr(near.connection, order)()
                ends += [near, far]
            for peer in ends:
                await peer.ending()
                peer.connection.close()
                peer.connection.abort()
                peer.connection.send((b"nobody",))
                peer.connection.pause()
                peer.connection.resume()
            for _ in range(50):
                await asyncio.sleep(0)
            assert [len(peer.endings) for peer in ends] == [1] * len(ends)
            assert [peer.connection.unsent_bytes for peer in ends] == [0] * len(ends)

        self.run(main)

    def test_a_receiver_may_close_or_abort_from_within(self) -> None:
        class Closing(Peer):
            def take(self, data: memoryview) -> int:
                self.connection.close()
                return 0

        class Aborting(Peer):
            def take(self, data: memoryview) -> int:
                self.connection.send((b"dropped",))
                self.connection.abort()
                return len(data)

        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime, far=Closing)
            near.connection.send((b"?",))
            assert await far.ending() is None
            assert await near.ending() is None
            near, far = await self.pair(runtime, far=Aborting)
            near.connection.send((b"?",))
            assert isinstance(await far.ending(), ConnectionAbortedError)
            assert isinstance(await near.ending(), ConnectionError)
            assert not near.taken

        self.run(main)

    def test_a_port_nobody_listens_on_refuses(self) -> None:
        async def main(runtime: Runtime) -> None:
            door = await self.door(runtime)
            door.listener.close()
            door.listener.close()
            peer = Peer()
            with pytest.raises(ConnectionRefusedError):
                await runtime.network.connect(door.listener.address, peer, 10_000)
            assert (peer.opens, peer.endings) == (0, [])

        self.run(main)

    def test_a_closed_listener_leaves_its_connections_alone(self) -> None:
        async def main(runtime: Runtime) -> None:
            near, far = await self.pair(runtime)
            for peer, other in ((near, far), (far, near)):
                peer.connection.send((b"still here",))
                await other.has(b"still here")

        self.run(main)

    def test_a_port_that_was_closed_can_be_listened_on_again(self) -> None:
        async def main(runtime: Runtime) -> None:
            door = await self.door(runtime)
            address = door.listener.address
            near = Peer()
            await runtime.network.connect(address, near, 10_000)
            await door.next()
            door.listener.close()
            again = Door(Peer)
            again.listener = await runtime.network.listen(address, again.accept)
            assert again.listener.address == address
            await runtime.network.connect(address, Peer(), 10_000)
            await again.next()
            near.connection.send((b"?",))

        self.run(main)

    def test_a_port_in_use_cannot_be_listened_on(self) -> None:
        async def main(runtime: Runtime) -> None:
            door = await self.door(runtime)
            with pytest.raises(OSError, match=str(door.listener.address.port)):
                await runtime.network.listen(door.listener.address, Peer)

        self.run(main)

    def test_connections_do_not_disturb_each_other(self) -> None:
        async def main(runtime: Runtime) -> None:
            door = await self.door(runtime)
            nears = [Peer() for _ in range(20)]
            for near in nears:
                await runtime.network.connect(door.listener.address, near, 10_000)
            fars = [await door.next() for _ in nears]
            by_port = {far.connection.remote.port: far for far in fars}
            for index, near in enumerate(nears):
                if index % 3 == 0:
                    near.connection.abort()
                else:
                    near.connection.send((bytes([index]) * 1_000,))
            for index, near in enumerate(nears):
                far = by_port[near.connection.local.port]
                if index % 3 == 0:
                    assert isinstance(await far.ending(), ConnectionError)
                else:
                    await far.has(bytes([index]) * 1_000)
                    assert not far.endings

        self.run(main)
