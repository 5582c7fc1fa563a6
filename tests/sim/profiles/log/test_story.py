"""What outlives the process, and what must be seen."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.sim.profiles.log.story import MUST_SEE, ORACLES, TORN_TAIL, Story
from barnabas.sim.world import World
from tests.log.storage import Machine, batch, run
from tests.sim.worlds import world_of


@pytest.fixture
def world() -> Iterator[World]:
    """Return a world without hosts: somebody has to count marks."""
    with world_of() as empty:
        yield empty


def test_nothing_must_be_seen_twice() -> None:
    assert len(set(MUST_SEE)) == len(MUST_SEE)
    assert len(set(ORACLES)) == len(ORACLES)


def test_the_table_of_oracles_tells_where_each_is_asked() -> None:
    page = Path(__file__).parents[4] / "docs" / "internals" / "log-oracles.md"
    assert re.findall(r"^\| (\w+-\d+) \|", page.read_text(), re.MULTILINE) == list(ORACLES)


@pytest.mark.parametrize(
    ("tail", "torn"), [(b"", False), (bytes(500), False), (b"half a batch", True)]
)
def test_a_tail_in_pieces_is_told_from_space_and_from_a_whole_one(
    world: World, tail: bytes, torn: bool
) -> None:
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"a"), 1, 0)
    run(log.flush())
    log.segments[0].file.write(log.segments[0].size_bytes, [tail])
    Story(world, machine.disk, lambda served: None).look_at_tail(log.directory)
    assert world.seen == ({TORN_TAIL: 1} if torn else {})


def test_a_life_that_died_while_it_opened_is_counted_by_the_next(world: World) -> None:
    told = Story(world, Machine().disk, lambda served: None)
    told.begin_life()
    told.begin_life()
    told.opened()
    told.begin_life()
    assert world.seen == {"crash during recovery": 1, "S-19 asked": 1}


def test_an_empty_disk_lets_everything_begin_anew(world: World) -> None:
    machine = Machine()
    told = Story(world, machine.disk, lambda served: None)
    told.begin_life()
    told.ghosts["plain"].stored.append(batch(b"gone"))
    told.clean["/data/a"] = 1
    machine.disk.wipe()
    told.begin_life()
    assert told.ghosts["plain"].stored == []
    assert told.clean == {}
