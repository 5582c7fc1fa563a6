# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, Struct, array_of, field, int32, string, uuid


class ShareGroupStatePartitionMetadataKey(Message, key=15, versions="0"):
    """Key of coordinator record 15, version 0, never flexible."""

    group_id: str = field(string, "0")


class ShareGroupStatePartitionMetadataValue(Message, key=15, versions="0", flexible="0+"):
    """Value of coordinator record 15, version 0, always flexible."""

    initializing_topics: Sequence[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = (
        field(array_of("TopicPartitionsInfo"), "0+")
    )
    initialized_topics: Sequence[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = field(
        array_of("TopicPartitionsInfo"), "0+"
    )
    deleting_topics: Sequence[ShareGroupStatePartitionMetadataValue.TopicInfo] = field(
        array_of("TopicInfo"), "0+"
    )

    class TopicPartitionsInfo(Struct):
        topic_id: Uuid = field(uuid, "0+")
        topic_name: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")

    class TopicInfo(Struct):
        topic_id: Uuid = field(uuid, "0+")
        topic_name: str = field(string, "0+")
