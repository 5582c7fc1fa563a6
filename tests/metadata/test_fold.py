"""The image is a fold: whatever way the log is cut, and whatever was aborted in it."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.fold import TRANSACTION, BatchFold
from barnabas.metadata.image import EMPTY
from barnabas.metadata.publication import LeaderAndEpoch, LogManifest, Publication
from barnabas.metadata.snapshot import fingerprint
from barnabas.records.opened import OpenedBatch
from barnabas.wire.codec import versions
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.metadata_records import encode_record, record_classes
from barnabas.wire.structs import Message
from tests.metadata.histories import History, aligned, history
from tests.metadata.naive import plain
from tests.metadata.shell import Fake, Shell

SEEDS = st.integers(0, 2**32)
LEADER = LeaderAndEpoch(1, 7)

BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()
LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


def setting(name: str) -> ConfigRecord:
    """Return a record that leaves a trace."""
    return ConfigRecord(resource_type=4, resource_name="", name=name, value="set")


A, B, C, D = (setting(name) for name in "abcd")


def batch(offset: int, *records: Message, epoch: int = 1) -> OpenedBatch:
    """Return a batch of records that lies at an offset."""
    values = [encode_record(record, 0) for record in records]
    return OpenedBatch(offset, offset + len(values), epoch, 5, 100, values)


def published(*batches: OpenedBatch) -> list[Publication]:
    """Return what is published of batches that were committed together."""
    fold, publications = BatchFold(EMPTY), list[Publication]()
    for each in batches:
        publications += fold.load(each, LEADER)
    return [*publications, *fold.flush(LEADER)]


def told(publications: list[Publication]) -> list[tuple[int, str, bool]]:
    """Return the end of each publication, what is set then, and whether a batch ends there."""
    return [
        (image.offset, "".join(image.configs.of(4, "")), image.provenance.batch_aligned)
        for image in (publication.image for publication in publications)
    ]


# --- The log, cut in any way --------------------------------------------------------------------


@pytest.mark.slow
@given(SEEDS, SEEDS)
@example(0, 0)
def test_every_published_image_is_what_a_naive_fold_holds_at_its_offset(
    seed: int, cutting: int
) -> None:
    log, random = history(seed), Random(cutting)
    fake = Fake("reader")
    shell = Shell(fake)
    batches = log.cut(*random.sample(range(len(log)), random.randint(0, 20)))
    while batches:
        together = random.randint(1, len(batches))
        shell.commit(batches[:together], len(log))
        del batches[:together]
    assert not shell.faults
    for publication in fake.told:
        assert plain(publication.image) == log.seen[publication.image.offset]
    assert fake.offsets[-1] == len(log) - 1


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_however_a_log_is_cut_its_image_has_the_same_fingerprint(seed: int, cutting: int) -> None:
    log, random = history(seed), Random(cutting)
    prints = set()
    for _ in range(4):
        shell = Shell()
        for each in log.cut(*random.sample(range(len(log)), 15)):
            shell.commit([each], len(log))
        prints.add(fingerprint(shell.image))
    assert len(prints) == 1


@pytest.mark.slow
def test_all_ways_to_cut_a_short_log_with_transactions_lead_to_one_image() -> None:
    log = History()
    visible = None
    for record in (LEVEL, A, BEGIN, B, ABORT, C, BEGIN, D, END):
        log.add(record, 0, visible)
    inner = range(1, len(log))
    prints = set()
    for count in range(len(log)):
        for places in combinations(inner, count):
            for separately in (False, True):
                shell, batches = Shell(Fake("reader")), log.cut(*places)
                for each in [[b] for b in batches] if separately else [batches]:
                    shell.commit(each, len(log))
                prints.add(fingerprint(shell.image))
                assert list(shell.image.configs.of(4, "")) == ["a", "c", "d"]
    assert len(prints) == 1


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_a_snapshot_and_the_tail_behind_it_lead_where_the_log_leads(seed: int, drawn: int) -> None:
    log, random = history(seed), Random(drawn)
    batches = log.cut(*random.sample(range(len(log)), 15))
    whole = Shell()
    whole.commit(batches)
    ends = list(aligned(log, batches))
    at = random.choice(ends)
    writer = Shell()
    writer.commit([each for each in batches if each.end_offset <= at])
    # One node comes with nothing, another was away for a while: a broker down across deletes.
    away = random.choice([0, *(end for end in ends if end < at)])
    fresh, returning = Shell(Fake("fresh")), Shell(Fake("returning"))
    if away:
        returning.commit([each for each in batches if each.end_offset <= away])
    for reader in (fresh, returning):
        reader.load(writer.image, len(log))
        assert fingerprint(reader.image) == fingerprint(writer.image)
        if tail := [each for each in batches if each.base_offset >= at]:
            reader.commit(tail)
        assert fingerprint(reader.image) == fingerprint(whole.image)
        assert plain(reader.image) == log.seen[-1]


def test_random_histories_hold_every_record_there_is() -> None:
    seen = set().union(*(history(seed).states() for seed in range(40)))
    assert seen == {message.__name__ for message in record_classes().values()}


def every_version() -> list[tuple[type[Message], int]]:
    """Return every record of the metadata log, in every version there ever was."""
    return [
        (record, version) for record in record_classes().values() for version in versions(record)
    ]


@pytest.mark.parametrize(("record", "version"), every_version(), ids=str)
def test_every_version_of_every_record_can_be_applied(record: type[Message], version: int) -> None:
    # What a record says when it says nothing is about broker 0 and the topic without an id.
    there: list[Message] = [RegisterBrokerRecord(), TopicRecord(), PartitionRecord()]
    there.append(AccessControlEntryRecord())
    if record in TRANSACTION and record is not BeginTransactionRecord:
        there.append(BEGIN)
    values = [*(encode_record(each, 0) for each in there), encode_record(record(), version)]
    fold = BatchFold(EMPTY)
    begun = list(fold.load(OpenedBatch(0, len(values), 1, 0, 80, values), LEADER))
    made = [*begun, *fold.flush(LEADER)][-1].image
    assert len(made.cluster.brokers) == (record is not UnregisterBrokerRecord)
    assert len(made.topics.topics) == (record is not RemoveTopicRecord)
    assert len(made.acls.acls) == (record is not RemoveAccessControlEntryRecord)


# --- Transactions -------------------------------------------------------------------------------


def test_many_batches_make_one_publication_that_counts_them() -> None:
    [only] = published(batch(0, LEVEL, A), batch(2, B), batch(3, C))
    assert told([only]) == [(3, "abc", True)]
    assert only.manifest == LogManifest(only.image.provenance, LEADER, 3, 300)


def test_a_transaction_is_visible_at_once_and_only_when_it_has_ended() -> None:
    assert told(published(batch(0, BEGIN, A), batch(2, B))) == []
    assert told(published(batch(0, BEGIN, A), batch(2, B), batch(3, END))) == [(3, "ab", True)]


def test_what_stands_before_a_transaction_is_published_before_it() -> None:
    # In the middle of a batch, where no snapshot may end; and in front of one, where one may.
    middle = published(batch(0, LEVEL, A, BEGIN, B), batch(4, END))
    assert told(middle) == [(1, "a", False), (4, "ab", True)]
    front = published(batch(0, LEVEL, A), batch(2, BEGIN, B), batch(4, END))
    assert told(front) == [(1, "a", True), (4, "ab", True)]


def test_records_behind_the_end_of_a_transaction_belong_to_the_same_publication() -> None:
    assert told(published(batch(0, BEGIN, A, END, B), batch(4, C))) == [(4, "abc", True)]


def test_transactions_in_one_batch_are_published_one_by_one() -> None:
    made = published(batch(0, BEGIN, A, END, BEGIN, B, END))
    assert told(made) == [(2, "a", False), (5, "ab", True)]


def test_an_aborted_transaction_leaves_nothing_but_the_offset() -> None:
    made = published(batch(0, LEVEL, A), batch(2, BEGIN, B), batch(4, C, ABORT))
    assert told(made) == [(1, "a", True), (5, "a", True)]
    assert made[1].delta.configs is None
    assert made[1].image.configs is made[0].image.configs


def test_records_behind_an_abort_do_not_bring_the_aborted_ones_back() -> None:
    # Kafka keeps the aborted records in its delta if more follow before it publishes.
    assert told(published(batch(0, BEGIN, A, ABORT, B))) == [(3, "b", True)]
    assert told(published(batch(0, BEGIN, A, ABORT), batch(3, B))) == [(3, "b", True)]
    again = published(batch(0, BEGIN, A, ABORT, BEGIN, B, END))
    assert told(again) == [(2, "", False), (5, "b", True)]


def test_an_image_bears_the_epoch_of_its_own_last_record() -> None:
    # Kafka gives it that of the batch behind; a snapshot of that name would not be the leader's.
    made = published(batch(0, LEVEL, A, epoch=3), batch(2, BEGIN, B, END, epoch=4))
    assert [publication.image.provenance.epoch for publication in made] == [3, 4]


def test_a_control_batch_moves_the_offset_and_nothing_else() -> None:
    control = OpenedBatch(2, 3, 9, 6, 100, ())
    [only] = published(batch(0, LEVEL, A), control)
    assert told([only]) == [(2, "a", True)]
    assert only.image.provenance.epoch == 9


def test_nothing_is_published_where_nothing_came() -> None:
    fold = BatchFold(EMPTY)
    assert list(fold.flush(LEADER)) == []


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ((BEGIN, A, BEGIN), "offset 2: BeginTransactionRecord: a transaction begins, and the one"),
        ((A, END), "offset 1: EndTransactionRecord: a transaction ends, and none has begun"),
        ((ABORT,), "offset 0: AbortTransactionRecord: a transaction ends, and none has begun"),
        ((BEGIN, END, END), "offset 2: EndTransactionRecord"),
        (
            (UnfenceBrokerRecord(id=3, epoch=4),),
            "broker 3 of epoch 4 is changed and not registered",
        ),
    ],
    ids=str,
)
def test_what_no_controller_would_write_is_named_with_its_offset(
    records: tuple[Message, ...], why: str
) -> None:
    with pytest.raises(Unfoldable, match=f"__cluster_metadata-0, .*{why}.*compare"):
        published(batch(0, *records))


def test_a_record_of_a_later_release_is_named_with_the_way_out() -> None:
    unknown = OpenedBatch(0, 2, 1, 0, 80, [encode_record(A, 0), b"\x01\x63\x00\x00"])
    with pytest.raises(
        Unfoldable, match=r"offset 1: metadata record of type 99: .*nobody knows; a newer release"
    ):
        published(unknown)
    newer = OpenedBatch(0, 1, 1, 0, 80, [b"\x01\x04\x09\x00"])
    with pytest.raises(Unfoldable, match=r"ConfigRecord: .*version 9; known are 0 to 0; a newer"):
        published(newer)


def test_bytes_that_are_no_record_are_damage_and_no_later_release() -> None:
    damaged = OpenedBatch(0, 1, 1, 0, 80, [b"\x07\x04\x00"])
    with pytest.raises(Unfoldable, match="frame version 7; the file is damaged"):
        published(damaged)


def test_batches_come_without_gaps_and_epochs_never_fall() -> None:
    fold = BatchFold(EMPTY)
    with pytest.raises(AssertionError, match="a batch at 1, expected at 0"):
        list(fold.load(batch(1, A), LEADER))
    list(fold.load(batch(0, A, epoch=3), LEADER))
    with pytest.raises(AssertionError, match="2 after 3"):
        list(fold.load(batch(1, A, epoch=2), LEADER))
