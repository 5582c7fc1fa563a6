"""The planted bugs of what stands on the quorum's log.

Those of the oracle book have its ids (MC, MR); MM are ours, for the oracles that no mutant of the
book names.  The budgets are the book's: A is 20 seeds, B 200.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final  # Any: whatever a delta is made of

from barnabas.metadata.delta import Delta
from barnabas.metadata.fold import BatchFold
from barnabas.metadata.generator import Effect as GeneratorEffect
from barnabas.metadata.generator import SnapshotGenerator
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.levels import Form
from barnabas.metadata.loader import Event, MetadataLoader
from barnabas.metadata.local_changes import Gathered
from barnabas.metadata.publication import NO_LEADER_YET, LeaderAndEpoch, Publication
from barnabas.metadata.shell import MetadataShell
from barnabas.metadata.topics import Stored, TopicDelta, TopicsDelta
from barnabas.model.errors import RemoteProtocolError
from barnabas.records.opened import OpenedBatch
from barnabas.sim.profile import Mutant
from barnabas.sim.profiles.metadata.readers import Reader
from barnabas.sim.profiles.planting import Bed, Patch
from barnabas.sim.profiles.raft import mutants as of_the_quorum
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.metadata_records import decode_record, encode_record
from barnabas.wire.structs import Message

A: Final = 20
B: Final = 200


# --- the oracle book's -----------------------------------------------------------------------


def add_without_removing(image: MetadataImage, later: MetadataImage) -> Delta:
    """MC-17: a snapshot adds what it holds, and takes nothing away."""
    delta: Delta = BED.product(Delta, "between")(image, later)
    if delta.topics is not None:
        delta.topics.deleted.clear()
        keep_all(delta.topics.names)
    if delta.cluster is not None:
        keep_all(delta.cluster.brokers)
    if delta.configs is not None:
        keep_all(delta.configs.resources)
    if delta.client_quotas is not None:
        keep_all(delta.client_quotas.entities)
    if delta.acls is not None:
        keep_all(delta.acls.acls)
    return delta


def keep_all(changes: dict[Any, Any]) -> None:
    """Let nothing be gone."""
    for key in [key for key, left in changes.items() if left is None]:
        del changes[key]


def keep_what_is_aborted(self: BatchFold, record: Message) -> None:
    """MC-18: a transaction that is aborted ends like any other."""
    if isinstance(record, AbortTransactionRecord):
        self.in_transaction = False
    else:
        BED.product(BatchFold, "_turn")(self, record)


def elect_whoever_leads(self: Gathered, topic: TopicDelta) -> None:
    """MC-19: a leader whose followers have changed counts as elected."""
    BED.product(Gathered, "take")(self, topic)
    self.elected.update(self.leaders)


def end_anywhere(
    self: SnapshotGenerator, image: MetadataImage, now_ms: int
) -> list[GeneratorEffect]:
    """MR-15: a snapshot is written of whatever image is there when it is due."""
    aligned = replace(image, provenance=replace(image.provenance, batch_aligned=True))
    effects: list[GeneratorEffect] = BED.product(SnapshotGenerator, "_considered")(
        self, aligned, now_ms
    )
    return effects


def pass_over(self: BatchFold, batch: OpenedBatch, leader: LeaderAndEpoch) -> Iterator[Publication]:
    """MR-20: a record that cannot be read is left out."""
    values = [data if is_readable(bytes(data)) else NOTHING for data in batch.values]
    yield from BED.product(BatchFold, "load")(self, replace(batch, values=values), leader)


NOTHING: Final = encode_record(NoOpRecord(), 0)


def is_readable(data: bytes) -> bool:
    """Tell whether a record can be read."""
    try:
        decode_record(data)
    except RemoteProtocolError:
        return False
    return True


# --- ours ------------------------------------------------------------------------------------


def keep_the_epoch(self: TopicsDelta, before: Stored, record: PartitionChangeRecord) -> Stored:
    """MM-02: a change of the ISR alone leaves the partition epoch as it was."""
    after: Stored = BED.product(TopicsDelta, "_merged")(self, before, record)
    if record.replicas is None and record.leader == -2:
        after = (*after[:5], before[5], after[6])
    return after


def lose_topics(self: BatchFold, leader: LeaderAndEpoch) -> Publication:
    """MM-04: what is told of topics is not what has become of them."""
    publication: Publication = BED.product(BatchFold, "_published")(self, leader)
    publication.delta.topics = None
    return publication


async def stop_at_the_first(self: MetadataShell, event: Event) -> None:
    """MM-05: a publisher that raises keeps the news from those who came later."""
    for effect in self.loader.step(event):
        failed = await self._perform(effect)
        if failed is not None:
            for more in self.loader.step(failed):
                await self._perform(more)
            return


def begin_nothing(self: BatchFold, record: Message) -> None:
    """MM-06: what is said in a transaction is seen as it is said."""


def never_behind(self: MetadataLoader) -> bool:
    """MM-08: the gate opens as soon as the high watermark is known."""
    return self.high_watermark is not None


def features_last(self: MetadataImage, form: Form) -> Iterator[tuple[Message, int]]:
    """MM-11: an image is written from behind."""
    written = list(BED.product(MetadataImage, "records")(self, form))
    levels = len(list(self.features.records(form)))
    yield from written[levels:]
    yield from written[:levels]


async def wait_in_a_plain_call(self: Reader, publication: Publication) -> None:
    """MM-14: a publisher writes down what it is told before it lets anybody else work."""
    file = self._runtime.disk.open("/noted", "create")
    for _ in range(3):
        file.write(0, [str(publication.image.offset).encode()])
    file.close()
    await BED.product(Reader, "take")(self, publication)


def tell_the_first_only(self: MetadataShell, leader_id: int | None, epoch: int) -> None:
    """MM-15: after the first leader nobody is told of another."""
    if self.loader.leader == NO_LEADER_YET:
        BED.product(MetadataShell, "leader_changed")(self, leader_id, epoch)


PATCHES: Final[Mapping[str, Sequence[Patch]]] = {
    "MC-17": [(Delta, "between", staticmethod(add_without_removing))],
    "MC-18": [(BatchFold, "_turn", keep_what_is_aborted)],
    "MC-19": [(Gathered, "take", elect_whoever_leads)],
    "MR-09": of_the_quorum.PATCHES["MR-09"],
    "MR-15": [(SnapshotGenerator, "_considered", end_anywhere)],
    "MR-20": [(BatchFold, "load", pass_over)],
    "MR-22": of_the_quorum.PATCHES["MR-22"],
    "MM-02": [(TopicsDelta, "_merged", keep_the_epoch)],
    "MM-04": [(BatchFold, "_published", lose_topics)],
    "MM-05": [(MetadataShell, "_take", stop_at_the_first)],
    "MM-06": [(BatchFold, "_turn", begin_nothing)],
    "MM-08": [(MetadataLoader, "_is_caught_up", never_behind)],
    "MM-11": [(MetadataImage, "records", features_last)],
    "MM-14": [(Reader, "take", wait_in_a_plain_call)],
    "MM-15": [(MetadataShell, "leader_changed", tell_the_first_only)],
}

MUTANTS: Final[Sequence[Mutant]] = (
    Mutant("MC-17", "a snapshot takes nothing away", A),
    Mutant("MC-18", "an aborted metadata transaction leaks into the image", A),
    Mutant("MC-19", "a change of the ISR alone counts as an election", A),
    Mutant("MR-09", "a listener that comes late never learns who leads", A),
    Mutant("MR-15", "a snapshot ends inside a batch, before a transaction", B),
    Mutant("MR-20", "a record that cannot be read is left out", A),
    Mutant("MR-22", "a listener is handed what is not committed", A),
    Mutant("MM-02", "a change of the ISR alone leaves the partition epoch as it was", A),
    Mutant("MM-04", "a delta does not lead to the image that comes with it", A),
    Mutant("MM-05", "a publisher that raises keeps the news from those behind it", A),
    Mutant("MM-06", "what is said in a transaction is seen at once", A),
    Mutant("MM-08", "the gate opens before the log was caught up with", A),
    Mutant("MM-11", "a snapshot does not begin with the features", A),
    Mutant("MM-14", "a publisher waits for its disk in a plain call", B),
    Mutant("MM-15", "nobody is told of a second leader", A),
)

BED: Final = Bed(PATCHES)


def plant(mutant: str) -> None:
    """Put the product back as it is, and then a mutant's code in its place, if one is named."""
    BED.plant(mutant)
