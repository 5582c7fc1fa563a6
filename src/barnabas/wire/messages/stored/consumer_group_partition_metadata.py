# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, Struct, array_of, field, int32, string, uuid


class ConsumerGroupPartitionMetadataKey(Message, key=4, versions="0"):
    """Key of coordinator record 4, version 0, never flexible."""

    group_id: str = field(string, "0")


class ConsumerGroupPartitionMetadataValue(Message, key=4, versions="0", flexible="0+"):
    """Value of coordinator record 4, version 0, always flexible."""

    topics: Sequence[ConsumerGroupPartitionMetadataValue.TopicMetadata] = field(
        array_of("TopicMetadata"), "0+"
    )

    class TopicMetadata(Struct):
        topic_id: Uuid = field(uuid, "0+")
        topic_name: str = field(string, "0+")
        num_partitions: int = field(int32, "0+")
        partition_metadata: Sequence[ConsumerGroupPartitionMetadataValue.PartitionMetadata] = field(
            array_of("PartitionMetadata"), "0+"
        )

    class PartitionMetadata(Struct):
        partition: int = field(int32, "0+")
        racks: Sequence[str] = field(array_of(string), "0+")
