"""The network of this machine: the contract, and what only a real kernel can show."""

import asyncio
import errno
import gc
import logging
import resource
import socket
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from barnabas.host.connection import GROWTH
from barnabas.host.network import HostListener, HostNetwork, listening_socket, meets_itself
from barnabas.runtime.network import Address, Connection
from barnabas.runtime.runtime import Runtime
from tests.host.process import run_on_host
from tests.runtime.network_contract import Door, Main, NetworkContract, Peer


class TestHostNetwork(NetworkContract):
    """The contract, here."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.directory = str(tmp_path)

    def run(self, main: Main) -> None:
        run_on_host(main)


async def door_at(runtime: Runtime, host: str) -> Door:
    """Listen on a free port of a host."""
    door = Door(Peer)
    door.listener = await runtime.network.listen(Address(host, 0), door.accept)
    return door


def refuses_ipv6() -> bool:
    """Tell whether this machine has no IPv6 loopback."""
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return True
    return False


def test_ipv6_works_where_the_machine_has_it_and_fails_clearly_where_not() -> None:
    async def main(runtime: Runtime) -> None:
        if refuses_ipv6():
            with pytest.raises(OSError, match=r"cannot listen on \[::1\]:0"):
                await door_at(runtime, "::1")
            return
        door = await door_at(runtime, "::1")
        near = Peer()
        await runtime.network.connect(door.listener.address, near, 10_000)
        far = await door.next()
        assert near.connection.remote == far.connection.local
        assert str(far.connection.local).startswith("[::1]:")
        # An IPv6 number means IPv6 alone: the same port of IPv4 is somebody else's.
        address = Address("127.0.0.1", door.listener.address.port)
        with pytest.raises(ConnectionRefusedError):
            await runtime.network.connect(address, Peer(), 10_000)

    run_on_host(main)


def test_a_listener_without_a_name_hears_every_address_of_the_machine() -> None:
    async def main(runtime: Runtime) -> None:
        door = await door_at(runtime, "")
        hosts = ["127.0.0.1", "127.0.0.2"] + ([] if refuses_ipv6() else ["::1"])
        for host in hosts:
            near = Peer()
            await runtime.network.connect(Address(host, door.listener.address.port), near, 10_000)
            far = await door.next()
            near.connection.send((b"heard",))
            await far.has(b"heard")

    run_on_host(main)


def test_a_name_is_looked_up_and_all_it_means_is_tried() -> None:
    async def main(runtime: Runtime) -> None:
        door = await door_at(runtime, "localhost")
        assert door.listener.address.host == "127.0.0.1", "IPv4 first, as Kafka's listeners do"
        # The name may mean ::1 first, where nobody listens.
        address = Address("localhost", door.listener.address.port)
        await runtime.network.connect(address, Peer(), 10_000)
        await door.next()

    run_on_host(main)


def test_a_name_that_means_nothing_is_an_error_with_the_name() -> None:
    async def main(runtime: Runtime) -> None:
        with pytest.raises(OSError, match=r"cannot connect to nowhere\.invalid:9092"):
            await runtime.network.connect(Address("nowhere.invalid", 9_092), Peer(), 10_000)

    run_on_host(main)


def test_connecting_gives_up_after_its_time() -> None:
    async def main(runtime: Runtime) -> None:
        # A listener that never accepts and whose queue is full drops what asks to connect.
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            address = Address(*listener.getsockname())
            await runtime.network.connect(address, Peer(), 10_000)
            late = Peer()
            with pytest.raises(TimeoutError, match=f"cannot connect to {address}"):
                await runtime.network.connect(address, late, 30)
            assert (late.opens, late.endings) == (0, [])

    run_on_host(main)


def test_a_cancelled_connect_leaves_nothing_behind() -> None:
    async def main(runtime: Runtime) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            address = Address(*listener.getsockname())
            tasks = [
                asyncio.get_running_loop().create_task(
                    runtime.network.connect(address, Peer(), 10_000)
                )
                for _ in range(5)
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert any(isinstance(it, asyncio.CancelledError) for it in done)
            # A socket left open would be complained about when it is collected.
            gc.collect()

    run_on_host(main)


def test_a_connection_that_met_itself_is_recognised() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.connect(sock.getsockname())
        assert meets_itself(sock)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as sock,
    ):
        assert not meets_itself(sock)


class PlantedError(Exception):
    """What a receiver with a bug raises."""


def test_a_receiver_that_raises_loses_its_connection_and_ends_the_process() -> None:
    class Buggy(Peer):
        def take(self, data: memoryview) -> int:
            self.connection.send((b"half a reply",))
            raise PlantedError(bytes(data))

    told: list[Exception | None] = []
    near = Peer()

    async def main(runtime: Runtime) -> None:
        door = Door(Buggy)
        door.listener = await runtime.network.listen(Address("127.0.0.1", 0), door.accept)
        await runtime.network.connect(door.listener.address, near, 10_000)
        far = await door.next()
        near.connection.send((b"boom",))
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            told.append(await far.ending())

    with pytest.raises(PlantedError) as raised:
        run_on_host(main)
    assert told == [raised.value]
    assert not near.taken
    assert "connection 127.0.0.1" in raised.value.__notes__[0]


@pytest.mark.parametrize("where", ["accept", "opened", "closed"])
def test_whatever_a_receiver_raises_in_is_a_bug(where: str) -> None:
    class Buggy(Peer):
        def opened(self, connection: Connection) -> None:
            super().opened(connection)
            if where == "opened":
                raise PlantedError

        def closed(self, error: Exception | None) -> None:
            super().closed(error)
            if where == "closed":
                raise PlantedError

    def accept() -> Peer:
        if where == "accept":
            raise PlantedError
        return Buggy()

    near = Peer()

    async def main(runtime: Runtime) -> None:
        listener = await runtime.network.listen(Address("127.0.0.1", 0), accept)
        await runtime.network.connect(listener.address, near, 10_000)
        near.connection.close()
        await asyncio.get_running_loop().create_future()

    with pytest.raises(PlantedError):
        run_on_host(main)


def test_consuming_more_than_there_is_is_a_bug() -> None:
    class Greedy(Peer):
        def take(self, data: memoryview) -> int:
            return len(data) + 1

    async def main(runtime: Runtime) -> None:
        listener = await runtime.network.listen(Address("127.0.0.1", 0), Greedy)
        near = Peer()
        await runtime.network.connect(listener.address, near, 10_000)
        near.connection.send((b"1234",))
        await asyncio.get_running_loop().create_future()

    with pytest.raises(AssertionError, match="consumed 5 bytes of 4"):
        run_on_host(main)


class Heard(logging.Handler):
    """Lets a test wait for a line of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.some = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.some.set()


