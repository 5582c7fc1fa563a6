"""The network seam beside bare asyncio and beside C: echo, slices of files, idle connections.

Each server is a process of its own; all are put under load by the same client in C; the sides take
turns.  A frame is a size of four bytes and 100 bytes.

- *apart*: the client sends each frame by a send of its own, as clients of Kafka do.  The kernel's
  work per frame is most of the cost, for every server.
- *together*: all frames that follow the replies of one read come in one send, so that one turn of
  the server answers a dozen frames.  This shows what a server adds per frame, and beside C it shows
  the interpreter, which has no goal: the seam can be no faster than the loop over frames that its
  receiver runs.
- *in two parts*: as *together*, and every reply is made of two parts, as replies with a header are.

Frames per second are what a user sees, and on a machine that does other things they say mostly
that.  Frames per second of CPU time of the server are what the server itself costs.

The echo server over the seam is a ``Receiver`` in a life of a process, nothing else.  The one on
bare asyncio is a ``BufferedProtocol`` with a buffer of its own per connection, as tight as it gets.
"""

import asyncio
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from barnabas.host.world import live
from barnabas.runtime.disk import Buffer, File
from barnabas.runtime.network import Address, Connection, Receiver
from barnabas.runtime.runtime import Runtime
from benchmarks.native import compiled
from benchmarks.report import Row

ROOT: Final = Path(__file__).parent.parent

# Short runs in many turns: whatever else the machine does meets all sides alike.
ROUNDS: Final = 3
WARM_MS: Final = 50
RUN_MS: Final = 250

FRAME_BYTES: Final = 100
FILE_BYTES: Final = 64 * 1_048_576

IDLE_CONNECTIONS: Final = 10_000
IDLE_KB_MAX: Final = "<= 20"

size_at: Final = struct.Struct(">i").unpack_from


# --- What is measured ------------------------------------------------------------------------


def run(repetitions: int) -> Iterator[Row]:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as place:
        programs = compiled(Path(place), "echo", "load", "slices", "drain")
        yield from echo_rows(programs, repetitions * ROUNDS)
        segment = Path(place) / "segment"
        segment.write_bytes(os.urandom(FILE_BYTES))
        yield from slice_rows(programs, str(segment), repetitions * ROUNDS)
        yield from idle_rows(programs, repetitions * ROUNDS)


def echo_rows(programs: dict[str, str], rounds: int) -> Iterator[Row]:
    """Compare servers that send back what they get."""
    load, plain = programs["load"], ("seam", "bare", "echo")
    for depth, connections, way, names in (
        (16, 1, "apart", plain),
        (16, 4, "apart", plain),
        (16, 1, "together", plain),
        (16, 4, "together", plain),
        (1, 1, "apart", plain),
        (16, 1, "together", ("seam-parts", "bare-parts")),
    ):
        servers = [[programs[name]] if name in programs else python(name) for name in names]
        sides = [partial(loaded, it, load, connections, depth, way) for it in servers]
        figures = pairs_interleaved(rounds, sides)
        case = f"echo, {depth} in flight on {connections}"
        case += f", {way}" * (depth > 1) + ", in two parts" * (names is not plain)
        rivals = (("bare asyncio", ">= 0.85"), ("C", ">= 0.65" if way == "apart" else ""))
        for (against, goal), theirs in zip(rivals, figures[1:], strict=False):
            ours = figures[0]
            yield Row("net", case, "frames/s", ours[0], theirs[0], against, goal, "more")
            yield Row("net", case, "frames/CPU s", ours[1], theirs[1], against, goal, "more")


