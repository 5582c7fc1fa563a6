# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int16, int32, string


class StreamsGroupTopologyKey(Message, key=23, versions="0"):
    """Key of coordinator record 23, version 0, never flexible."""

    group_id: str = field(string, "0")


class StreamsGroupTopologyValue(Message, key=23, versions="0", flexible="0+"):
    """Value of coordinator record 23, version 0, always flexible."""

    epoch: int = field(int32, "0+")
    subtopologies: Sequence[StreamsGroupTopologyValue.Subtopology] = field(
        array_of("Subtopology"), "0+"
    )

    class Subtopology(Struct):
        subtopology_id: str = field(string, "0+")
        source_topics: Sequence[str] = field(array_of(string), "0+")
        source_topic_regex: Sequence[str] = field(array_of(string), "0+")
        state_changelog_topics: Sequence[StreamsGroupTopologyValue.TopicInfo] = field(
            array_of("TopicInfo"), "0+"
        )
        repartition_sink_topics: Sequence[str] = field(array_of(string), "0+")
        repartition_source_topics: Sequence[StreamsGroupTopologyValue.TopicInfo] = field(
            array_of("TopicInfo"), "0+"
        )
        copartition_groups: Sequence[StreamsGroupTopologyValue.CopartitionGroup] = field(
            array_of("CopartitionGroup"), "0+"
        )

    class TopicInfo(Struct):
        name: str = field(string, "0+")
        partitions: int = field(int32, "0+")
        replication_factor: int = field(int16, "0+")
        topic_configs: Sequence[StreamsGroupTopologyValue.TopicConfig] = field(
            array_of("TopicConfig"), "0+"
        )

    class CopartitionGroup(Struct):
        source_topics: Sequence[int] = field(array_of(int16), "0+")
        source_topic_regex: Sequence[int] = field(array_of(int16), "0+")
        repartition_source_topics: Sequence[int] = field(array_of(int16), "0+")

    class TopicConfig(Struct):
        key: str = field(string, "0+")
        value: str = field(string, "0+")
