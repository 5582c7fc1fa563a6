"""The codec beside kio, which encodes in Python and decodes in Rust; and what starting costs.

Both sides get the same bytes and do the same: read from (buffer, position) to (message, position),
write into one piece of bytes; large record data we write into parts, as the network takes it.  The
figure is one message; the sides take turns.
"""

import io
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from barnabas.wire import codec
from barnabas.wire.codec import Written
from barnabas.wire.layout import may_be_large
from barnabas.wire.messages import message_class, message_names
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.metadata import MetadataResponse
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.structs import Message, Request
from benchmarks.report import Row, interleaved

KIO = "kio 0.6.5"
TURN_SECONDS = 0.03
"""How long one side works before it is the other's turn: long against the clock's grain."""


def produce(partitions: int, records: bytes) -> ProduceRequest:
    """Make a request for some partitions of one topic."""
    data = [
        ProduceRequest.PartitionProduceData(index=index, records=records)
        for index in range(partitions)
    ]
    topic = ProduceRequest.TopicProduceData(name="my-topic", partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def fetch(topics: int, partitions: int) -> FetchRequest:
    """Make a request as a consumer or a follower does."""
    fetched = [
        FetchRequest.FetchTopic(
            topic=f"topic-{topic}",
            partitions=[
                FetchRequest.FetchPartition(
                    partition=index, fetch_offset=1000, partition_max_bytes=1 << 20
                )
                for index in range(partitions)
            ],
        )
        for topic in range(topics)
    ]
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=fetched)


def fetched(topics: int, partitions: int, records: bytes) -> FetchResponse:
    """Make the answer to it."""
    responses = [
        FetchResponse.FetchableTopicResponse(
            topic=f"topic-{topic}",
            partitions=[
                FetchResponse.PartitionData(
                    partition_index=index,
                    high_watermark=1000,
                    last_stable_offset=1000,
                    log_start_offset=0,
                    aborted_transactions=None,
                    records=records,
                )
                for index in range(partitions)
            ],
        )
        for topic in range(topics)
    ]
    return FetchResponse(session_id=7, responses=responses)


def metadata(topics: int, partitions: int) -> MetadataResponse:
    """Describe a cluster of three brokers."""
    described = [
        MetadataResponse.MetadataResponseTopic(
            name=f"topic-{topic}",
            partitions=[
                MetadataResponse.MetadataResponsePartition(
                    partition_index=index,
                    leader_id=index % 3,
                    leader_epoch=5,
                    replica_nodes=(0, 1, 2),
                    isr_nodes=(0, 1, 2),
                )
                for index in range(partitions)
            ],
        )
        for topic in range(topics)
    ]
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host=f"broker-{node}", port=9092)
        for node in range(3)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=described)


def offset_commit(topics: int, partitions: int) -> OffsetCommitRequest:
    """Make a commit as a member of a group does."""
    committed = [
        OffsetCommitRequest.OffsetCommitRequestTopic(
            name=f"topic-{topic}",
            partitions=[
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=1000, committed_metadata=""
                )
                for index in range(partitions)
            ],
        )
        for topic in range(topics)
    ]
    return OffsetCommitRequest(
        group_id="my-group",
        generation_id_or_member_epoch=5,
        member_id="member-1",
        topics=committed,
    )


def api_versions() -> ApiVersionsResponse:
    """Answer what every client asks first."""
    apis = [ApiVersionsResponse.ApiVersion(api_key=key, max_version=9) for key in range(60)]
    return ApiVersionsResponse(api_keys=apis)


CASES: list[tuple[str, Message, int, str, str]] = [
    ("Produce v9, 1 partition", produce(1, bytes(100)), 9, ">= 7", ">= 0.5"),
    ("Produce v9, 20 partitions", produce(20, bytes(100)), 9, ">= 7", ">= 0.5"),
    ("Produce v9, 16 KB of records", produce(1, bytes(16_384)), 9, ">= 7", ">= 1"),
    ("Produce v9, 1 MB of records", produce(1, bytes(1 << 20)), 9, ">= 7", ">= 1"),
    ("Fetch v12, 10 x 10", fetch(10, 10), 12, ">= 7", ">= 0.5"),
    ("Fetch answer v12, 10 x 10", fetched(10, 10, bytes(100)), 12, ">= 7", ">= 0.5"),
    ("Metadata answer v12, 10 x 100", metadata(10, 100), 12, ">= 7", ">= 0.5"),
    ("OffsetCommit v8, 10 x 10", offset_commit(10, 10), 8, ">= 7", ">= 0.5"),
    (
        "ApiVersions v3",
        ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.5.0"),
        3,
        ">= 7",
        ">= 0.5",
    ),
    ("ApiVersions answer v3, 60 APIs", api_versions(), 3, ">= 7", ">= 0.5"),
]
"""What is measured: a message, its version, the goals of encoding and of decoding."""


