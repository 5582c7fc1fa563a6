"""Reading a replica's directory: whole, torn, damaged, and while somebody works in it."""

import pytest

from barnabas.model.errors import CorruptLog
from barnabas.raft.control_records import snapshot_footer, snapshot_header
from barnabas.raft.onlooker import METADATA, Onlooker
from barnabas.raft.outline import SnapshotId
from barnabas.raft.snapshot_files import snapshot_name
from barnabas.records.snapshot import data_batch, snapshot_footer_batch, snapshot_header_batch
from barnabas.runtime.disk import Disk, File, Mode
from tests.log.storage import PATH, Machine

HERE = f"{PATH}/{METADATA}"
FIRST, SECOND = f"{HERE}/{0:020}.log", f"{HERE}/{4:020}.log"

BATCHES = [
    data_batch(0, 1, 10, [b"a", b"b"]),
    data_batch(2, 1, 11, [b"c", b"d"]),
    data_batch(4, 2, 12, [b"e"]),
    data_batch(5, 2, 13, [b"f", b"g", b"h"]),
]
NAMED = SnapshotId(4, 1)


def snapshot(of: SnapshotId, *values: bytes) -> bytes:
    """Return the file of a snapshot."""
    return b"".join(
        (
            snapshot_header_batch(of.epoch, 0, snapshot_header(11)),
            data_batch(1, of.epoch, 0, values),
            snapshot_footer_batch(1 + len(values), of.epoch, 0, snapshot_footer()),
        )
    )


def disk_of(
    first: bytes, second: bytes = b"", snapshots: dict[SnapshotId, bytes] | None = None
) -> Disk:
    """Return a disk with a log in one segment or two, and snapshots."""
    disk = Machine().process
    disk.make_directory(HERE)
    put(disk, FIRST, first)
    if second:
        put(disk, SECOND, second)
    for of, data in (snapshots or {}).items():
        put(disk, f"{HERE}/{snapshot_name(of)}", data)
    return disk


def put(disk: Disk, path: str, data: bytes) -> None:
    """Write a file."""
    file = disk.open(path, "create")
    file.write(0, [data])
    file.close()


def values(onlooker: Onlooker, offset: int = 0) -> str:
    """Return what is in the log."""
    return b"".join(bytes(v) for batch in onlooker.log(offset) for v in batch.values).decode()


def test_the_log_is_read_in_order_from_any_batch_on() -> None:
    onlooker = Onlooker(disk_of(b"".join(BATCHES[:2]), b"".join(BATCHES[2:])), PATH)
    assert (onlooker.start_offset, onlooker.end_offset, onlooker.torn) == (0, 8, None)
    assert values(onlooker) == "abcdefgh"
    assert [values(onlooker, offset) for offset in (2, 4, 5, 8)] == ["cdefgh", "efgh", "fgh", ""]
    assert onlooker.reading == SECOND
    onlooker.close()


def test_the_directory_itself_may_be_named_as_well() -> None:
    disk = disk_of(BATCHES[0])
    for directory in (PATH, f"{PATH}/", HERE, f"{HERE}/"):
        assert Onlooker(disk, directory).path == HERE


def test_a_directory_without_a_metadata_log_is_said_to_have_none() -> None:
    disk = Machine().process
    disk.make_directory(f"{PATH}/orders-0")
    with pytest.raises(FileNotFoundError, match=r"name metadata\.log\.dir"):
        Onlooker(disk, PATH)
    with pytest.raises(FileNotFoundError, match="no such directory"):
        Onlooker(disk, "/nowhere")


@pytest.mark.parametrize("cut", [1, 30, 61, 62, len(BATCHES[3]) - 1])
def test_a_torn_tail_is_told_and_left_out(cut: int) -> None:
    tail = BATCHES[3][:cut]
    onlooker = Onlooker(disk_of(b"".join(BATCHES[:3]) + tail), PATH)
    assert (values(onlooker), onlooker.end_offset) == ("abcde", 5)
    assert onlooker.torn is not None
    assert onlooker.torn.size_bytes == cut
    assert onlooker.torn.position == sum(map(len, BATCHES[:3]))
    assert f"the last {cut} bytes" in str(onlooker.torn)


@pytest.mark.parametrize(
    "tail", [bytes(500), b"\xff" * 500, BATCHES[3][:-1] + b"!", BATCHES[3][:40] + bytes(400)]
)
def test_what_a_crash_leaves_instead_of_a_batch_is_a_torn_tail(tail: bytes) -> None:
    onlooker = Onlooker(disk_of(b"".join(BATCHES[:3]) + tail), PATH)
    assert values(onlooker) == "abcde"
    assert onlooker.torn is not None


def test_damage_in_front_of_a_sound_batch_is_no_torn_tail() -> None:
    bad = BATCHES[1][:-1] + b"!"
    with pytest.raises(CorruptLog, match=rf"{FIRST} at {len(BATCHES[0])}: .*checksum.*another rep"):
        Onlooker(disk_of(BATCHES[0] + bad + BATCHES[2]), PATH)


def test_damage_in_a_segment_that_another_follows_is_no_torn_tail() -> None:
    onlooker = Onlooker(disk_of(BATCHES[0] + BATCHES[1][:-1], b"".join(BATCHES[2:])), PATH)
    with pytest.raises(CorruptLog, match=f"{FIRST} at {len(BATCHES[0])}: .* are there"):
        values(onlooker)
    # What comes behind it can still be read.
    assert values(onlooker, 4) == "efgh"


