"""Checkpoint files: Kafka's bytes, old or new after a crash, and what garbage leads to."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.log.checkpoints import (
    Checkpoint,
    decode_clean_mark,
    decode_entries,
    decode_epochs,
    decode_offsets,
    decode_topic_id,
    encode_clean_mark,
    encode_epochs,
    encode_offsets,
    encode_topic_id,
)
from barnabas.log.names import TopicPartition
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import Uuid
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import PATH, Crashed, Machine, run
from tests.sim.drawing import Seeded


def test_offsets_are_written_as_kafka_writes_them() -> None:
    offsets = {TopicPartition("orders", 0): 42, TopicPartition("x.y", 7): 0}
    assert encode_offsets(offsets) == b"0\n2\norders 0 42\nx.y 7 0\n"
    assert decode_offsets(encode_offsets(offsets), "f") == offsets


def test_epochs_are_written_as_kafka_writes_them() -> None:
    assert encode_epochs([(0, 0), (3, 17)]) == b"0\n2\n0 0\n3 17\n"
    assert decode_epochs(b"0\n2\n0 0\n3 17\n", "f") == [(0, 0), (3, 17)]


def test_an_empty_checkpoint_and_none_at_all_have_no_entries() -> None:
    assert decode_entries(b"", "f") == decode_entries(None, "f") == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"1\n0\n",
        b"0\n2\norders 0 42\n",
        b"\0\0\0\0",
        b"0\n1\norders 0\n",
        b"0\n1\norders 0 4",
        b"0",
    ],
)
def test_garbage_is_told_from_a_checkpoint(garbage: bytes) -> None:
    with pytest.raises(CorruptLog):
        decode_offsets(garbage, "f")


@pytest.mark.parametrize("garbage", [b"0\n2\n3 0\n3 1\n", b"0\n2\n3 5\n4 5\n", b"0\n1\n3 -1\n"])
def test_epochs_that_do_not_rise_are_garbage(garbage: bytes) -> None:
    with pytest.raises(CorruptLog):
        decode_epochs(garbage, "f")


def test_a_topic_id_is_written_as_kafka_writes_it() -> None:
    topic_id = Uuid(bytes(range(16)))
    text = b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert encode_topic_id(topic_id) == text
    assert decode_topic_id(text, "f") == topic_id
    assert decode_topic_id(text + b"\nlater: 1", "f") == topic_id


@pytest.mark.parametrize(
    "garbage", [b"", b"version: 0\ntopic_id: short", b"version: 0\ntopic_id: " + b"A" * 22, b"x"]
)
def test_a_file_without_a_topic_id_is_garbage(garbage: bytes) -> None:
    with pytest.raises(CorruptLog):
        decode_topic_id(garbage, "f")


def test_the_clean_mark_names_the_broker_epoch() -> None:
    assert decode_clean_mark(encode_clean_mark(7)) == 7
    assert decode_clean_mark(b'{"version":0,"brokerEpoch":7}') == 7
    assert decode_clean_mark(b"") is None
    assert decode_clean_mark(b"[]") is None


@given(seed=st.integers(0, 2**32), profile=st.sampled_from(PROFILES), step=st.integers(1, 12))
def test_a_crash_leaves_the_old_or_the_new_content(seed: int, profile: Profile, step: int) -> None:
    machine = Machine(Seeded(seed))
    run(Checkpoint(machine.process, PATH, "c").replace(b"old" * 2000))
    machine.crash_at = machine.operations + step
    returned = False
    try:
        run(Checkpoint(machine.process, PATH, "c").replace(b"new" * 3000))
        returned = True
    except Crashed:
        returned = False
    machine.crash(profile)
    left = Checkpoint(machine.process, PATH, "c").read()
    assert left == b"new" * 3000 or (left == b"old" * 2000 and not returned)


def test_a_late_writer_does_not_replace_newer_content() -> None:
    machine = Machine()
    checkpoint = Checkpoint(machine.process, PATH, "c")
    early, late = checkpoint.replace(b"1"), checkpoint.replace(b"1 2")
    machine.hold()
    early.send(None)
    late.send(None)
    machine.let_go()
    run(late)
    assert checkpoint.read() == b"1 2"
    run(early)
    assert checkpoint.read() == b"1 2"
    assert not [name for name in machine.process.names(PATH) if name.endswith(".tmp")]