def per_turn(work: Callable[[], object]) -> Callable[[], float]:
    """Return a measurement: how many times a second of CPU the work is done, over one turn.

    All of it is computing in one thread, so the CPU's own clock tells the same as the wall's and
    keeps out what else the machine does.
    """
    once = min(timeit.repeat(work, number=1, repeat=5))
    number = max(1, int(TURN_SECONDS / once))
    return lambda: number / timeit.timeit(work, number=number, timer=time.process_time)


def against_kio(
    message: Message, version: int
) -> tuple[list[Callable[[], object]], list[Callable[[], object]]]:
    """Return what encodes, ours and theirs, and what decodes, after seeing that they agree."""
    kind = type(message)
    load = load_request_schema if isinstance(message, Request) else load_response_schema
    entity = load(kind.API_KEY, version)
    read: Any = entity_reader(entity)
    write: Any = entity_writer(entity)
    wire = codec.encode(message, version)
    # What is large leaves in parts, as the network takes it.
    ours: Callable[[Message, int], object] = (
        codec.encode_parts if len(wire) > 10_000 and may_be_large(kind) else codec.encode
    )
    theirs, _ = read(wire, 0)

    def write_theirs() -> bytes:
        out = io.BytesIO()
        write(out, theirs)
        return out.getvalue()

    assert write_theirs() == wire, f"{kind.__name__} v{version}: kio writes other bytes"
    decode, received = codec.decoder(kind, version), memoryview(wire)
    return (
        [partial(ours, message, version), write_theirs],
        [partial(decode, received, 0), partial(read, wire, 0)],
    )


def run(repetitions: int) -> Iterator[Row]:
    """Measure."""
    for case, message, version, encode_goal, decode_goal in CASES:
        encoding, decoding = against_kio(message, version)
        for what, sides, goal in (
            ("encode", encoding, encode_goal),
            ("decode", decoding, decode_goal),
        ):
            turns = [per_turn(side) for side in sides]
            ours, theirs = interleaved(max(repetitions, 5), *turns)
            yield Row("wire", f"{what} {case}", "messages/s", ours, theirs, KIO, goal, "more")
    yield from first_uses(repetitions)
    yield import_time(repetitions)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Measure one run."""
    return timeit.timeit(work, number=1, timer=time.process_time)


def first_uses(repetitions: int) -> Iterator[Row]:
    """Measure what the first use of a message costs: writing its code and compiling it."""
    for name, version, goal in (("FetchRequest", 18, "<= 3"), ("ProduceRequest", 13, "<= 3")):
        message = message_class(name)
        for part in ("decode", "encode"):
            written = Written(message, version, part)
            once = 1000 * min(cpu_seconds(written.function) for _ in range(repetitions * 3))
            case = f"first {part} of {name} v{version}"
            yield Row("wire", case, "ms", once, None, "", goal, "less")
    functions = [
        Written(message_class(name), version, part)
        for name in message_names()
        for version in codec.versions(message_class(name))
        for part in ("decode", "encode")
    ]
    costs = sorted(1000 * cpu_seconds(one.function) for one in functions)
    median, worst = costs[len(costs) // 2], costs[int(len(costs) * 0.99)]
    every = f"first use of any message, of {len(costs)}"
    yield Row("wire", f"{every}, median", "ms", median, None, "", "<= 1", "less")
    yield Row("wire", f"{every}, 99 %", "ms", worst, None, "", "", "less")


BROKER_PATH = """
import time
start = time.process_time()
import barnabas.wire.connection
import barnabas.wire.messages.produce
import barnabas.wire.messages.fetch
import barnabas.wire.messages.metadata
import barnabas.wire.messages.api_versions
import barnabas.wire.messages.offset_commit
import barnabas.wire.messages.list_offsets
import barnabas.wire.messages.find_coordinator
import barnabas.wire.messages.join_group
import barnabas.wire.messages.sync_group
import barnabas.wire.messages.heartbeat
print(time.process_time() - start)
"""
"""What a broker of this stage imports before it can answer; what it loads on first use is left."""


def import_time(repetitions: int) -> Row:
    """Measure how long a fresh interpreter computes to import the broker's path."""

    def once() -> float:
        asked = [sys.executable, "-c", BROKER_PATH]
        return float(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)

    (seconds,) = interleaved(max(repetitions, 5), once)
    return Row("wire", "import of the broker's path", "s", seconds, None, "", "<= 0.15", "less")
