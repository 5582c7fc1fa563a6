"""What the command prints, and what it ends with."""

import asyncio
import json
from pathlib import Path

import pytest

from barnabas.cli.dump_log import contents_of, main
from barnabas.cli.record_contents import Contents
from barnabas.host.disk import HostDisk
from barnabas.log.directory import LogDirectory
from barnabas.log.names import TopicPartition
from barnabas.records.batch import LOG_APPEND_TIME
from barnabas.records.builder import BLANK, built
from barnabas.records.record import Record
from barnabas.wire import codec
from barnabas.wire.messages.stored.topic_record import TopicRecord
from tests.log.storage import ORDERS, SMALL, TOPIC_ID, batch, marker, transactional


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A log directory with one partition that a stop has closed cleanly."""

    async def write() -> None:
        disk = HostDisk()
        directory = await LogDirectory.open(disk, str(tmp_path))
        log = await directory.create_log(ORDERS, TOPIC_ID, SMALL, 0)
        await log.begin_epoch(2)
        for number in range(30):
            log.append_as_leader(batch(b"x" * 50, producer=(7, 0, number), timestamp=number), 2, 0)
        log.append_as_leader(transactional(b"a", producer=(8, 0, 0)), 2, 0)
        log.set_high_watermark(log.end_offset)
        await directory.close(41)
        disk.close()

    asyncio.run(write())
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    """Return the objects that the command prints."""
    main(["--json", *words])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def only(said: list[dict[str, object]], kind: str) -> list[dict[str, object]]:
    """Return the objects of one type."""
    return [row for row in said if row["type"] == kind]


def test_a_directory_is_told_file_by_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(place)]) == 0
    printed = capsys.readouterr().out
    assert f"{place}/orders-0/{0:020d}.log: log segment" in printed
    assert "brokerEpoch=41" in printed
    assert "epoch=2  startOffset=0" in printed
    assert "transactional" in printed
    assert "keySize" not in printed


def test_programs_get_one_object_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = rows(capsys, "--deep", str(place))
    batches = only(said, "batch")
    assert [one["baseOffset"] for one in batches] == list(range(31))
    assert all(one["isValid"] for one in batches)
    assert [one["sequence"] for one in only(said, "record")] == [*range(30), 0]
    assert {one["producerId"] for one in only(said, "producer")} == {7, 8}
    assert all("file" in one for one in said)
    assert "key" not in only(said, "record")[0]


def test_keys_and_values_are_told_when_asked_for(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = rows(capsys, "--print-data", "--files", f"{place}/orders-0/{0:020d}.log")
    record = only(said, "record")[0]
    assert (record["key"], record["payload"], record["headers"]) == ("k", "x" * 50, [])
    assert main(["--print-data-log", f"{place}/orders-0/{0:020d}.log"]) == 0
    assert "key=k  payload=xxx" in capsys.readouterr().out


def test_damage_is_told_with_its_place_and_ends_in_failure(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "orders-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    assert main([str(place)]) == 1
    printed = capsys.readouterr().out
    assert f"! {path} at " in printed
    assert "INVALID" in printed
    assert "brokerEpoch=41" in printed
    (damage,) = only(rows(capsys, str(path)), "damage")
    assert damage["position"] == only(rows(capsys, str(path)), "batch")[1]["position"]


def test_indexes_are_verified_when_asked_for(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "orders-0" / f"{0:020d}.index"
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)
    assert main([str(place)]) == 0
    assert main(["--verify-index", str(place)]) == 1
    assert "begins at" in capsys.readouterr().out


def test_a_topic_of_kafkas_own_is_decoded_by_its_name_or_by_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = b"\x01\x02\x00" + codec.encode(TopicRecord(name="orders"), 0)
    data = built(BLANK, [Record(0, 0, None, content)])
    own, other = tmp_path / "__cluster_metadata-0", tmp_path / "copied"
    for directory in (own, other):
        directory.mkdir()
        (directory / f"{0:020d}.log").write_bytes(data)
    for words in (["--print-data", str(own)], ["--cluster-metadata-decoder", str(other)]):
        (record,) = only(rows(capsys, *words), "record")
        assert "TOPIC_RECORD" in str(record["payload"])
    (record,) = only(rows(capsys, "--offsets", str(own)), "record")
    assert record["failure"]


def test_control_records_and_the_brokers_clock_are_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = BLANK._replace(attributes=LOG_APPEND_TIME, max_timestamp=1_700_000_000_123)
    appended = built(header, [Record(0, 0, b"k", None)])
    control = bytearray(marker((7, 0), commit=True))
    control[:8] = (1).to_bytes(8)
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(appended + control)
    assert main(["--deep", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "2023-11-14T22:13:20.123*" in printed
    assert "control=COMMIT" in printed
    assert "valueSize=-1" in printed


def test_room_that_was_reserved_is_no_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch(b"x") + bytes(1000))
    assert main([str(path)]) == 0
    assert "1,000 bytes" in capsys.readouterr().out
    assert only(rows(capsys, str(path)), "reserved")


def test_nothing_to_read_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert main([str(tmp_path / "missing")]) == 1
    assert "No such file" in capsys.readouterr().out


def test_whose_records_they_are_is_told_by_the_directory() -> None:
    assert contents_of("/d/__consumer_offsets-3/0.log") is Contents.GROUPS
    assert contents_of("/d/__transaction_state-3/0.log") is Contents.TRANSACTIONS
    assert contents_of(f"/d/{TopicPartition('orders', 3)}/0.log") is Contents.ANY
