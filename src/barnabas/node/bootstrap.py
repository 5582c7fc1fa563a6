"""What a cluster begins with: levels of features and passwords, in ``bootstrap.checkpoint``.

    SNAPSHOT_HEADER | FeatureLevelRecord metadata.version, others by name, SCRAM … | SNAPSHOT_FOOTER

The file has the form of a snapshot of the metadata log, at offset and epoch 0, and is in every
directory that was formatted.  The first active controller of a cluster whose log is empty writes
these records as the first of all, so that the log says how it is to be read before it says
anything.  ``kraft.version`` is no record of these: the quorum itself knows it.

Fixed by Kafka's BootstrapMetadata.java, BootstrapDirectory.java and BatchFileWriter.java.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.log.checkpoints import Checkpoint
from barnabas.model.errors import CorruptLog, ProtocolError
from barnabas.model.features import (
    KRAFT_VERSION,
    LATEST_PRODUCTION,
    METADATA_VERSION,
    MetadataVersion,
)
from barnabas.model.value import value
from barnabas.raft.control_records import snapshot_footer, snapshot_header
from barnabas.raft.outline import BOOTSTRAP
from barnabas.raft.snapshot_files import read_batches
from barnabas.records.batch import CorruptBatch, header_at
from barnabas.records.record import records
from barnabas.records.snapshot import snapshot_batches
from barnabas.runtime.disk import Disk
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.metadata_records import decode_record, encode_record
from barnabas.wire.structs import Message

BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"


@value
class BootstrapMetadata:
    """The first records of a cluster, and where they are from."""

    records: tuple[Message, ...]
    source: str

    @property
    def levels(self) -> dict[str, int]:
        """The levels of features that the records set."""
        return {
            record.name: record.feature_level
            for record in self.records
            if isinstance(record, FeatureLevelRecord)
        }


def feature_records(levels: Mapping[str, int]) -> tuple[Message, ...]:
    """Return the records of feature levels: ``metadata.version`` first, those at 0 not at all."""
    others = sorted(levels.keys() - {METADATA_VERSION, KRAFT_VERSION})
    named = [(METADATA_VERSION, levels[METADATA_VERSION])]
    named += [(name, levels[name]) for name in others if levels[name] > 0]
    return tuple(FeatureLevelRecord(name=name, feature_level=level) for name, level in named)


async def write_bootstrap(
    disk: Disk, directory: str, first: Sequence[Message], wall_ms: int
) -> None:
    """Return when a directory durably holds the first records of its cluster."""
    values = [encode_record(record, 0) for record in first]
    header, footer = snapshot_header(0), snapshot_footer()
    content = b"".join(snapshot_batches(BOOTSTRAP.epoch, wall_ms, header, values, footer))
    await Checkpoint(disk, directory, BOOTSTRAP_CHECKPOINT).replace(content)


def read_bootstrap(
    disk: Disk, directory: str, default: MetadataVersion = LATEST_PRODUCTION
) -> BootstrapMetadata:
    """Return the first records of a cluster; a directory without any has Kafka's default."""
    path = f"{directory}/{BOOTSTRAP_CHECKPOINT}"
    if not disk.exists(path):
        record = FeatureLevelRecord(name=METADATA_VERSION, feature_level=default.level)
        return BootstrapMetadata((record,), "the default bootstrap")
    found: list[Message] = []
    for data, _ in read_batches(disk, path, BOOTSTRAP):
        header = header_at(data)
        if header.is_control:
            continue
        try:
            found += [
                decode_record(bytes(each.value or b""))[0] for each in records(data, 0, header)
            ]
        except (ProtocolError, CorruptBatch) as error:
            raise CorruptLog(f"{path}: {error}; format the directory anew") from error
    bootstrap = BootstrapMetadata(tuple(found), f"the binary bootstrap metadata file: {path}")
    if METADATA_VERSION not in bootstrap.levels:
        raise CorruptLog(
            f"No FeatureLevelRecord for {METADATA_VERSION} was found in the bootstrap metadata "
            f"from {bootstrap.source}"
        )
    return bootstrap