@pytest.fixture
def heard() -> Iterator[Heard]:
    """Yield what the world writes into the log."""
    handler = Heard()
    log = logging.getLogger("barnabas.host")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


def test_a_listener_out_of_file_descriptors_rests_and_goes_on(heard: Heard) -> None:
    async def main(runtime: Runtime) -> None:
        door = await door_at(runtime, "127.0.0.1")
        address = door.listener.address
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as client:
            client.setblocking(False)
            # As many as are open: connecting needs none, accepting needs one.
            resource.setrlimit(resource.RLIMIT_NOFILE, (client.fileno() + 1, limits[1]))
            try:
                loop = asyncio.get_running_loop()
                await loop.sock_connect(client, (address.host, address.port))
                await heard.some.wait()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            assert not door.peers
            await door.next()

    run_on_host(main)
    assert "cannot accept" in heard.lines[0]
    assert "Too many open files" in heard.lines[0]


def test_a_resting_listener_can_be_closed(heard: Heard) -> None:
    class Exhausted(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            raise OSError(errno.EMFILE, "Too many open files")

    async def main(runtime: Runtime) -> None:
        network = runtime.network
        assert isinstance(network, HostNetwork)
        sock = await listening_socket(Address("127.0.0.1", 0))
        listener = HostListener(network, Exhausted(fileno=sock.detach()), Peer)
        address = listener.address
        with socket.create_connection((address.host, address.port)):
            await heard.some.wait()
            listener.close()
        with pytest.raises(ConnectionRefusedError):
            await network.connect(address, Peer(), 10_000)

    run_on_host(main)


@pytest.mark.slow
def test_an_idle_connection_owns_next_to_nothing() -> None:
    count = 500

    async def main(runtime: Runtime) -> None:
        door = await door_at(runtime, "127.0.0.1")
        # What is made on first use belongs to nobody in particular.
        warm = Peer()
        await runtime.network.connect(door.listener.address, warm, 10_000)
        await (await door.next()).until(lambda: warm.opens)
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        nears = [Peer() for _ in range(count)]
        for near in nears:
            await runtime.network.connect(door.listener.address, near, 10_000)
        fars = [await door.next() for _ in nears]
        for near in nears:
            near.connection.send((bytes(70_000),))
        for far in fars:
            await far.has(bytes(70_000))
            far.connection.send((b"reply",))
        for near in nears:
            await near.has(b"reply")
        for peer in (*nears, *fars):
            peer.taken.clear()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # Both ends are in this process, each with its peer.
        assert (after - before) / count / 2 < 5_000

    run_on_host(main)


def test_a_claim_costs_no_memory_until_bytes_arrive() -> None:
    class Credulous(Peer):
        seen = 0

        def has_seen(self, count: int) -> bool:
            return self.seen == count

        def take(self, data: memoryview) -> int:
            self.connection.expect(1 << 40)
            self.seen = len(data)
            return 0

    async def main(runtime: Runtime) -> None:
        far = Credulous()
        door = Door(lambda: far)
        door.listener = await runtime.network.listen(Address("127.0.0.1", 0), door.accept)
        near = Peer()
        await runtime.network.connect(door.listener.address, near, 10_000)
        arrived = 0
        tracemalloc.start()
        for size in (10, 1_000, 50_000, 1_000_000):
            near.connection.send((bytes(size),))
            arrived += size
            await far.until(partial(far.has_seen, arrived))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 * GROWTH * arrived

    run_on_host(main)
