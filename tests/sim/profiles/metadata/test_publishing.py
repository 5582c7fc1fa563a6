"""Oracles of what is told: each says no when it should, and not before."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.local_changes import local_changes
from barnabas.metadata.publication import (
    LeaderAndEpoch,
    LogManifest,
    Publication,
    SnapshotManifest,
)
from barnabas.model.ids import TopicIdPartition, Uuid
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.metadata import marks
from barnabas.sim.profiles.metadata.drive import Node
from barnabas.sim.profiles.metadata.publishing import BLOCKED_MS, Publishing
from barnabas.sim.profiles.metadata.readers import Held, Replicas, Seen, Witness
from barnabas.sim.world import Violation
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message
from tests.sim.profiles.metadata.committed import LEVEL, Log

TOPIC = Uuid(bytes(15) + b"T")
PLACE = TopicIdPartition(TOPIC, "orders", 0)
RUNTIME = cast(Runtime, SimpleNamespace(tasks=SimpleNamespace(name="n1.1")))
NOBODY = cast(Witness, None)


def config(text: str) -> Message:
    return ConfigRecord(resource_type=4, resource_name="1", name="a", value=text)


class Stand:
    """A node that is told what a test says, and the oracles that look on."""

    def __init__(self) -> None:
        self.log = Log()
        self.oracles = Publishing(self.log.reference, self.log.marked.append)
        self.quorum = SimpleNamespace(high_watermark=0)
        self.fake: Any = SimpleNamespace(
            name="n1.1",
            quorum=SimpleNamespace(node=self.quorum),
            metadata=SimpleNamespace(image=EMPTY),
            desk=SimpleNamespace(known=None),
        )
        self.node = cast(Node, self.fake)
        self.first = Seen(RUNTIME, NOBODY, "first")
        self.oracles.born(self.node)
        self.oracles.installed(self.node, (self.first,))

    def commit(self, *records: Message) -> MetadataImage:
        """Commit a batch, which the quorum counts at once."""
        image = self.log.commit(*records)
        self.quorum.high_watermark = self.log.reference.end_offset
        return image

    def hand(self, image: MetadataImage, **facts: bool) -> None:
        """Hand everything over, and see what has come of it."""
        self.oracles.handing(self.node, self.quorum.high_watermark)
        self.fake.metadata.image = image
        self.oracles.handed(self.node, **{"by_snapshot": False, "poisoned": False} | facts)

    def tell(
        self,
        before: MetadataImage,
        after: MetadataImage,
        seen: Seen | None = None,
        by_snapshot: bool = False,
    ) -> None:
        """Tell a subscriber of a step."""
        seen = seen or self.first
        leader = LeaderAndEpoch(1, 1)
        manifest: Any = LogManifest(after.provenance, leader, 1, 100)
        if by_snapshot or before is EMPTY:
            manifest = SnapshotManifest(after.provenance)
        publication = Publication(Delta.between(before, after), after, manifest)
        self.oracles.published("n1.1", seen, publication)
        seen.image, seen.is_introduced = after, True
        self.oracles.applied("n1.1", seen)

    def opened(self) -> MetadataImage:
        """Let the first be told of a first image."""
        image = self.commit(LEVEL)
        self.oracles.handing(self.node, 1)
        self.tell(EMPTY, image)
        self.fake.metadata.image = image
        return image


def refused(oracle: str, look: Callable[[], object]) -> None:
    with pytest.raises(Violation) as found:
        look()
    assert found.value.oracle == oracle


def test_what_is_right_is_left_in_peace() -> None:
    stand = Stand()
    before = stand.opened()
    after = stand.commit(config("1"), config("2"))
    stand.tell(before, after)
    stand.hand(after)
    stand.oracles.snapshot(stand.node, after)
    assert stand.log.marked == [marks.WRITTEN]


def test_an_image_that_is_not_the_fold_is_noticed_where_it_is_told_and_where_it_is_not() -> None:
    stand = Stand()
    before = stand.opened()
    after = stand.commit(config("1"))
    wrong = replace(before, provenance=after.provenance)
    refused("M-02", lambda: stand.tell(before, wrong))
    stand.oracles.lives["n1.1"].image = before
    stand.first.is_closed = True
    refused("M-02", lambda: stand.hand(wrong))


def test_a_sound_log_that_a_node_cannot_fold_is_laid_to_its_image() -> None:
    stand = Stand()
    stand.opened()
    why = BadRecord("there is no such topic")
    assert stand.oracles.unfoldable("n1.1", why).oracle == "M-02"
    stand.commit(BeginTransactionRecord(), config("1"), AbortTransactionRecord())
    assert stand.oracles.unfoldable("n1.1", why).oracle == "M-06"


def test_what_nobody_knows_yet_is_looked_at_later() -> None:
    stand = Stand()
    before = stand.opened()
    other = Log()
    other.commit(LEVEL)
    after = other.commit(config("another"))
    stand.quorum.high_watermark = 2
    stand.tell(before, after)
    stand.commit(config("1"))
    refused("M-02", stand.oracles.look)


def test_what_is_not_committed_is_noticed_when_it_is_handed_over_and_when_it_is_told() -> None:
    stand = Stand()
    before = stand.opened()
    refused("M-03", lambda: stand.oracles.handing(stand.node, 2))
    after = stand.log.commit(config("1"))
    refused("M-03", lambda: stand.tell(before, after))


def test_a_delta_that_leads_elsewhere_is_noticed() -> None:
    stand = Stand()
    before = stand.opened()
    after = stand.commit(config("1"))
    manifest = LogManifest(after.provenance, LeaderAndEpoch(1, 1), 1, 100)
    publication = Publication(Delta(before), after, manifest)
    refused("M-04", lambda: stand.oracles.published("n1.1", stand.first, publication))


def test_a_gap_and_an_introduction_that_is_none_are_noticed() -> None:
    stand = Stand()
    first = stand.opened()
    second, third = stand.commit(config("1")), stand.commit(config("2"))
    late = Seen(RUNTIME, NOBODY, "late")
    stand.oracles.installed(stand.node, (late,))
    refused("M-05", lambda: stand.tell(second, third))
    refused("M-05", lambda: stand.tell(EMPTY, third))
    refused("M-05", lambda: stand.tell(first, second, late))


def test_what_is_told_after_the_end_is_noticed() -> None:
    stand = Stand()
    first = stand.opened()
    second, leader = stand.commit(config("1")), LeaderAndEpoch(1, 1)
    stand.oracles.led("n1.1", stand.first, leader)
    stand.first.is_closed = True
    refused("M-05", lambda: stand.tell(first, second))
    refused("M-05", lambda: stand.oracles.led("n1.1", stand.first, leader))


def test_another_order_than_that_of_installation_is_noticed() -> None:
    stand = Stand()
    before = stand.opened()
    late = Seen(RUNTIME, NOBODY, "late")
    stand.oracles.installed(stand.node, (late,))
    stand.tell(EMPTY, before, late)
    assert stand.log.marked == [marks.LATE]
    after = stand.commit(config("1"))
    manifest = LogManifest(after.provenance, LeaderAndEpoch(1, 1), 1, 100)
    publication = Publication(Delta.between(before, after), after, manifest)
    stand.oracles.published("n1.1", late, publication)
    stand.oracles.applied("n1.1", late)
    refused("M-05", lambda: stand.oracles.published("n1.1", stand.first, publication))


def test_one_who_was_not_told_is_noticed_and_so_is_a_leader_that_was_not() -> None:
    stand = Stand()
    stand.opened()
    after = stand.commit(config("1"))
    refused("M-05", lambda: stand.hand(after))
    stand.first.image, stand.fake.desk.known = after, (2, 3)
    refused("ML-2", lambda: stand.hand(after))
    stand.first.leader = LeaderAndEpoch(2, 3)
    stand.hand(after)


def test_who_goes_need_not_be_told_and_who_takes_the_place_is_marked() -> None:
    stand = Stand()
    stand.opened()
    after = stand.commit(config("1"))
    stand.oracles.removed(stand.node, "first")
    stand.hand(after)
    stand.oracles.installed(stand.node, (Seen(RUNTIME, NOBODY, "first"),))
    assert stand.log.marked == [marks.GONE, marks.SWAPPED]


def test_an_image_inside_of_a_transaction_is_noticed_and_what_is_left_of_one() -> None:
    stand = Stand()
    before = stand.opened()
    stand.commit(BeginTransactionRecord(), config("1"))
    inside = replace(before, provenance=replace(before.provenance, offset=2, batch_aligned=True))
    refused("M-06", lambda: stand.tell(before, inside))
    stand = Stand()
    before = stand.opened()
    leaked = stand.commit(config("leaked")).configs
    stand = Stand()
    before = stand.opened()
    stand.commit(BeginTransactionRecord(), config("leaked"))
    after = replace(stand.commit(AbortTransactionRecord()), configs=leaked)
    refused("M-06", lambda: stand.tell(before, after))


def test_what_a_snapshot_leaves_behind_is_noticed() -> None:
    stand = Stand()
    stand.opened()
    before = stand.commit(config("1"))
    stand.tell(stand.first.image, before)
    gone = stand.commit(ConfigRecord(resource_type=4, resource_name="1", name="a", value=None))
    kept = replace(before, provenance=gone.provenance)
    refused("M-07", lambda: stand.tell(before, kept, by_snapshot=True))


def test_who_is_told_before_the_log_was_caught_up_with_is_noticed() -> None:
    stand = Stand()
    image = stand.commit(LEVEL)
    stand.commit(config("1"))
    stand.oracles.handing(stand.node, 2)
    refused("M-08", lambda: stand.tell(EMPTY, image))
    stand = Stand()
    nothing = replace(EMPTY, provenance=replace(EMPTY.provenance, offset=0))
    stand.quorum.high_watermark = 1
    refused("M-08", lambda: stand.tell(EMPTY, nothing))


def test_a_snapshot_inside_of_a_batch_or_a_transaction_is_noticed() -> None:
    stand = Stand()
    stand.opened()
    image = stand.commit(config("1"), config("2"))
    at = image.provenance
    for provenance in (replace(at, offset=1), replace(at, batch_aligned=False)):
        wrong = replace(image, provenance=provenance)
        refused("M-09", partial(stand.oracles.snapshot, stand.node, wrong))
    stand.commit(BeginTransactionRecord())
    inside = replace(image, provenance=replace(at, offset=3))
    refused("M-09", lambda: stand.oracles.snapshot(stand.node, inside))


def test_a_provenance_that_falls_or_says_something_else_is_noticed() -> None:
    stand = Stand()
    before = stand.opened()
    after = stand.commit(config("1"), config("2"))
    at = after.provenance
    for provenance in (replace(at, epoch=2), replace(at, batch_aligned=False)):
        wrong = replace(after, provenance=provenance)
        with pytest.raises(Violation, match=r"M-0[29]"):
            stand.tell(before, wrong)
        stand.oracles.lives["n1.1"].told[stand.first] = before
    stand = Stand()
    before, after = stand.opened(), stand.commit(config("1"))
    stand.tell(before, after)
    refused("M-09", lambda: stand.hand(before))


def test_local_changes_that_are_not_the_twins_are_noticed_and_replicas_that_were_lost() -> None:
    stand = Stand()
    replicas = Replicas(RUNTIME, NOBODY, "replicas", 1)
    stand.oracles.installed(stand.node, (replicas,))
    before = stand.opened()
    made = PartitionRecord(
        partition_id=0, topic_id=TOPIC, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=0,
        partition_epoch=0,
    )  # fmt: skip
    first = stand.commit(TopicRecord(name="orders", topic_id=TOPIC), made)
    stand.tell(before, first)
    replicas.changes = local_changes(Delta.between(EMPTY, first).topics, 1)
    replicas.table[PLACE] = Held("leader", 0, 0, (1, 2))
    stand.tell(EMPTY, first, replicas)
    second = stand.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=(1,)))
    stand.tell(first, second)
    changes = local_changes(Delta.between(first, second).topics, 1)
    replicas.changes = replace(changes, elected=changes.leaders)
    refused("M-10", lambda: stand.tell(first, second, replicas))
    stand.oracles.lives["n1.1"].told[replicas] = first
    replicas.changes = changes
    refused("M-12", lambda: stand.tell(first, second, replicas))
    # An answer may be ahead of the log, and is not behind it.
    for epoch, oracle in ((2, ""), (0, "M-12")):
        replicas.table[PLACE] = Held("leader", 0, epoch, (1,), by_answer=True)
        if oracle:
            refused(oracle, lambda: stand.oracles.all_there("n1.1", replicas))
        else:
            stand.oracles.all_there("n1.1", replicas)


def test_a_replica_that_goes_back_is_noticed() -> None:
    stand = Stand()
    known = Held("leader", 2, 5, (1,))
    stand.oracles.moved("n1.1", PLACE, known, Held("leader", 2, 6, (1,), by_answer=True))
    assert stand.log.marked == [marks.AHEAD]
    for leader_epoch, partition_epoch in ((1, 6), (2, 4)):
        stale = Held("leader", leader_epoch, partition_epoch, (1,))
        refused("M-13", partial(stand.oracles.moved, "n1.1", PLACE, known, stale))


def test_who_blocks_is_noticed() -> None:
    stand = Stand()
    stand.oracles.held_up("n1.1", stand.first, BLOCKED_MS - 1)
    refused("M-14", lambda: stand.oracles.held_up("n1.1", stand.first, BLOCKED_MS))


def test_a_record_that_was_passed_over_is_noticed() -> None:
    stand = Stand()
    refused("C-17", lambda: stand.hand(stand.opened(), poisoned=True))
