"""Control records of the quorum: to bytes as Kafka writes them, and back."""

import pytest

from barnabas.model.ids import Uuid
from barnabas.raft.control_records import (
    LeaderChanged,
    SnapshotBegins,
    SnapshotEnds,
    VersionSet,
    VotersSet,
    control_records,
    kraft_version,
    leader_change,
    snapshot_footer,
    snapshot_header,
    voters_record,
)
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.records.batch import header_at
from barnabas.records.compression import InvalidRecord
from barnabas.records.control import ControlType, control_batch
from tests.raft.replica import THREE


def said(*contents: tuple[ControlType, bytes]) -> list[object]:
    """Return what a batch of these says."""
    data = control_batch(10, 0, 1, *contents)
    return [record for _, record in control_records(data, 0, header_at(data))]


def test_every_kind_comes_back() -> None:
    assert said(
        (ControlType.LEADER_CHANGE, leader_change(1, (1, 2), (2,))),
        (ControlType.KRAFT_VERSION, kraft_version(1)),
        (ControlType.KRAFT_VOTERS, voters_record(THREE)),
        (ControlType.SNAPSHOT_HEADER, snapshot_header(77)),
        (ControlType.SNAPSHOT_FOOTER, snapshot_footer()),
    ) == [LeaderChanged(1), VersionSet(1), VotersSet(THREE), SnapshotBegins(77), SnapshotEnds()]


def test_a_leader_change_names_voters_by_id_alone() -> None:
    # Version 0, which is what Kafka 4.3 writes: version, leader, two arrays of ids, no tags.
    assert leader_change(1, (1, 2), (2,)).hex() == (
        "0000 00000001 03 00000001 00 00000002 00 02 00000002 00 00".replace(" ", "")
    )


def test_a_voters_record_tells_directory_endpoints_and_versions() -> None:
    key = ReplicaKey(3, Uuid(bytes(range(16))))
    voter = Voter(key, (Endpoint("C", "h", 9093), Endpoint("D", "h", 9094)), (0, 1))
    assert voters_record(VoterSet.of([voter])).hex() == (
        f"0000 02 00000003 {key.directory_id.hex()} "
        "03 0243 0268 2385 00 0244 0268 2386 00 0000 0001 00 00 00".replace(" ", "")
    ).replace(" ", "")


@pytest.mark.parametrize(
    ("kind", "content", "why"),
    [
        (ControlType.KRAFT_VERSION, b"\0\1\0\1\0", "version 1, known is 0"),
        (ControlType.KRAFT_VERSION, b"", "version 0"),
        (ControlType.KRAFT_VOTERS, b"\0\0\5", "VotersRecord"),
        (ControlType.KRAFT_VOTERS, b"\0\0\1\0", "of the voters"),
        (ControlType.COMMIT, b"\0\0\0\0\0\0", "an end of a COMMIT"),
    ],
)
def test_what_no_quorum_writes_is_named(kind: ControlType, content: bytes, why: str) -> None:
    with pytest.raises(InvalidRecord, match=why):
        said((kind, content))


def test_two_voters_of_one_id_are_no_quorum() -> None:
    twice = VoterSet((THREE.voters[0], THREE.voters[0]))
    with pytest.raises(InvalidRecord, match=r"\[1, 1\]"):
        said((ControlType.KRAFT_VOTERS, voters_record(twice)))
