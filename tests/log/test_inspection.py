"""What inspection finds in files, sound and damaged."""

from collections.abc import Callable

import pytest

from barnabas.log.inspection import (
    BatchFound,
    Damaged,
    EpochBegins,
    FileBegins,
    Finding,
    Kind,
    OffsetEntry,
    PartitionOffset,
    ProducerFound,
    RecordFound,
    Reserved,
    Setting,
    StoppedCleanly,
    TimeEntry,
    TopicIdFound,
    Wish,
    inspect,
    kind_of,
)
from tests.log.storage import (
    ORDERS,
    PATH,
    SMALL,
    TOPIC_ID,
    Machine,
    batch,
    marker,
    run,
    transactional,
)

PLACE = f"{PATH}/{ORDERS}"
LOG = f"{PLACE}/{0:020d}.log"
SEGMENT = batch(b"one") + batch(b"two", b"three", base_offset=1) + batch(b"four", base_offset=3)


def written(name: str, content: bytes) -> list[Finding]:
    """Return what is found in a file of this name and content, looked at closely."""
    machine = Machine()
    machine.process.make_directory(PLACE)
    put(machine, f"{PLACE}/{name}", content)
    return found(machine, f"{PLACE}/{name}")


def put(machine: Machine, path: str, content: bytes) -> None:
    """Write a file."""
    file = machine.process.open(path, "create")
    file.truncate(0)
    file.write(0, [content])
    file.close()


def found(machine: Machine, path: str) -> list[Finding]:
    """Return what is found at a path, looked at closely."""
    return list(inspect(machine.process, path, Wish(records=True, against_log=True)))


def damages(findings: list[Finding]) -> list[tuple[int | None, str]]:
    """Return what is damaged, and why."""
    return [(one.position, one.why) for one in findings if isinstance(one, Damaged)]


def bases(findings: list[Finding]) -> list[int]:
    """Return where the batches begin that are valid."""
    return [
        one.header.base_offset for one in findings if isinstance(one, BatchFound) and one.is_valid
    ]


def test_a_log_is_told_batch_by_batch_and_record_by_record() -> None:
    findings = written(f"{0:020d}.log", SEGMENT)
    assert bases(findings) == [0, 1, 3]
    values = [bytes(one.record.value or b"") for one in findings if isinstance(one, RecordFound)]
    assert values == [b"one", b"two", b"three", b"four"]
    assert not damages(findings)


def test_behind_a_damaged_batch_the_next_one_is_found() -> None:
    first = len(batch(b"one"))
    for broken in range(first, first + len(batch(b"two", b"three"))):
        content = bytearray(SEGMENT)
        content[broken] ^= 0x55
        findings = written(f"{0:020d}.log", bytes(content))
        # What is neither checked nor contradicts anything is the leader epoch, and offsets that
        # only grow; all else is noticed, and what follows is read all the same.
        harmless = broken - first in range(16) and bases(findings)[-1] == 3
        assert damages(findings) or harmless
        assert bases(findings)[0] == 0
        assert bases(findings)[-1] == 3


def test_a_torn_tail_is_damage_and_zeros_are_room() -> None:
    torn = written(f"{0:020d}.log", SEGMENT[:-5])
    assert bases(torn) == [0, 1]
    assert [at for at, _ in damages(torn)] == [len(SEGMENT) - len(batch(b"four", base_offset=3))]
    reserved = written(f"{0:020d}.log", SEGMENT + bytes(5000))
    assert bases(reserved) == [0, 1, 3]
    assert reserved[-1] == Reserved(len(SEGMENT), 5000)
    assert not damages(reserved)


def test_offsets_that_go_back_are_damage() -> None:
    findings = written(f"{0:020d}.log", SEGMENT + batch(b"again", base_offset=2))
    assert bases(findings) == [0, 1, 3, 2]
    ((at, why),) = damages(findings)
    assert at == len(SEGMENT)
    assert "where the next is 4" in why


def test_only_so_much_of_a_log_is_read() -> None:
    machine = Machine()
    machine.process.make_directory(PLACE)
    put(machine, LOG, SEGMENT)
    wish = Wish(log_bytes_max=len(batch(b"one")))
    assert bases(list(inspect(machine.process, LOG, wish))) == [0]


