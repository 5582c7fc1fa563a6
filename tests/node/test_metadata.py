"""A node follows the quorum's log, on a controller and on an observer, through snapshots."""

from dataclasses import replace

from barnabas.metadata.shell import MetadataShell
from barnabas.metadata.snapshot import fingerprint
from barnabas.node.config import node_config
from barnabas.node.metadata import follow
from barnabas.raft.shell import Quorum
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message
from tests.node.test_member import opened
from tests.node.test_node import LINES
from tests.sim.worlds import run_in_world

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=29)
CONFIG = node_config(LINES | {"metadata.log.max.record.bytes.between.snapshots": "1000"})


def setting(name: str) -> ConfigRecord:
    """Return a record that sets something for broker 4."""
    return ConfigRecord(resource_type=4, resource_name="4", name=name, value="set")


async def write(quorum: Quorum, *records: Message) -> None:
    """Commit records as the leader."""
    epoch = quorum.node.epoch
    end_offset = quorum.append(epoch, [encode_record(record, 0) for record in records])
    await quorum.committed(epoch, end_offset)


async def reached(runtime: Runtime, metadata: MetadataShell, end_offset: int) -> None:
    """Return when an image ends where it should."""
    for _ in range(1_000):
        if metadata.image.provenance.end_offset >= end_offset:
            return
        await runtime.clock.sleep_ms(10)
    raise AssertionError(f"{metadata} is at {metadata.image.provenance}, not at {end_offset}")


def test_a_node_follows_its_log_and_cuts_it_and_comes_back_by_its_snapshot() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        metadata = await follow(runtime, member.quorum, CONFIG)
        while member.quorum.node.promised_offset is None:
            await runtime.clock.sleep_ms(10)
        await write(member.quorum, LEVEL)
        for number in range(100):
            await write(member.quorum, setting(f"config-{number:03}"))
        end_offset = member.quorum.high_watermark
        await reached(runtime, metadata, end_offset)
        assert len(metadata.image.configs.of(4, "4")) == 100
        assert member.quorum.node.outline.snapshots
        before = fingerprint(metadata.image)
        await member.close(1_000)
        await metadata.stop()

        again = await opened(runtime)
        back = await follow(runtime, again.quorum, CONFIG)
        await reached(runtime, back, end_offset + 1)
        assert back.image.configs == metadata.image.configs
        at = replace(back.image, provenance=metadata.image.provenance)
        assert fingerprint(at) == before
        await again.close(1_000)
        await back.stop()

    run_in_world(main)
