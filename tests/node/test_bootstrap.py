"""What a cluster begins with."""

import pytest

from barnabas.model.errors import CorruptLog
from barnabas.node.bootstrap import (
    BOOTSTRAP_CHECKPOINT,
    BootstrapMetadata,
    feature_records,
    read_bootstrap,
    write_bootstrap,
)
from barnabas.raft.control_records import snapshot_footer, snapshot_header
from barnabas.records.snapshot import snapshot_batches
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from tests.log.storage import PATH, Machine, run
from tests.node.directories import written

FILE = f"{PATH}/{BOOTSTRAP_CHECKPOINT}"


def test_levels_become_records_metadata_version_first_and_nothing_for_what_is_off() -> None:
    levels = {"z": 2, "kraft.version": 1, "a": 1, "off": 0, "metadata.version": 30}
    assert feature_records(levels) == (
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="a", feature_level=1),
        FeatureLevelRecord(name="z", feature_level=2),
    )


def test_what_was_written_is_read_and_durable() -> None:
    machine = Machine()
    first = feature_records({"metadata.version": 30, "a": 1})
    run(write_bootstrap(machine.process, PATH, first, 5))
    machine.crash("data-first")
    found = read_bootstrap(machine.process, PATH)
    assert found == BootstrapMetadata(first, f"the binary bootstrap metadata file: {FILE}")
    assert found.levels == {"metadata.version": 30, "a": 1}


def test_without_a_file_a_cluster_begins_with_the_latest_release() -> None:
    found = read_bootstrap(Machine().process, PATH)
    assert found.levels == {"metadata.version": 30}
    assert found.source == "the default bootstrap"


def snapshot_of(*values: bytes) -> bytes:
    return b"".join(snapshot_batches(0, 0, snapshot_header(0), values, snapshot_footer()))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (snapshot_of(), "No FeatureLevelRecord for metadata.version was found"),
        (snapshot_of()[:-1], "bytes are there"),
        (snapshot_of(b"\1\x7f\0"), "a metadata record of type 127"),
        (snapshot_of(b"\1\x0c\0"), "FeatureLevelRecord v0: ends in the middle"),
    ],
)
def test_a_file_that_says_nothing_is_refused(content: bytes, why: str) -> None:
    machine = Machine()
    written(machine, FILE, content)
    with pytest.raises(CorruptLog, match=why):
        read_bootstrap(machine.process, PATH)
