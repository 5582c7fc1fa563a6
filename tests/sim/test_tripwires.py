"""Doors of the operating system ring inside a run, and only there."""

import importlib
import logging
import os
import socket
import threading
import time

import pytest

from barnabas.runtime.runtime import Runtime
from barnabas.sim.tape import Tape
from barnabas.sim.tripwires import DOORS, Tripped, Tripwires
from barnabas.sim.world import World
from tests.sim.worlds import Main

# The door that is to ring, and what the product calls: a function of a module, and arguments.
REACHES: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("time.time", "time.time", ()),
    ("time.sleep", "time.sleep", (0,)),
    ("time.monotonic", "time.monotonic", ()),
    ("random.random", "random.random", ()),
    ("random.choice", "random.choice", ("ab",)),
    ("os.urandom", "os.urandom", (1,)),
    ("os.listdir", "os.listdir", (".",)),
    ("os.open", "os.open", ("/dev/null", os.O_RDONLY)),
    ("builtins.open", "builtins.open", ("/dev/null",)),
    ("io.open", "io.open", ("/dev/null",)),
    ("socket.socket.__init__", "socket.socket", ()),
    ("socket.getaddrinfo", "socket.getaddrinfo", ("localhost", 1)),
    ("subprocess.Popen.__init__", "subprocess.run", (["true"],)),
    ("uuid.uuid4", "uuid.uuid4", ()),
    ("secrets.token_bytes", "secrets.token_bytes", (1,)),
    ("tempfile.mkdtemp", "tempfile.mkdtemp", ()),
)


def story_of(main: Main) -> str:
    """Run a process inside wires and return how the run ended."""
    world = World(Tape(1))
    world.add_host("a")
    with Tripwires(world.kernel):
        world.start("a", main)
        world.run_ms(10)
    world.close()
    return world.violation.story if world.violation is not None else ""


@pytest.mark.parametrize(("door", "called", "arguments"), REACHES)
def test_a_door_opened_by_the_product_rings(
    door: str, called: str, arguments: tuple[object, ...]
) -> None:
    async def main(runtime: Runtime) -> None:
        module, _, name = called.rpartition(".")
        getattr(importlib.import_module(module), name)(*arguments)

    assert f"Tripped: a opened {door}" in story_of(main)


def test_starting_a_thread_rings() -> None:
    async def main(runtime: Runtime) -> None:
        threading.Thread(target=print).start()

    assert "Tripped: a opened threading.Thread.start" in story_of(main)


def test_outside_of_handles_and_after_the_run_the_doors_are_themselves() -> None:
    before = (time.time, os.listdir, socket.socket.__init__, open, threading.Thread.start)
    world = World(Tape(1))
    with Tripwires(world.kernel):
        assert time.time is not before[0]
        assert time.time() > 0
        assert os.listdir(".")
        socket.socket().close()
    assert before == (time.time, os.listdir, socket.socket.__init__, open, threading.Thread.start)
    world.close()


def test_wires_come_down_when_a_run_raises() -> None:
    world = World(Tape(1))
    real = time.time
    with pytest.raises(ValueError, match="on purpose"), Tripwires(world.kernel):
        raise ValueError("on purpose")
    assert time.time is real
    world.close()


def test_log_lines_carry_virtual_time() -> None:
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    logger = logging.getLogger("barnabas.test")
    keep = Keep()
    logger.addHandler(keep)

    async def main(runtime: Runtime) -> None:
        await runtime.clock.sleep_ms(5_000)
        logger.warning("five seconds in")

    world = World(Tape(1))
    world.add_host("a")
    with Tripwires(world.kernel):
        world.start("a", main)
        world.run_ms(10_000)
    world.close()
    logger.removeHandler(keep)
    (record,) = records
    assert 4.9 < record.created < 5.1
    assert world.violation is None


def test_wires_are_on_doors_that_exist() -> None:
    assert len({name for name, _ in DOORS}) == len(DOORS)
    for module, names in DOORS:
        for name in names:
            place = importlib.import_module(module)
            for part in name.split("."):
                place = getattr(place, part)
            assert callable(place)


def test_nobody_catches_a_ring_by_accident() -> None:
    assert not issubclass(Tripped, Exception)
