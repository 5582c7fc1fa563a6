"""Messages as plain data: everything JSON can say, nothing the version does not carry."""

import json

from barnabas.model.ids import Uuid
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.rendering import plain


def test_only_what_the_version_carries_is_shown() -> None:
    request = FetchRequest(rack_id="east")
    assert "rack_id" not in plain(request, 10)
    assert plain(request, 11)["rack_id"] == "east"


def test_ids_bytes_and_nested_structs_become_json() -> None:
    topic = FetchRequest.FetchTopic(
        topic_id=Uuid(bytes(16)), partitions=[FetchRequest.FetchPartition(partition=3)]
    )
    shown = plain(FetchRequest(topics=[topic]), 13)
    topics = json.loads(json.dumps(shown))["topics"]
    assert topics[0]["topic_id"] == "AAAAAAAAAAAAAAAAAAAAAA"
    assert topics[0]["partitions"][0]["partition"] == 3


def test_record_data_and_unknown_tags_are_base64() -> None:
    data = ProduceRequest.PartitionProduceData(records=memoryview(b"\0\1"))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
    request = ProduceRequest(topic_data=[topic], unknown_tagged_fields=[(7, b"\xff")])
    shown = json.loads(json.dumps(plain(request, 9)))
    assert shown["topic_data"][0]["partition_data"][0]["records"] == "AAE="
    assert shown["unknown_tagged_fields"] == [[7, "/w=="]]
