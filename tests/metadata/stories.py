"""Stories that a controller tells, act by act, and a source from which they can be read again.

Brokers, topics and directories have short names here; what a record leaves out has its default.
"""

from collections.abc import Iterator, Sequence

from barnabas.metadata.fold import BatchFold
from barnabas.metadata.history import BEGINNING, Base
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.levels import record_version
from barnabas.metadata.publication import NO_LEADER_YET
from barnabas.metadata.snapshot import read, written
from barnabas.model.features import LATEST_PRODUCTION
from barnabas.model.ids import Uuid
from barnabas.records.control import ControlType, control_batch
from barnabas.records.opened import OpenedBatch, opened
from barnabas.records.snapshot import data_batch
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=LATEST_PRODUCTION.level)
BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()

T0_MS = 1_767_323_045_000
"""When the first batch was written; each that follows takes a second."""


def uuid(number: int) -> Uuid:
    """Return an id that looks like none of the reserved ones."""
    return Uuid(bytes([0xAB, *bytes(14), number]))


class Story:
    """A log, in bytes and in batches, with the snapshots that were made of it."""

    def __init__(self) -> None:
        self.epoch = 1
        self.parts: list[bytes] = []
        self.snapshots: dict[Base, bytes] = {}
        self.forgotten = 0
        """Below it, the log is gone."""

    # --- telling --------------------------------------------------------------------------------

    def say(self, *records: Message) -> int:
        """Write a batch; return its first offset."""
        values = []
        for record in records:
            version = record_version(type(record), LATEST_PRODUCTION.level)
            if isinstance(record, BrokerRegistrationChangeRecord):
                version = 3
            values.append(encode_record(record, version))
        return self.write(*values)

    def write(self, *values: bytes) -> int:
        """Write a batch of records as they are; return its first offset."""
        offset = self.end_offset
        self.parts.append(data_batch(offset, self.epoch, self.now_ms, values))
        return offset

    def lead(self) -> int:
        """Begin another epoch; return the offset of its first record."""
        self.epoch += 1
        offset, content = self.end_offset, bytes(12)
        self.parts.append(
            control_batch(offset, self.now_ms, self.epoch, (ControlType.LEADER_CHANGE, content))
        )
        return offset

    def remember(self) -> Base:
        """Make a snapshot of what there is."""
        image = self.image()
        base = Base(image.provenance.end_offset, image.provenance.epoch)
        self.snapshots[base] = b"".join(written(image))
        return base

    def forget(self, offset: int) -> None:
        """Let go what a snapshot sums up."""
        self.forgotten = offset
        self.snapshots = {
            base: data for base, data in self.snapshots.items() if base.end_offset >= offset
        }

    # --- reading --------------------------------------------------------------------------------

    @property
    def batches(self) -> list[OpenedBatch]:
        """All batches there ever were."""
        return [batch for data in self.parts for batch in opened(data)]

    @property
    def end_offset(self) -> int:
        """The offset behind the last record."""
        return self.batches[-1].end_offset if self.parts else 0

    @property
    def now_ms(self) -> int:
        """When the next batch is written."""
        return T0_MS + 1_000 * len(self.parts)

    @property
    def bases(self) -> Sequence[Base]:
        """Where the history can begin."""
        found = sorted(self.snapshots, key=lambda base: base.end_offset)
        return found if self.forgotten else [BEGINNING, *found]

    def snapshot(self, base: Base) -> Iterator[OpenedBatch]:
        """Yield the batches of a snapshot."""
        yield from read(self.snapshots[base], "a snapshot").batches

    def log(self, offset: int) -> Iterator[OpenedBatch]:
        """Yield the batches from an offset on."""
        assert offset >= self.forgotten, f"{offset} is forgotten"
        yield from (batch for batch in self.batches if batch.base_offset >= offset)

    def image(self) -> MetadataImage:
        """Return what everybody can see at the end."""
        fold = BatchFold(EMPTY)
        for batch in self.batches:
            for _ in fold.load(batch, NO_LEADER_YET):
                pass
        for _ in fold.flush(NO_LEADER_YET):
            pass
        return fold.image


# --- records -------------------------------------------------------------------------------------


def registered(broker: int, epoch: int, incarnation: int = 0, **told: object) -> Message:
    """Register a broker, fenced, with two directories."""
    return RegisterBrokerRecord(
        broker_id=broker,
        broker_epoch=epoch,
        incarnation_id=uuid(incarnation or 100 + broker),
        log_dirs=(uuid(10 * broker), uuid(10 * broker + 1)),
        **{"fenced": True, "rack": None, **told},  # type: ignore[arg-type]  # -- whatever a test says
    )


def standing(broker: int, epoch: int, **told: object) -> Message:
    """Change what is said of a broker: ``fenced=1``, ``in_controlled_shutdown=1``."""
    return BrokerRegistrationChangeRecord(
        broker_id=broker,
        broker_epoch=epoch,
        **told,  # type: ignore[arg-type]  # -- whatever a test says
    )


def topic(name: str, number: int) -> Message:
    """Create a topic."""
    return TopicRecord(name=name, topic_id=uuid(number))


def partition(number: int, index: int, *replicas: int, **told: object) -> Message:
    """Create a partition that the first of its replicas leads."""
    return PartitionRecord(
        topic_id=uuid(number),
        partition_id=index,
        replicas=replicas,
        **{  # type: ignore[arg-type]  # -- whatever a test says
            "isr": replicas,
            "leader": replicas[0],
            "leader_epoch": 0,
            "partition_epoch": 0,
            "directories": tuple(uuid(10 * replica) for replica in replicas),
            **told,
        },
    )


def change(number: int, index: int, **told: object) -> Message:
    """Change a partition."""
    return PartitionChangeRecord(
        topic_id=uuid(number),
        partition_id=index,
        **told,  # type: ignore[arg-type]  # -- whatever a test says
    )


def started() -> tuple[Story, list[int]]:
    """Tell of three brokers that came, and of a topic ``orders`` (1) with two partitions.

    Return the story, and the epochs of the brokers by their number.
    """
    story, epochs = Story(), [0]
    story.lead()
    story.say(LEVEL)
    for broker in (1, 2, 3):
        epoch = story.end_offset
        epochs.append(epoch)
        story.say(registered(broker, epoch))
        story.say(standing(broker, epoch, fenced=-1))
    story.say(topic("orders", 1), partition(1, 0, 1, 2, 3), partition(1, 1, 2, 3, 1))
    return story, epochs
