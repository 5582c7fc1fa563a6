"""The atlas: what may be destroyed, and that the ghosts are told."""

import pytest

from barnabas.log.checkpoints import RECOVERY_POINTS, START_OFFSETS
from barnabas.log.names import EPOCH_CHECKPOINT, INDEX, LOG, SNAPSHOT, TRANSACTION_INDEX
from barnabas.records.batch import CHECKED_FROM, batches
from barnabas.sim.disk import SimDisk
from barnabas.sim.disk_content import PAGE
from barnabas.sim.disk_faults import Calm
from barnabas.sim.profiles.log.atlas import Atlas, log_of, whole_batches
from barnabas.sim.profiles.log.ghost import Ghost
from barnabas.sim.profiles.log.layout import LOGS, PATHS, log_path
from tests.log.storage import batch, run
from tests.sim.profiles.log.test_naive import at

PLAIN = log_path("plain")
SEGMENT = f"{PLAIN}/{0:020d}{LOG}"
STORED = [at(number, batch(b"v" * 3_000, epoch=1)) for number in range(3)]


@pytest.fixture
def atlas() -> tuple[Atlas, dict[str, Ghost]]:
    """Return an atlas of a disk with one segment and some other files."""
    disk = SimDisk(Calm())
    process = disk.process(lambda: None, lambda ns: None, nothing)
    process.make_directory(PLAIN)
    files = {SEGMENT: b"".join(STORED) + bytes(5_000), f"{PATHS[0]}/{RECOVERY_POINTS}": b"0\n0\n"}
    files |= {f"{PLAIN}/{number:020d}{SNAPSHOT}": b"s" for number in (3, 7)}
    for path, data in files.items():
        file = process.open(path, "create")
        file.write(0, [data])
        run(file.sync())
    for path in ("/", "/data", PATHS[0], PLAIN):
        run(process.sync_directory(path))
    ghosts = {name: Ghost(name, name == "keyed") for name in LOGS}
    ghosts["plain"].stored = list(STORED)
    return Atlas(disk, ghosts), ghosts


async def nothing(duration_ns: int) -> None:
    """Take no time."""


def test_what_a_checksum_covers_may_be_destroyed(
    atlas: tuple[Atlas, dict[str, Ghost]],
) -> None:
    book, ghosts = atlas
    offset = len(STORED[0]) + CHECKED_FROM
    assert book.may_destroy(SEGMENT, offset, 1)
    assert not ghosts["plain"].is_damaged, "it was a question"
    book.destroys(SEGMENT, offset, 1)
    assert (list(ghosts["plain"].damaged), ghosts["plain"].torn) == ([1], {})


@pytest.mark.parametrize("field", [0, 7, 12, 15])
def test_what_no_checksum_covers_may_not(atlas: tuple[Atlas, dict[str, Ghost]], field: int) -> None:
    book, _ = atlas
    assert not book.may_destroy(SEGMENT, len(STORED[0]) + field, 1)


@pytest.mark.parametrize("field", [8, 11, 16])
def test_a_batch_without_bounds_hides_those_behind_it(
    atlas: tuple[Atlas, dict[str, Ghost]], field: int
) -> None:
    book, ghosts = atlas
    book.destroys(SEGMENT, len(STORED[0]) + field, 1)
    assert ghosts["plain"].torn == {0: 1}


def test_a_page_may_go_unless_whole_batches_could_come_to_lie_there(
    atlas: tuple[Atlas, dict[str, Ghost]],
) -> None:
    book, ghosts = atlas
    assert not book.may_destroy(SEGMENT, 0, PAGE), "a batch begins with it"
    assert not book.may_destroy(SEGMENT, 3 * PAGE, PAGE), "nothing is there"
    assert book.may_destroy(SEGMENT, PAGE, PAGE)
    book.destroys(SEGMENT, PAGE, PAGE)
    assert (list(ghosts["plain"].damaged), ghosts["plain"].torn) == ([1, 2], {0: 1})


def test_of_what_the_ghost_does_not_know_nothing_is_destroyed(
    atlas: tuple[Atlas, dict[str, Ghost]],
) -> None:
    book, ghosts = atlas
    del ghosts["plain"].stored[1]
    assert not book.may_destroy(SEGMENT, len(STORED[0]) + CHECKED_FROM, 1)
    assert not book.may_destroy(f"{PLAIN}/{9:020d}{LOG}", 0, 1)


def test_what_is_derived_may_be_destroyed_where_something_can_notice(
    atlas: tuple[Atlas, dict[str, Ghost]],
) -> None:
    book, ghosts = atlas
    permitted = {
        f"{PLAIN}/{3:020d}{SNAPSHOT}": False,
        f"{PLAIN}/{7:020d}{SNAPSHOT}": True,
        f"{PLAIN}/{0:020d}{INDEX}": True,
        f"{PLAIN}/{0:020d}{TRANSACTION_INDEX}": False,
        f"{PLAIN}/{EPOCH_CHECKPOINT}": True,
        f"{PLAIN}/partition.metadata": False,
        f"{PATHS[0]}/{RECOVERY_POINTS}": True,
        f"{PATHS[0]}/.lock": False,
        "/elsewhere": False,
    }
    assert {path: book.may_destroy(path, 0, 1) for path in permitted} == permitted
    book.destroys(f"{PLAIN}/{0:020d}{INDEX}", 0, 1)
    assert list(ghosts["plain"].rotten) == [f"{PLAIN}/{0:020d}{INDEX}"]
    book.destroys(f"{PATHS[0]}/{START_OFFSETS}", 0, 1)
    assert [name for name in LOGS if ghosts[name].start_is_lost] == ["plain", "copy"]


def test_nothing_is_destroyed_while_a_start_is_on_its_way(
    atlas: tuple[Atlas, dict[str, Ghost]],
) -> None:
    book, ghosts = atlas
    ghosts["copy"].is_moving = True
    assert not book.may_destroy(SEGMENT, CHECKED_FROM, 1)
    assert not book.may_break(SEGMENT, 0, 512)
    ghosts["copy"].is_moving = False
    assert book.may_break(SEGMENT, 0, 512)
    assert ghosts["plain"].is_unreadable
    assert not book.may_break(f"{PATHS[0]}/{RECOVERY_POINTS}", 0, 512)


def test_a_path_tells_its_log() -> None:
    assert log_of(f"{log_path('keyed')}/x") == "keyed"
    assert log_of(f"{PATHS[0]}/x") is None


def test_batches_are_followed_up_to_where_none_begins() -> None:
    data = b"".join(STORED)
    assert whole_batches(data) == list(batches(data))
    assert len(whole_batches(STORED[0] + b"\xff" * 200)) == 1
