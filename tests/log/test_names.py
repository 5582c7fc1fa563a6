"""Names of files and directories, against what Kafka calls them."""

import hypothesis.strategies as st
from hypothesis import given

from barnabas.log.names import (
    INDEX,
    LOG,
    SWAP,
    PartitionDirectory,
    Standing,
    TopicPartition,
    directory_name,
    offset_of,
    parse_directory,
    segment_file,
    segment_part,
)

UNIQUE = "0123456789abcdef" * 2


def test_a_segment_file_carries_its_offset_in_twenty_digits() -> None:
    assert segment_file(4711, LOG) == "00000000000000004711.log"
    assert offset_of("00000000000000004711.log", LOG) == 4711


def test_a_file_with_another_suffix_is_another_file() -> None:
    assert offset_of("00000000000000004711.log.swap", LOG) is None
    assert offset_of("4711.log", LOG) is None
    assert segment_part("00000000000000004711.index.swap") == (4711, INDEX + SWAP)
    assert segment_part("leader-epoch-checkpoint") is None


def test_a_snapshot_of_the_quorum_is_no_segment_file() -> None:
    assert segment_part("00000000000000000100-0000000003.checkpoint") is None


def test_a_directory_is_called_after_its_partition() -> None:
    tp = TopicPartition("orders", 3)
    assert directory_name(tp) == "orders-3"
    assert directory_name(tp, Standing.DELETE, UNIQUE) == f"orders-3.{UNIQUE}-delete"
    assert directory_name(tp, Standing.FUTURE, UNIQUE) == f"orders-3.{UNIQUE}-future"
    assert directory_name(tp, Standing.STRAY, UNIQUE) == f"orders-3.{UNIQUE}-stray"


def test_a_long_topic_name_is_cut_to_make_room_for_the_suffix() -> None:
    name = directory_name(TopicPartition("t" * 249, 12), Standing.DELETE, UNIQUE)
    assert len(name) == 255
    assert name.endswith(f"-12.{UNIQUE}-delete")


def test_other_directories_are_no_partitions() -> None:
    for name in ("lost+found", "orders", "orders-x", "remote-log-index-cache"):
        assert parse_directory(name) is None


@given(
    topic=st.from_regex(r"[a-zA-Z0-9._-]{1,60}", fullmatch=True),
    partition=st.integers(0, 2**31 - 1),
    standing=st.sampled_from(list(Standing)),
)
def test_a_name_is_read_as_it_was_written(topic: str, partition: int, standing: Standing) -> None:
    tp = TopicPartition(topic, partition)
    name = directory_name(tp, standing, UNIQUE)
    assert parse_directory(name) == PartitionDirectory(tp, standing)