def test_batches_have_to_follow_each_other_and_epochs_to_rise() -> None:
    hole = Onlooker(disk_of(BATCHES[0] + BATCHES[2]), PATH)
    with pytest.raises(CorruptLog, match=f"at {len(BATCHES[0])}: .* offset 4, where offset 2 of"):
        values(hole)
    fallen = Onlooker(disk_of(data_batch(0, 3, 0, [b"x"]) + data_batch(1, 2, 0, [b"y"])), PATH)
    with pytest.raises(CorruptLog, match="epoch 2 at offset 1, where offset 1 of epoch 3"):
        values(fallen)
    missing = Onlooker(disk_of(BATCHES[0], b"".join(BATCHES[2:])), PATH)
    with pytest.raises(CorruptLog, match=f"{SECOND} at 0: it begins where 2 comes next"):
        values(missing)
    across = Onlooker(disk_of(b"".join(BATCHES)), PATH)
    with pytest.raises(CorruptLog, match="batch from 5 goes past 6"):
        values(across, 6)


def test_records_that_are_none_are_named_by_their_place() -> None:
    header = bytearray(data_batch(0, 1, 0, [b"x"]))
    onlooker = Onlooker(disk_of(snapshot_header_batch(1, 0, b"") + bytes(header)), PATH)
    with pytest.raises(CorruptLog, match=FIRST):
        values(onlooker)


def test_what_is_not_committed_is_passed_over_by_who_knows() -> None:
    newer = SnapshotId(8, 2)
    found = {NAMED: snapshot(NAMED, b"abcd"), newer: snapshot(newer, b"all")}
    onlooker = Onlooker(disk_of(b"".join(BATCHES), snapshots=found), PATH, below=5)
    assert (values(onlooker), onlooker.end_offset) == ("abcde", 5)
    assert list(onlooker.snapshots) == [NAMED]


def test_snapshots_are_found_oldest_first_and_leftovers_are_none() -> None:
    newer = SnapshotId(8, 2)
    disk = disk_of(BATCHES[0], snapshots={newer: b"", NAMED: snapshot(NAMED, b"ab", b"cd")})
    put(disk, f"{HERE}/{snapshot_name(newer)}.part", b"")
    put(disk, f"{HERE}/{snapshot_name(newer)}.deleted", b"")
    onlooker = Onlooker(disk, PATH)
    assert list(onlooker.snapshots) == [NAMED, newer]
    found = list(onlooker.snapshot(NAMED))
    assert [bytes(value) for batch in found for value in batch.values] == [b"ab", b"cd"]
    assert [bool(batch.controls) for batch in found] == [True, False, True]
    assert onlooker.reading == f"{HERE}/{snapshot_name(NAMED)}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "without a footer"),
        (snapshot(NAMED, b"x")[:-1], "of 85 bytes|are there|size"),
        (snapshot(NAMED, b"x")[:-81], "without a footer|are there|takes 61"),
        (snapshot(NAMED, b"x").replace(b"x", b"y"), "checksum"),
        (data_batch(0, 1, 0, [b"x"]), "before the header"),
    ],
)
def test_a_snapshot_that_is_not_whole_and_sound_is_named_with_the_way_out(
    data: bytes, why: str
) -> None:
    onlooker = Onlooker(disk_of(BATCHES[0], snapshots={NAMED: data}), PATH)
    with pytest.raises(CorruptLog, match=f"{snapshot_name(NAMED)}.*({why}).*move the file away"):
        list(onlooker.snapshot(NAMED))


def test_a_directory_with_a_snapshot_alone_ends_where_that_ends() -> None:
    disk = Machine().process
    disk.make_directory(HERE)
    put(disk, f"{HERE}/{snapshot_name(NAMED)}", snapshot(NAMED, b"x"))
    onlooker = Onlooker(disk, PATH)
    assert (onlooker.start_offset, onlooker.end_offset) == (4, 4)
    assert values(onlooker, 4) == ""


class Busy:
    """A disk on which somebody else does something just before a file is read to its end."""

    def __init__(self, disk: Disk, then: "list[tuple[int, bytes]]") -> None:
        self.disk = disk
        self.then = then

    def open(self, path: str, mode: Mode) -> File:
        """Open a file, to be read."""
        assert mode == "read", "an onlooker writes nothing"
        return self.disk.open(path, mode)

    def names(self, directory: str) -> list[str]:
        """Return the names there were before somebody else went on working."""
        found = self.disk.names(directory)
        for position, data in self.then:
            file = self.disk.open(FIRST, "write")
            file.truncate(position)
            file.write(position, [data])
            file.close()
        self.then.clear()
        return found

    def __getattr__(self, name: str) -> object:
        assert name in ("is_directory", "exists"), f"an onlooker does not {name}"
        return getattr(self.disk, name)


def test_a_log_that_grows_is_read_as_far_as_it_was_when_it_was_looked_at() -> None:
    disk = disk_of(b"".join(BATCHES[:2]))
    onlooker = Onlooker(disk, PATH)
    put(disk, FIRST, b"".join(BATCHES))
    assert (values(onlooker), onlooker.end_offset) == ("abcd", 4)
    assert values(Onlooker(disk, PATH)) == "abcdefgh"


def test_a_log_that_is_cut_meanwhile_is_read_up_to_the_cut() -> None:
    size = len(BATCHES[0])
    busy = Busy(disk_of(b"".join(BATCHES[:3])), [(size, BATCHES[1][:20])])
    onlooker = Onlooker(busy, PATH)  # type: ignore[arg-type]  # -- as much of a disk as is needed
    assert values(onlooker) == "ab"
    assert onlooker.torn is not None


def test_files_that_were_opened_are_read_though_their_names_are_gone() -> None:
    disk = disk_of(b"".join(BATCHES[:2]), b"".join(BATCHES[2:]))
    onlooker = Onlooker(disk, PATH)
    disk.remove(FIRST)
    assert values(onlooker) == "abcdefgh"
