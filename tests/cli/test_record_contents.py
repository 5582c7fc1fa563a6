"""What records of Kafka's own topics are taken to say."""

import base64

import pytest

from barnabas.cli.record_contents import Contents, constant, shown, stored, tell, tell_control
from barnabas.model.ids import Uuid
from barnabas.records.batch import header_at
from barnabas.records.control import ControlType, EndMarker, control_record, end_marker_batch
from barnabas.records.record import Record, records
from barnabas.wire import codec
from barnabas.wire.messages import message_class
from barnabas.wire.messages.stored.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
)
from barnabas.wire.messages.stored.group_metadata import GroupMetadataKey, GroupMetadataValue
from barnabas.wire.messages.stored.leader_change_message import LeaderChangeMessage
from barnabas.wire.messages.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.transaction_log import TransactionLogKey, TransactionLogValue
from barnabas.wire.structs import Message

TOPIC_ID = Uuid(bytes(range(16)))


def coordinated(key: Message, value: Message | None, version: int = 0) -> Record:
    """Return a record as a coordinator writes it."""
    front = key.API_KEY.to_bytes(2)
    written = None if value is None else version.to_bytes(2) + codec.encode(value, version)
    return Record(5, 0, front + codec.encode(key, 0), written)


def test_a_metadata_record_is_told_by_type_and_version() -> None:
    content = b"\x01\x02\x00" + codec.encode(TopicRecord(name="orders", topic_id=TOPIC_ID), 0)
    told = tell(Record(0, 0, None, content), Contents.METADATA)
    assert told.payload == {
        "type": "TOPIC_RECORD",
        "version": 0,
        "data": {"name": "orders", "topicId": "AAECAwQFBgcICQoLDA0ODw"},
    }
    assert told.failure is None


def test_a_committed_offset_is_told_in_its_version() -> None:
    key = OffsetCommitKey(group="g", topic="orders", partition=3)
    value = OffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)
    told = tell(coordinated(key, value, 3), Contents.GROUPS)
    assert told.key == {"type": "1", "data": {"group": "g", "topic": "orders", "partition": 3}}
    assert told.payload == {
        "version": "3",
        "data": {"offset": 7, "leaderEpoch": -1, "metadata": "m", "commitTimestamp": 9},
    }


def test_a_tag_is_told_only_if_it_says_something() -> None:
    key = OffsetCommitKey(group="g", topic="orders", partition=3)
    plain = tell(coordinated(key, OffsetCommitValue(offset=7), 4), Contents.GROUPS)
    tagged = OffsetCommitValue(offset=7, topic_id=TOPIC_ID)
    told = tell(coordinated(key, tagged, 4), Contents.GROUPS)
    assert isinstance(plain.payload, dict)
    assert isinstance(told.payload, dict)
    assert "topicId" not in str(plain.payload)
    assert "'topicId': 'AAECAwQFBgcICQoLDA0ODw'" in str(told.payload)


def test_a_tombstone_of_a_coordinator_deletes() -> None:
    told = tell(coordinated(TransactionLogKey(transactional_id="t"), None), Contents.TRANSACTIONS)
    assert told.key == {"type": "0", "data": {"transactionalId": "t"}}
    assert told.payload == "<DELETE>"


def test_a_transaction_is_told() -> None:
    value = TransactionLogValue(producer_id=4, transaction_partitions=None)
    told = tell(
        coordinated(TransactionLogKey(transactional_id="t"), value, 1), Contents.TRANSACTIONS
    )
    assert isinstance(told.payload, dict)
    data = told.payload["data"]
    assert isinstance(data, dict)
    assert data["producerId"] == 4
    assert data["transactionPartitions"] is None


def test_what_members_of_a_classic_group_told_each_other_is_read() -> None:
    subscription = b"\0\0" + codec.encode(ConsumerProtocolSubscription(topics=["orders"]), 0)
    odd = b"\0\x63 an assignor's own"
    member = GroupMetadataValue.MemberMetadata(subscription=subscription, assignment=odd)
    value = GroupMetadataValue(protocol_type="consumer", members=[member])
    told = tell(coordinated(GroupMetadataKey(group="g"), value, 3), Contents.GROUPS)
    assert "'topics': ['orders']" in str(told.payload)
    assert base64.b64encode(odd).decode() in str(told.payload)


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_is_told_with_its_coordinators_epoch(committed: bool) -> None:
    data = end_marker_batch(7, 0, EndMarker(committed, 3), 0)
    (record,) = records(data, 0, header_at(data))
    told = tell_control(record)
    assert told.key == ("COMMIT" if committed else "ABORT")
    assert told.payload == {"coordinatorEpoch": 3}


def test_a_change_of_leader_is_told() -> None:
    content = codec.encode(LeaderChangeMessage(version=1, leader_id=2), 1)
    told = tell_control(control_record(0, 0, ControlType.LEADER_CHANGE, content))
    assert told.key == "LEADER_CHANGE"
    assert isinstance(told.payload, dict)
    assert told.payload["leaderId"] == 2


@pytest.mark.parametrize(
    ("contents", "key", "value"),
    [
        (Contents.METADATA, None, None),
        (Contents.METADATA, None, b"\x07\x02\x00"),
        (Contents.METADATA, None, b"\x01\x63\x00"),
        (Contents.METADATA, None, b"\x01\x02\x63"),
        (Contents.METADATA, None, b"\x01"),
        (Contents.METADATA, None, b"\x01\x02\x00\xff"),
        (Contents.GROUPS, None, b""),
        (Contents.GROUPS, b"\0\x63", b""),
        (Contents.GROUPS, b"\0\x01\0", b""),
        (Contents.SHARE_GROUPS, b"", b""),
    ],
)
def test_what_cannot_be_read_is_shown_as_it_is(
    contents: Contents, key: bytes | None, value: bytes | None
) -> None:
    told = tell(Record(0, 0, key, value), contents)
    assert told.failure
    assert told.key == shown(key)
    assert told.payload == shown(value)


def test_text_is_told_as_text_and_bytes_as_base64() -> None:
    told = tell(Record(0, 0, "Schlüssel".encode(), b"\xff\0"), Contents.ANY)
    assert told.key == "Schlüssel"
    assert told.payload == {"base64": "/wA="}


def test_every_stored_message_has_a_writer_and_a_name() -> None:
    for contents in (Contents.GROUPS, Contents.TRANSACTIONS, Contents.SHARE_GROUPS):
        assert stored(contents)
        for number, name in stored(contents).items():
            assert number == message_class(f"{name}Value").API_KEY
    assert constant("FeatureLevelRecord") == "FEATURE_LEVEL_RECORD"
