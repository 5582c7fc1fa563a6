"""One connection on a real kernel: the calls it makes, and what a raw socket sees of it."""

import asyncio
import os
import random
import socket
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.host.connection import (
    GROWTH,
    JOIN_BYTES,
    READ_BYTES,
    TURN_BYTES,
    HostConnection,
    room,
)
from barnabas.host.disk import HostDisk
from barnabas.host.network import HostNetwork
from tests.runtime.network_contract import Frames, Peer, frame

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class Watched(socket.socket):
    """A socket that notes the calls made to it."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(fileno=sock.detach())
        self.setblocking(False)
        self.made: list[str] = []

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
        self.made.append("send")
        return super().send(data, flags)

    def sendmsg(
        self,
        buffers: "Iterable[ReadableBuffer]",
        ancillary: "Iterable[tuple[int, int, ReadableBuffer]]" = (),
        flags: int = 0,
        address: object = None,
    ) -> int:
        self.made.append("sendmsg and more" if flags else "sendmsg")
        assert address is None
        return super().sendmsg(buffers, ancillary, flags)

    def recv(self, count: int, flags: int = 0) -> bytes:
        self.made.append("recv")
        return super().recv(count, flags)

    def recv_into(self, buffer: "WriteableBuffer", count: int = 0, flags: int = 0) -> int:
        self.made.append(f"recv_into {memoryview(buffer).nbytes}")
        return super().recv_into(buffer, count, flags)


class Bench:
    """A connection of ours whose calls are noted, and the raw socket at its other end."""

    def __init__(
        self,
        receiver: Peer,
        on_failure: Callable[[str, BaseException], None],
        kind: type[Watched] = Watched,
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.raw = socket.create_connection(server.getsockname())
            accepted, _ = server.accept()
        self.raw.setblocking(False)
        self.receiver = receiver
        self.socket = kind(accepted)
        self.network = HostNetwork("test", on_failure)
        self.connection = self.network.attach(self.socket, receiver)

    async def read(self, count: int) -> bytes:
        """Read exactly so many bytes at the raw end."""
        loop = asyncio.get_running_loop()
        got = bytearray()
        while len(got) < count:
            more = await loop.sock_recv(self.raw, count - len(got))
            assert more, f"the end after {len(got)} of {count} bytes"
            got += more
        return bytes(got)

    async def connection_ended(self) -> bytes:
        """Read at the raw end where nothing but the end should come."""
        return await asyncio.get_running_loop().sock_recv(self.raw, 100)

    async def write(self, data: bytes) -> None:
        """Write at the raw end."""
        await asyncio.get_running_loop().sock_sendall(self.raw, data)


def on_bench(receiver: Peer, main: Callable[[Bench], Any]) -> None:
    """Run a test with a connection on the bench, and take everything down."""

    async def body() -> None:
        failures: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context))
        bench = Bench(receiver, lambda place, error: failures.append((place, error)))
        try:
            async with asyncio.timeout(20):
                await main(bench)
        finally:
            bench.raw.close()
            bench.network.close()
            await asyncio.sleep(0)
        assert not failures
        assert len(receiver.endings) == 1

    asyncio.run(body())


class Answering(Peer):
    """Answers each byte with a reply of its own, as a server does with pipelined requests."""

    def __init__(self, reply: Sequence[bytes]) -> None:
        super().__init__()
        self.reply = reply

    def take(self, data: memoryview) -> int:
        for _ in data:
            self.connection.send(self.reply)
        return len(data)


def test_the_replies_of_one_read_leave_in_one_send() -> None:
    async def main(bench: Bench) -> None:
        await bench.write(b"?" * 16)
        assert await bench.read(16 * 8) == b"sizebody" * 16
        assert bench.socket.made == ["recv", "send"]

    on_bench(Answering((b"size", b"body")), main)


def test_replies_leave_before_anything_else_has_its_turn() -> None:
    class Curious(Answering):
        seen = -1

        def take(self, data: memoryview) -> int:
            asyncio.get_running_loop().call_soon(self.look)
            return super().take(data)

        def look(self) -> None:
            self.seen = self.connection.unsent_bytes

    receiver = Curious((b"reply",))

    async def main(bench: Bench) -> None:
        await bench.write(b"?")
        assert await bench.read(5) == b"reply"
        assert receiver.seen == 0

    on_bench(receiver, main)


def test_small_sends_are_not_delayed_by_the_kernel() -> None:
    async def main(bench: Bench) -> None:
        assert bench.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    on_bench(Peer(), main)


def test_large_replies_leave_in_one_send_without_being_joined() -> None:
    async def main(bench: Bench) -> None:
        await bench.write(b"?" * 4)
        await bench.read(4 * (JOIN_BYTES + 4))
        assert bench.socket.made == ["recv", "sendmsg"]

    on_bench(Answering((b"size", b"b" * JOIN_BYTES)), main)


def test_what_tasks_send_in_one_turn_leaves_in_one_send() -> None:
    async def main(bench: Bench) -> None:
        async def one(index: int) -> None:
            bench.connection.send((bytes([index]),))

        await asyncio.gather(*(one(index) for index in range(100)))
        assert bench.connection.unsent_bytes in (0, 100)
        assert await bench.read(100) == bytes(range(100))
        assert bench.socket.made == ["send"]

    on_bench(Peer(), main)


def test_more_parts_than_one_call_takes_arrive_all_the_same() -> None:
    draws = random.Random(12)
    parts = [draws.randbytes(draws.randrange(60)) for _ in range(5_000)]

    async def main(bench: Bench) -> None:
        bench.connection.send(parts)
        assert await bench.read(sum(map(len, parts))) == b"".join(parts)
        assert bench.socket.made.count("sendmsg") >= 4
        assert bench.connection.unsent_bytes == 0

    on_bench(Peer(), main)


def test_what_the_kernel_does_not_take_goes_when_it_does() -> None:
    draws = random.Random(13)
    parts = [draws.randbytes(draws.choice((1, 10_000, 300_000))) for _ in range(100)]
    total = sum(map(len, parts))

    async def main(bench: Bench) -> None:
        bench.connection.send(parts[:50])
        await asyncio.sleep(0)
        assert 0 < bench.connection.unsent_bytes < total
        for part in parts[50:]:
            bench.connection.send((part,))
        assert await bench.read(total) == b"".join(parts)
        assert bench.connection.unsent_bytes == 0

    on_bench(Peer(), main)


def test_few_bytes_that_the_kernel_does_not_take_go_when_it_does() -> None:
    class Stingy(Watched):
        def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
            return super().send(memoryview(data)[:7], flags)

    async def main(bench: Bench) -> None:
        # Bound methods are taken when the connection is made.
        stingy = Bench(Peer(), lambda place, error: pytest.fail(f"{place}: {error}"), Stingy)
        stingy.connection.send((b"twelve bytes", b" ", b"and some more"))
        assert stingy.connection.unsent_bytes == 26
        assert await stingy.read(7) == b"twelve "
        stingy.connection.send((b", and more",))
        assert await stingy.read(29) == b"bytes and some more, and more"
        assert stingy.connection.unsent_bytes == 0
        stingy.raw.close()
        assert await stingy.receiver.ending() is None

    on_bench(Peer(), main)


def test_the_number_of_a_connection_that_is_over_is_free_for_the_next() -> None:
    async def main(bench: Bench) -> None:
        number = bench.socket.fileno()
        bench.connection.send((bytes(30_000_000),))
        await asyncio.sleep(0)
        assert bench.connection.unsent_bytes, "it waits to send and to read"
        bench.connection.abort()
        with socket.socket() as near, socket.socket() as far:
            took = min(near, far, key=lambda it: abs(it.fileno() - number))
            assert took.fileno() == number
            loop = asyncio.get_running_loop()
            assert not loop.remove_writer(took)
            assert not loop.remove_reader(took)

    on_bench(Peer(), main)


def test_a_header_waits_for_the_slice_it_announces(tmp_path: Path) -> None:
    async def main(bench: Bench) -> None:
        disk = HostDisk()
        file = disk.open(str(tmp_path / "segment"), "create")
        file.write(0, (b"content" * 1_000,))
        bench.connection.send((b"head", b"er"))
        bench.connection.send_file(file, 0, 7_000)
        bench.connection.send((b"next",))
        bench.connection.send_file(file, 7, 7)
        assert (
            await bench.read(6 + 7_000 + 4 + 7) == b"header" + b"content" * 1_000 + b"nextcontent"
        )
        assert bench.socket.made == ["sendmsg and more", "sendmsg and more"]
        number = file.hold()
        file.release()
        file.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
        disk.close()

    on_bench(Peer(), main)


def test_a_slice_that_is_dropped_lets_go_of_its_file(tmp_path: Path) -> None:
    async def main(bench: Bench) -> None:
        disk = HostDisk()
        file = disk.open(str(tmp_path / "segment"), "create")
        file.truncate(100_000_000)
        bench.connection.send((b"header",))
        bench.connection.send_file(file, 0, 100_000_000)
        bench.connection.send_file(file, 0, 100_000_000)
        await asyncio.sleep(0)
        assert bench.connection.unsent_bytes > 100_000_000
        number = file.hold()
        file.release()
        file.close()
        assert os.fstat(number).st_size == 100_000_000, "still held by what is queued"
        bench.connection.abort()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
        disk.close()

    on_bench(Peer(), main)


@pytest.mark.parametrize("what", ["parts", "slices"])
def test_a_connection_whose_peer_takes_everything_leaves_others_their_turn(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(_to: int, _from: int, _offset: int, count: int) -> int:
        return count

    class Bottomless(Watched):
        def sendmsg(self, buffers: "Iterable[ReadableBuffer]", *_: object) -> int:
            return sum(memoryview(it).nbytes for it in buffers)

    monkeypatch.setattr(os, "sendfile", taken)

    async def main(bench: Bench) -> None:
        disk = HostDisk()
        file = disk.open(str(tmp_path / "segment"), "create")
        bench.socket.__class__ = Bottomless
        if what == "parts":
            bench.connection.send([bytes(1_000)] * 20_000)
        else:
            bench.connection.send_file(file, 0, 20_000_000)
        left = []
        while bench.connection.unsent_bytes:
            left.append(bench.connection.unsent_bytes)
            await asyncio.sleep(0)
        steps = [before - after for before, after in pairwise(left)]
        assert len(left) >= 5
        assert max(steps) < 2 * TURN_BYTES
        file.close()
        disk.close()

    on_bench(Peer(), main)


def test_a_read_takes_what_is_there_in_one_call() -> None:
    async def main(bench: Bench) -> None:
        for count in range(1, 11):
            await bench.write(frame(b"x" * 96) * 100)
            await bench.receiver.has(frame(b"x" * 96) * 100 * count)
        assert set(bench.socket.made) == {"recv"}
        assert len(bench.socket.made) == bench.receiver.calls

    on_bench(Frames(), main)


def test_a_frame_that_is_waited_for_is_read_to_its_end_and_no_further() -> None:
    receiver = Frames()

    async def main(bench: Bench) -> None:
        first = frame(b"a" * 1_000_000)
        await bench.write(first[:READ_BYTES])
        await receiver.until(lambda: receiver.calls)
        await bench.write(first[READ_BYTES:] + frame(b"b"))
        await receiver.until(lambda: len(receiver.frames) == 2)
        owner = receiver.frames[0].obj
        assert isinstance(owner, bytearray)
        assert len(owner) == len(first), "nothing else shares its memory"
        # The first read showed how long it is; the second had room for the rest and no more.
        sizes = [made for made in bench.socket.made if made.startswith("recv_into")]
        assert sizes[0] == f"recv_into {len(first) - READ_BYTES}"

    on_bench(receiver, main)


def test_a_frame_that_trickles_in_ends_with_its_buffer_too() -> None:
    receiver = Frames()

    async def main(bench: Bench) -> None:
        first = frame(b"a" * 4_000_000)
        sent = 0
        for size in (5, 100, 3_000, 50_000, 900_000, len(first)):
            await bench.write(first[sent : sent + size])
            sent += size
            # Let it be read before more comes.
            for _ in range(5):
                await asyncio.sleep(0)
        await receiver.until(lambda: receiver.frames)
        owner = receiver.frames[0].obj
        assert isinstance(owner, bytearray)
        assert len(owner) == len(first)

    on_bench(receiver, main)


def test_what_was_expected_once_is_not_expected_again() -> None:
    class Once(Peer):
        def take(self, data: memoryview) -> int:
            match self.calls:
                case 1:
                    self.connection.expect(10_000_000)
                    return 0
                case 2:
                    return len(data)
                case _:
                    return 0

    receiver = Once()

    async def main(bench: Bench) -> None:
        for calls in (1, 2, 3, 4):
            await bench.write(bytes(50_000))
            await receiver.called(calls)
        assert bench.socket.made[-1] == f"recv_into {READ_BYTES}"

    on_bench(receiver, main)


@given(st.integers(1, 1 << 30), st.integers(0, 1 << 40))
def test_room_grows_with_what_has_come_and_stops_at_what_is_expected(
    filled: int, expected: int
) -> None:
    size = room(filled, expected)
    assert filled < size <= GROWTH * filled + READ_BYTES
    if filled + READ_BYTES < expected:
        assert size <= expected
    else:
        assert size == filled + READ_BYTES


def test_a_peer_that_ends_its_side_still_gets_what_is_queued() -> None:
    receiver = Answering((b"r" * 10_000_000,))

    async def main(bench: Bench) -> None:
        await bench.write(b"?")
        bench.raw.shutdown(socket.SHUT_WR)
        assert len(await bench.read(10_000_000)) == 10_000_000
        assert await bench.connection_ended() == b""
        assert await receiver.ending() is None

    on_bench(receiver, main)


def test_a_close_is_seen_as_an_end_and_an_abort_as_a_reset() -> None:
    async def closing(bench: Bench) -> None:
        bench.connection.send((b"last words",))
        bench.connection.close()
        assert await bench.read(10) == b"last words"
        assert await bench.connection_ended() == b""

    async def aborting(bench: Bench) -> None:
        bench.connection.send((b"last words",))
        bench.connection.abort()
        with pytest.raises(ConnectionResetError):
            await bench.connection_ended()

    on_bench(Peer(), closing)
    on_bench(Peer(), aborting)


def test_a_reset_by_the_peer_is_an_error() -> None:
    receiver = Peer()

    async def main(bench: Bench) -> None:
        bench.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        bench.raw.close()
        assert isinstance(await receiver.ending(), ConnectionResetError)

    on_bench(receiver, main)


def test_a_peer_that_is_gone_is_noticed_when_sending_though_reading_is_paused() -> None:
    receiver = Peer()

    async def main(bench: Bench) -> None:
        bench.connection.pause()
        bench.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        bench.raw.close()
        bench.connection.send((b"anybody?",))
        assert isinstance(await receiver.ending(), ConnectionError)

    on_bench(receiver, main)


def test_the_last_reply_outlives_what_the_peer_had_still_to_say() -> None:
    class Refusing(Peer):
        def take(self, data: memoryview) -> int:
            self.connection.send((b"refused",))
            self.connection.close()
            return 0

    receiver = Refusing()

    async def main(bench: Bench) -> None:
        await bench.write(bytes(1_000_000))
        assert await receiver.ending() is None
        # Our end is closed for the receiver, and still nothing is reset.
        await bench.write(bytes(1_000_000))
        assert await bench.read(7) == b"refused"
        assert await bench.connection_ended() == b""
        await bench.write(b"a last word")

    on_bench(receiver, main)


def test_a_peer_that_never_ends_its_side_is_not_waited_for_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.host.connection.LINGER_SECONDS", 0.0)
    receiver = Peer()

    async def main(bench: Bench) -> None:
        bench.connection.close()
        assert await bench.connection_ended() == b""
        assert await receiver.ending() is None
        # Without a socket of ours the kernel answers with a reset.
        await bench.write(b"are you there?")
        with pytest.raises(ConnectionError):
            await bench.write(b"are you there?")

    on_bench(receiver, main)


def test_a_connection_that_is_over_knows_its_receiver_no_more() -> None:
    receiver = Peer()

    async def main(bench: Bench) -> None:
        connection = bench.connection
        bench.raw.close()
        await receiver.ending()
        assert receiver not in [getattr(connection, name) for name in HostConnection.__slots__]

    on_bench(receiver, main)