def pairs_interleaved(
    rounds: int, sides: Sequence[Callable[[], tuple[float, float]]]
) -> list[tuple[float, float]]:
    """Measure sides that have two figures each in turn; return the medians."""
    figures: list[list[tuple[float, float]]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, mine in zip(sides, figures, strict=True):
            mine.append(side())
    return [(median(it[0] for it in mine), median(it[1] for it in mine)) for mine in figures]


def slice_rows(programs: dict[str, str], segment: str, rounds: int) -> Iterator[Row]:
    """Compare servers that answer with slices of a file."""
    for slice_bytes, goal in ((262_144, ">= 0.7"), (16_384, ">= 0.5")):
        arguments = (segment, str(slice_bytes))
        sides = [
            partial(drained, server, programs["drain"], slice_bytes)
            for server in (python("slices", *arguments), [programs["slices"], *arguments])
        ]
        figures = pairs_interleaved(rounds, sides)
        case = f"slices of {slice_bytes // 1_024} KiB by sendfile"
        for unit, (ours, theirs) in zip(
            ("GB/s", "GB/CPU s"), zip(*figures, strict=True), strict=True
        ):
            yield Row("net", case, unit, ours / 1e9, theirs / 1e9, "sendfile in C", goal, "more")


def idle_rows(programs: dict[str, str], rounds: int) -> Iterator[Row]:
    """Weigh connections that do nothing, and see what they cost one that does."""
    with ExitStack() as stack:
        crowded, port = stack.enter_context(serving(python("seam")))
        load = programs["load"]
        under_load(load, port, 1, 16, "apart")
        before = resident_bytes(crowded.pid)
        for _ in range(IDLE_CONNECTIONS):
            talk(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
        each = (resident_bytes(crowded.pid) - before) / IDLE_CONNECTIONS / 1_000
        case = f"memory of one of {IDLE_CONNECTIONS:,} idle connections"
        yield Row("net", case, "KB", each, None, "", IDLE_KB_MAX, "less")
        _, quiet_port = stack.enter_context(serving(python("seam")))
        ports = (port, quiet_port)
        sides = [partial(under_load, load, it, 1, 16, "apart") for it in ports]
        (ours, _), (alone, _) = pairs_interleaved(rounds, sides)
        case = f"echo, 16 in flight on 1 beside {IDLE_CONNECTIONS:,} idle"
        yield Row("net", case, "frames/s", ours, alone, "ours alone", ">= 0.9", "more")


# --- Servers and load, from outside ----------------------------------------------------------


def python(*words: str) -> list[str]:
    """Return the command that runs a server of this module."""
    return [sys.executable, "-m", "benchmarks.net", *words]


@contextmanager
def serving(command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a server; yield it and its port; it ends when its standard input does."""
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, f"{command} did not start"
        try:
            yield server, int(line)
            server.stdin.close()
            code = server.wait(timeout=10)
            assert code == 0, f"{command} ended with {code}"
        finally:
            # Has no effect on one that has ended.
            server.kill()


def loaded(
    server: list[str], load: str, connections: int, depth: int, way: str
) -> tuple[float, float]:
    """Return the frames of a server that lives as long as the load, per second and CPU second."""
    with serving(server) as (process, port):
        before_ns = busy_ns(process.pid)
        per_second, count = under_load(load, port, connections, depth, way)
        return per_second, count / (busy_ns(process.pid) - before_ns) * 1e9


def under_load(load: str, port: int, connections: int, depth: int, way: str) -> tuple[float, float]:
    """Return the frames per second of a server that is there, and how many there were."""
    numbers = (port, connections, depth, FRAME_BYTES, WARM_MS, RUN_MS)
    said = subprocess.check_output([load, *map(str, numbers), way]).split()
    return float(said[0]), float(said[1])


def busy_ns(pid: int) -> int:
    """Return how long a process has had a core."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def drained(server: list[str], drain: str, slice_bytes: int) -> tuple[float, float]:
    """Return the bytes of slices per second and per CPU second of the server."""
    with serving(server) as (process, port):
        before_ns = busy_ns(process.pid)
        numbers = (port, 4, slice_bytes, WARM_MS, RUN_MS)
        said = subprocess.check_output([drain, *map(str, numbers)]).split()
        return float(said[0]), float(said[1]) / (busy_ns(process.pid) - before_ns) * 1e9


def talk(sock: socket.socket) -> None:
    """Exchange one frame on a connection that will be idle."""
    asked = struct.pack(">i", FRAME_BYTES) + bytes(FRAME_BYTES)
    sock.sendall(asked)
    answered = sock.recv(len(asked), socket.MSG_WAITALL)
    assert answered == asked


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


# --- Servers, from inside --------------------------------------------------------------------


class Echo:
    """Sends back every whole frame."""

    connection: Connection

    def opened(self, connection: Connection) -> None:
        """Keep the connection."""
        self.connection = connection

    def received(self, data: memoryview) -> int:
        """Find the whole frames and send them back."""
        at, have = 0, len(data)
        while have - at >= 4:
            end = at + 4 + size_at(data, at)[0]
            if end > have:
                self.connection.expect(end - at)
                break
            at = end
        if at:
            self.connection.send((data[:at],))
        return at

    def closed(self, error: Exception | None) -> None:
        """Nothing depends on it."""


class EchoInParts(Echo):
    """Sends back every frame as a reply of two parts."""

    def received(self, data: memoryview) -> int:
        """Find the whole frames and answer each."""
        at, have = 0, len(data)
        replies: list[Buffer] = []
        while have - at >= 4:
            end = at + 4 + size_at(data, at)[0]
            if end > have:
                self.connection.expect(end - at)
                break
            replies.append(data[at : at + 4])
            replies.append(data[at + 4 : end])
            at = end
        self.connection.send(replies)
        return at


class Slices(Echo):
    """Answers every frame with the next slice of a file."""

    def __init__(self, file: File, slice_bytes: int) -> None:
        self.file = file
        self.slice_bytes = slice_bytes
        self.announced = struct.pack(">i", slice_bytes)
        self.at = 0

    def received(self, data: memoryview) -> int:
        """Answer every whole frame; they are of eight bytes."""
        for _ in range(len(data) // 8):
            if self.at + self.slice_bytes > FILE_BYTES:
                self.at = 0
            self.connection.send((self.announced,))
            self.connection.send_file(self.file, self.at, self.slice_bytes)
            self.at += self.slice_bytes
        return len(data) // 8 * 8


class BareEcho(asyncio.BufferedProtocol):
    """The same as ``Echo`` on bare asyncio."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.buffer = bytearray(65_536)
        self.view = memoryview(self.buffer)
        self.used = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Offer what is free."""
        return self.view[self.used :]

    def buffer_updated(self, nbytes: int) -> None:
        """Find the whole frames and send them back."""
        view, at = self.view, 0
        self.used = used = self.used + nbytes
        while used - at >= 4:
            end = at + 4 + size_at(view, at)[0]
            if end > used:
                break
            at = end
        if at:
            self.transport.write(view[:at])
            self.buffer[: used - at] = self.buffer[at:used]
            self.used = used - at


class BareEchoInParts(BareEcho):
    """The same as ``EchoInParts`` on bare asyncio."""

    def buffer_updated(self, nbytes: int) -> None:
        """Find the whole frames and answer each."""
        view, at = self.view, 0
        self.used = used = self.used + nbytes
        replies: list[Buffer] = []
        while used - at >= 4:
            end = at + 4 + size_at(view, at)[0]
            if end > used:
                break
            replies.append(view[at : at + 4])
            replies.append(view[at + 4 : end])
            at = end
        if at:
            self.transport.writelines(replies)
            self.buffer[: used - at] = self.buffer[at:used]
            self.used = used - at


async def until_parent_ends(port: int) -> None:
    """Say where we listen, and return when standard input ends."""
    print(port, flush=True)
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(sys.stdin, ended.set_result, None)
    await ended
    loop.remove_reader(sys.stdin)


async def over_the_seam(make: Callable[[Runtime], Callable[[], Receiver]]) -> None:
    """Serve receivers over the seam."""

    async def main(runtime: Runtime) -> None:
        listener = await runtime.network.listen(Address("127.0.0.1", 0), make(runtime))
        await until_parent_ends(listener.address.port)

    await live("bench", main)


async def on_bare_asyncio(make: Callable[[], asyncio.BufferedProtocol]) -> None:
    """Serve protocols on asyncio."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(make, "127.0.0.1", 0)
    await until_parent_ends(server.sockets[0].getsockname()[1])
    server.close()


def slices(path: str, slice_bytes: str, runtime: Runtime) -> Callable[[], Slices]:
    """Return what makes receivers that answer with slices."""
    return partial(Slices, runtime.disk.open(path, "read"), int(slice_bytes))


def serve(words: list[str]) -> None:
    """Be one of the servers."""
    match words:
        case ["seam"]:
            asyncio.run(over_the_seam(lambda _: Echo))
        case ["seam-parts"]:
            asyncio.run(over_the_seam(lambda _: EchoInParts))
        case ["bare"]:
            asyncio.run(on_bare_asyncio(BareEcho))
        case ["bare-parts"]:
            asyncio.run(on_bare_asyncio(BareEchoInParts))
        case ["slices", path, slice_bytes]:
            asyncio.run(over_the_seam(partial(slices, path, slice_bytes)))
        case _:
            raise SystemExit(f"there is no server {words}")


if __name__ == "__main__":
    serve(sys.argv[1:])
