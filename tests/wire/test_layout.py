"""Which fields a version carries, and how."""

import pytest

from barnabas.wire.layout import (
    LAST,
    Layout,
    is_flexible,
    least_bytes,
    may_be_large,
    parse_versions,
    valid_versions,
)
from barnabas.wire.messages import message_class, message_names
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.headers import RequestHeader
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import ProduceRequest


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("none", range(0)),
        ("4", range(4, 5)),
        ("0-3", range(4)),
        ("12+", range(12, LAST + 1)),
    ],
)
def test_version_ranges_read_as_kafka_writes_them(text: str, versions: range) -> None:
    assert parse_versions(text) == versions


def test_a_field_travels_in_its_place_or_as_a_tag_or_not_at_all() -> None:
    old, new = Layout(FetchRequest, 4), Layout(FetchRequest, 15)
    assert [carried.name for carried in old.in_place] == [
        "replica_id", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "topics",
    ]  # fmt: skip
    assert not old.tagged
    assert [(carried.tag, carried.name) for carried in new.tagged] == [
        (0, "cluster_id"),
        (1, "replica_state"),
    ]
    assert new.absent == ["replica_id"]


def test_a_tag_of_a_later_version_is_known_to_be_early() -> None:
    assert Layout(FetchRequest.FetchPartition, 17).later_tags == [1]
    assert Layout(FetchRequest.FetchPartition, 18).later_tags == []


def test_lengths_are_compact_where_the_version_is_flexible_but_for_one_field() -> None:
    assert all(carried.compact for carried in Layout(MetadataRequest, 9).in_place)
    assert not any(carried.compact for carried in Layout(MetadataRequest, 8).in_place)
    client_id = Layout(RequestHeader, 2).in_place[-1]
    assert client_id.name == "client_id"
    assert not client_id.compact


def test_null_is_allowed_from_a_version_on() -> None:
    (topics,) = Layout(MetadataRequest, 0).in_place
    assert not topics.nullable
    assert Layout(MetadataRequest, 1).in_place[0].nullable


def test_flexible_versions_are_those_with_tags() -> None:
    assert is_flexible(FetchRequest, 12)
    assert not is_flexible(FetchRequest, 11)
    assert valid_versions(FetchRequest) == range(19)


def test_record_data_makes_a_message_large() -> None:
    assert may_be_large(ProduceRequest)
    assert may_be_large(FetchResponse)
    assert not may_be_large(FetchRequest)


def test_no_element_of_an_array_can_be_empty_so_that_a_frame_bounds_its_arrays() -> None:
    for name in message_names():
        message = message_class(name)
        for version in valid_versions(message):
            structs = [part for part in vars(message).values() if isinstance(part, type(message))]
            for struct in structs:
                if struct is not message and Layout(struct, version).in_place:
                    assert least_bytes(Layout(struct, version)) > 0


def test_the_least_size_counts_what_is_always_there() -> None:
    assert least_bytes(Layout(FetchRequest.FetchPartition, 12)) == 33
    assert least_bytes(Layout(ProduceRequest.PartitionProduceData, 3)) == 8
    assert least_bytes(Layout(ProduceRequest.PartitionProduceData, 9)) == 6
