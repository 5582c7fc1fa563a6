"""A log as the ghost sees it: batches of records, committed one after the other."""

from collections.abc import Sequence

from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.loader import Committed, HighWatermark, MetadataLoader
from barnabas.records.opened import OpenedBatch
from barnabas.sim.profiles.metadata.reference import Reference
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


class Log:
    """The reference, and a loader of the product beside it."""

    def __init__(self) -> None:
        self.marked: list[str] = []
        self.reference = Reference(self.marked.append)
        self.loader = MetadataLoader()

    @property
    def image(self) -> MetadataImage:
        """What the product makes of it."""
        return self.loader.image

    def commit(self, *records: Message, epoch: int = 1, version: int = 0) -> MetadataImage:
        """Commit a batch, and return the image behind it."""
        return self.take([encode_record(record, version) for record in records], epoch)

    def take(self, values: Sequence[bytes], epoch: int = 1) -> MetadataImage:
        """Commit a batch of values."""
        base = self.reference.end_offset
        end = base + len(values)
        self.reference.take(Batch(base, end, epoch, 0, False, None, 0, 0, 100), values)
        batch = OpenedBatch(base, end, epoch, 0, 100, values)
        self.loader.step(HighWatermark(end))
        self.loader.step(Committed([batch]))
        return self.loader.image


def committed(*batches: Sequence[Message]) -> Log:
    """Return a log of some batches."""
    log = Log()
    for records in batches:
        log.commit(*records)
    assert log.image is not EMPTY
    return log
