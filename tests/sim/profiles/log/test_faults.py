"""The faults that have to know what lies where."""

from random import Random

import pytest

from barnabas.sim.plan import Fault
from barnabas.sim.profiles.log.faults import DESTROYING, HOST, KINDS_HERE, sort
from barnabas.sim.profiles.log.layout import log_path
from tests.log.storage import run
from tests.sim.worlds import world_of


@pytest.mark.parametrize("name", sorted(KINDS_HERE))
def test_each_fault_can_be_done_to_a_machine_that_has_nothing_yet(name: str) -> None:
    kind = KINDS_HERE[name]
    with world_of(HOST) as world:
        drawn = kind.draw(Random(1), (HOST,))
        kind.do(world, Fault(name, 0, drawn.target, drawn.duration_ms, drawn.params))
        world.run_ms(100)
        assert world.violation is None


def test_what_destroys_is_in_no_ordinary_plan() -> None:
    assert {name for name, kind in KINDS_HERE.items() if kind.unusual} == set(DESTROYING)


def test_files_are_of_three_sorts() -> None:
    names = {"0" * 20 + ".log": "data", "0" * 20 + ".index": "derived", "x": "checkpoint"}
    assert {name: sort(f"{log_path('plain')}/{name}") for name in names} == names


def test_rot_hits_the_sort_of_file_that_is_asked_for() -> None:
    with world_of(HOST) as world:
        disk = world.hosts[HOST].disk
        process = disk.process(lambda: None, lambda ns: None, nothing)
        process.make_directory("/d")
        for name in ("a", "0" * 20 + ".log"):
            file = process.open(f"/d/{name}", "create")
            file.write(0, [b"text"])
            run(file.sync())
        for path in ("/", "/d"):
            run(process.sync_directory(path))
        KINDS_HERE["rot"].do(world, Fault("rot", 0, (HOST,), 1, (("what", "checkpoint"),)))
        found = disk.durable_content("/d/a")
        assert found is not None
        assert sum(byte >= 0x80 for byte in found.read(0, 4)) == 1


async def nothing(duration_ns: int) -> None:
    """Take no time."""
