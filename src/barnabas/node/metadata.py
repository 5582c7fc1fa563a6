"""What the cluster is, as one node follows it: the quorum's log into an image, and snapshots back.

    Quorum ── committed batches, snapshots ──▶ MetadataShell ──▶ whoever has to know
       ▲                                            │
       └────────── snapshots ◀── SnapshotWriter ◀───┘

The same on a controller and on an observer of the quorum.
"""

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.shell import MetadataShell, SnapshotWriter
from barnabas.metadata.snapshot import values
from barnabas.node.config import NodeConfig
from barnabas.raft.outline import SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.runtime.runtime import Runtime


async def follow(runtime: Runtime, quorum: Quorum, config: NodeConfig) -> MetadataShell:
    """Follow the quorum's log from its beginning, and write snapshots of it when they are due."""

    async def write(image: MetadataImage) -> None:
        at = image.provenance
        snapshot = SnapshotId(at.end_offset, at.epoch)
        await quorum.write_snapshot(snapshot, values(image), at.append_ms)

    metadata = MetadataShell(runtime, lambda: quorum.high_watermark, config.name)
    await metadata.install(
        SnapshotWriter(
            runtime, write, config.name, config.snapshot_after_bytes, config.snapshot_after_ms
        )
    )
    quorum.listen(metadata)
    return metadata