def test_every_file_of_a_closed_directory_is_told() -> None:
    machine = Machine()
    directory = machine.directory()
    log = run(directory.create_log(ORDERS, TOPIC_ID, SMALL, 0))
    run(log.begin_epoch(3))
    for number in range(30):
        log.append_as_leader(batch(b"x" * 50, producer=(7, 0, number), timestamp=number), 3, 0)
    log.append_as_leader(transactional(b"a", producer=(8, 0, 0)), 3, 0)
    log.append_as_follower(marked(log.end_offset), 3, 0)
    log.set_high_watermark(log.end_offset)
    run(directory.close(41))
    findings = found(machine, PATH)
    assert not damages(findings)
    kinds = {one.kind for one in findings if isinstance(one, FileBegins)}
    assert kinds == set(Kind) - {Kind.QUORUM_SNAPSHOT, Kind.QUORUM_STATE, Kind.PROPERTIES}
    assert StoppedCleanly(41) in findings
    assert TopicIdFound(TOPIC_ID) in findings
    assert EpochBegins(3, 0) in findings
    assert PartitionOffset(ORDERS, 32) in findings
    assert {one.producer_id for one in findings if isinstance(one, ProducerFound)} == {7, 8}
    assert any(isinstance(one, OffsetEntry) for one in findings)
    assert any(isinstance(one, TimeEntry) for one in findings)


def marked(offset: int) -> bytes:
    """Return an abort marker as it lies at an offset."""
    data = bytearray(marker((8, 0), commit=False))
    data[:8] = offset.to_bytes(8)
    return bytes(data)


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        (".index", lambda data: data[:-3], "bytes behind"),
        (".index", lambda data: data[:8] * 2, "not above"),
        (".index", lambda data: data[:4] + b"\0\0\0\1" + data[8:], "begins at"),
        (".index", lambda data: b"\0\0\0\x63" + data[4:8], "no batch of the log"),
        (".timeindex", lambda data: data[:7] + b"\xff" + data[8:], "is of"),
    ],
)
def test_an_index_is_held_against_its_log(
    kind: str, change: Callable[[bytes], bytes], why: str
) -> None:
    machine = Machine()
    log = machine.log(SMALL)
    for number in range(30):
        log.append_as_leader(batch(b"x" * 50, timestamp=number), 0, 0)
    run(log.close())
    path = f"{PLACE}/{0:020d}{kind}"
    content = machine.process.open(path, "read").read(0, 10_000)
    assert not damages(found(machine, path))
    put(machine, path, change(content))
    assert any(why in complaint for _, complaint in damages(found(machine, path)))


def test_an_index_that_was_open_ends_in_room() -> None:
    entries = b"\0\0\0\x02\0\0\0\x45" + bytes(80)
    machine = Machine()
    machine.process.make_directory(PLACE)
    put(machine, f"{PLACE}/{0:020d}.index", entries)
    findings = list(inspect(machine.process, f"{PLACE}/{0:020d}.index", Wish()))
    assert findings[1:] == [OffsetEntry(2, 0x45), Reserved(8, 80)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (f"{5:020d}.txnindex", b"\0\0" + bytes(40)),
        (f"{5:020d}.txnindex", b"\0\1" + bytes(32)),
        (f"{5:020d}.snapshot", b"\0\1\0\0"),
        ("leader-epoch-checkpoint", b"0\n2\n1 5\n"),
        ("recovery-point-offset-checkpoint", b"garbage"),
        ("partition.metadata", b"version: 0\n"),
        ("quorum-state", b"[1]"),
        ("quorum-state", b"{"),
    ],
)
def test_a_small_file_that_cannot_be_is_damage(name: str, content: bytes) -> None:
    assert damages(written(name, content))


def test_settings_of_a_node_are_told() -> None:
    assert written("meta.properties", b"#a comment\nnode.id=1\nversion=1\n")[1:] == [
        Setting("node.id", "1"),
        Setting("version", "1"),
    ]
    assert written("quorum-state", b'{"leaderId":1}')[1:] == [Setting("leaderId", "1")]


def test_what_is_not_there_is_said_and_not_raised() -> None:
    machine = Machine()
    ((_, why),) = damages(found(machine, f"{PATH}/nothing"))
    assert "nothing" in why


def test_a_file_is_known_by_its_name_whatever_was_done_to_it() -> None:
    assert kind_of(f"{7:020d}.log.deleted") is Kind.LOG
    assert kind_of(f"{7:020d}.timeindex.cleaned") is Kind.TIME_INDEX
    assert kind_of(f"{7:020d}.index.swap") is Kind.OFFSET_INDEX
    assert kind_of("00000000000000000009-0000000001.checkpoint") is Kind.QUORUM_SNAPSHOT
    assert kind_of("notes.txt") is Kind.UNKNOWN
