"""The loader: when the gate opens, who is told what, and what happens when it goes wrong."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.image import EMPTY, Provenance
from barnabas.metadata.loader import (
    Became,
    Committed,
    Failed,
    Faulted,
    Following,
    HighWatermark,
    Install,
    LeaderChanged,
    MetadataLoader,
    Publish,
    PublisherFailed,
    Remove,
    SnapshotRead,
    SnapshotUnreadable,
    StopAsked,
    Stopped,
    TellLeader,
)
from barnabas.metadata.publication import (
    LeaderAndEpoch,
    Publisher,
    SnapshotManifest,
)
from barnabas.metadata.snapshot import fingerprint, folded
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from tests.metadata.histories import History, history
from tests.metadata.naive import plain
from tests.metadata.shell import Fake, Shell
from tests.metadata.test_fold import ABORT, BEGIN, LEVEL, A, B, C, batch

SEEDS = st.integers(0, 2**32)
POISON = FenceBrokerRecord(id=9, epoch=9)


def order(shell: Shell) -> list[tuple[str, int]]:
    """Return who was told which offset, in order."""
    effects = [effect for effect in shell.done if isinstance(effect, Publish)]
    return [(effect.publisher, effect.publication.image.offset) for effect in effects]


# --- The gate (M-08) ----------------------------------------------------------------------------


def test_nobody_is_told_anything_before_the_log_is_read_to_where_it_was_committed() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, LEVEL, A)], high_watermark=5)
    shell.commit([batch(2, B, B)], high_watermark=5)
    assert order(shell) == []
    shell.commit([batch(4, C)], high_watermark=5)
    assert shell.loader.state == Following()
    assert order(shell) == [("reader", 4)]


def test_the_gate_stays_shut_while_there_is_no_record_of_a_controller() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([OpenedBatch(0, 1, 1, 0, 80, ())])
    assert order(shell) == []
    shell.commit([batch(1, LEVEL)])
    assert order(shell) == [("reader", 1)]


def test_the_gate_stays_shut_while_all_there_is_was_aborted() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, BEGIN, LEVEL, ABORT)])
    assert order(shell) == []
    shell.commit([batch(3, LEVEL)])
    assert order(shell) == [("reader", 3)]


def test_the_gate_stays_shut_in_a_transaction_that_reaches_the_high_watermark() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, LEVEL), batch(1, BEGIN, A)])
    assert shell.loader.in_transaction
    assert order(shell) == []
    shell.commit([batch(3, ABORT)])
    assert order(shell) == [("reader", 3)]


def test_an_open_gate_never_shuts_however_far_the_log_runs_ahead() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, LEVEL)])
    shell.commit([batch(1, A)], high_watermark=1_000)
    assert order(shell) == [("reader", 0), ("reader", 1)]


def test_nothing_is_taken_that_is_not_committed() -> None:
    loader = MetadataLoader()
    with pytest.raises(AssertionError, match="no high watermark is known"):
        loader.step(Committed([batch(0, LEVEL)]))
    loader.step(HighWatermark(1))
    with pytest.raises(AssertionError, match="offset 1 is not committed"):
        loader.step(Committed([batch(0, LEVEL, A)]))
    with pytest.raises(AssertionError, match="fell from 1 to 0"):
        loader.step(HighWatermark(0))


# --- Who is told what (M-04, M-05) --------------------------------------------------------------


def test_publishers_are_told_in_the_order_they_came() -> None:
    shell = Shell(Fake("b"), Fake("a"))
    shell.commit([batch(0, LEVEL)])
    shell.install(Fake("c"))
    shell.commit([batch(1, A)])
    assert order(shell) == [("b", 0), ("a", 0), ("c", 0), ("b", 1), ("a", 1), ("c", 1)]


def test_a_newcomer_is_told_everything_at_once_and_who_leads() -> None:
    shell = Shell()
    shell.commit([batch(0, LEVEL, A), batch(2, B)])
    leader = LeaderAndEpoch(3, 1)
    shell.step(LeaderChanged(leader))
    late = Fake("late")
    shell.install(late)
    [first] = late.told
    assert first.delta.image is EMPTY
    assert first.image is shell.image
    # The log behind it counts for whoever writes snapshots.
    assert first.manifest == SnapshotManifest(shell.image.provenance, size_bytes=200)
    assert late.leaders == [leader]


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_whenever_a_publisher_comes_or_goes_the_others_are_told_the_same(
    seed: int, drawn: int
) -> None:
    log, random = history(seed, 40), Random(drawn)
    batches = log.cut(*random.sample(range(len(log)), 12))
    alone, steady = Fake("steady"), Fake("steady")
    quiet, busy = Shell(alone), Shell(steady, Fake("0", raises_at=range(0, 99, 3)))
    for number, each in enumerate(batches, 1):
        for shell in (quiet, busy):
            shell.commit([each], len(log))
        if random.random() < 0.5:
            busy.install(Fake(str(number), raises_at=random.sample(range(99), 30)))
        names = busy.loader.publishers[1:]
        if names and random.random() < 0.3:
            busy.step(Remove(random.choice(names)))
    assert steady.offsets == alone.offsets
    assert [fingerprint(p.image) for p in steady.told] == [fingerprint(p.image) for p in alone.told]
    # A fake checks every step by itself; here is that all end at the same image.
    for name in busy.loader.publishers:
        assert busy.fakes[name].image is busy.image
    assert plain(busy.image) == log.seen[-1]


def test_a_removed_publisher_is_closed_and_not_told_again() -> None:
    fake = Fake("reader")
    shell = Shell(fake)
    shell.commit([batch(0, LEVEL)])
    shell.step(Remove("reader"))
    shell.commit([batch(1, A)])
    assert fake.closed
    assert fake.offsets == [0]


def test_a_publisher_may_be_removed_before_it_was_told_anything() -> None:
    fake = Fake("reader")
    shell = Shell(fake)
    shell.step(Remove("reader"))
    shell.commit([batch(0, LEVEL)])
    assert fake.closed
    assert fake.told == []


def test_names_of_publishers_are_their_own() -> None:
    shell = Shell(Fake("reader"))
    with pytest.raises(AssertionError, match="two publishers reader"):
        shell.install(Fake("reader"))
    with pytest.raises(AssertionError, match="writer is removed and not installed"):
        shell.step(Remove("writer"))


def test_a_new_leader_is_told_to_those_who_had_their_introduction() -> None:
    early, late = Fake("early"), Fake("late")
    shell = Shell(early)
    shell.step(LeaderChanged(LeaderAndEpoch(1, 1)))
    assert early.leaders == []
    shell.commit([batch(0, LEVEL)])
    shell.step(LeaderChanged(LeaderAndEpoch(None, 2)))
    shell.install(late)
    assert early.leaders == [LeaderAndEpoch(1, 1), LeaderAndEpoch(None, 2)]
    assert late.leaders == [LeaderAndEpoch(None, 2)]


@given(SEEDS)
def test_a_shell_whose_publishers_are_slow_tells_them_the_same_only_later(seed: int) -> None:
    log, prompt, slow = history(seed, 30), Fake("reader"), Fake("reader")
    shell, loader = Shell(prompt), MetadataLoader()
    late = loader.step(Install((slow.publisher,)))
    for each in log.cut(*range(3, 30, 4)):
        shell.commit([each])
        late += loader.step(HighWatermark(each.end_offset)) + loader.step(Committed([each]))
    for effect in late:
        if isinstance(effect, Publish):
            slow.update(effect.publication, effect.introduction)
    assert slow.offsets == prompt.offsets
    assert [fingerprint(p.image) for p in slow.told] == [fingerprint(p.image) for p in prompt.told]


# --- Publishers that fail -----------------------------------------------------------------------


def test_a_publisher_that_raises_is_named_and_goes_on_with_the_next() -> None:
    bad, good = Fake("bad", raises_at=[1]), Fake("good")
    shell = Shell(bad, good)
    for offset, record in enumerate((LEVEL, A, B)):
        shell.commit([batch(offset, record)])
    [fault] = shell.faults
    assert str(fault) == "offset 1: publisher bad: not 1"
    assert not fault.fatal
    assert bad.offsets == good.offsets == [0, 1, 2]


def test_a_publisher_that_raises_at_its_introduction_is_let_go() -> None:
    bad, good = Fake("bad", raises_at=[0]), Fake("good")
    shell = Shell(bad, good)
    shell.commit([batch(0, LEVEL)])
    shell.commit([batch(1, A)])
    assert bad.closed
    assert bad.offsets == [0]
    assert good.offsets == [0, 1]


def test_a_publisher_without_which_the_node_cannot_live_stops_it() -> None:
    shell = Shell(Fake("vital", raises_at=[1], fatal=True))
    shell.commit([batch(0, LEVEL)])
    shell.commit([batch(1, A)])
    [fault] = shell.faults
    assert fault.fatal
    assert shell.loader.state == Failed(fault)


def test_a_publisher_that_fails_after_it_was_removed_is_nobody() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, LEVEL)])
    [told] = [effect for effect in shell.done if isinstance(effect, TellLeader)]
    shell.step(Remove("reader"))
    shell.step(PublisherFailed(told, "too late"))
    assert shell.faults == []


def test_a_publisher_that_fails_at_the_news_of_a_leader_stays() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, LEVEL)])
    shell.step(LeaderChanged(LeaderAndEpoch(4, 2)))
    shell.step(PublisherFailed(TellLeader("reader", LeaderAndEpoch(4, 2)), "who?"))
    assert [str(fault) for fault in shell.faults] == ["offset 0: publisher reader: who?"]
    assert shell.loader.publishers == ("reader",)


# --- Records that cannot be understood ----------------------------------------------------------


def test_a_record_that_cannot_be_applied_stops_the_loader_and_changes_nothing() -> None:
    fake = Fake("reader")
    shell = Shell(fake)
    shell.commit([batch(0, LEVEL, A)])
    before = fingerprint(shell.image)
    # Even what came before it in the same commit: it would not be what others have at its offset.
    shell.commit([batch(2, B), batch(3, C, POISON)])
    [fault] = shell.faults
    assert fault.fatal
    assert str(fault).startswith("__cluster_metadata-0, offset 4: FenceBrokerRecord: broker 9")
    assert shell.loader.state == Failed(fault)
    shell.commit([batch(5, C)])
    shell.step(LeaderChanged(LeaderAndEpoch(2, 2)))
    shell.install(Fake("late"))
    assert fake.offsets == [1]
    assert fingerprint(shell.image) == before
    assert shell.faults == [fault]


def test_a_loader_that_stops_closes_everybody_and_does_nothing_more() -> None:
    fakes = [Fake("a"), Fake("b")]
    shell = Shell(*fakes)
    shell.commit([batch(0, LEVEL)])
    shell.step(StopAsked())
    shell.commit([batch(1, A)])
    shell.step(StopAsked())
    assert [fake.closed for fake in fakes] == [True, True]
    assert fakes[0].offsets == [0]
    assert [effect for effect in shell.done if isinstance(effect, Became)] == [
        Became(Following()),
        Became(Stopped()),
    ]


def test_a_loader_that_failed_can_be_stopped() -> None:
    shell = Shell(Fake("reader"))
    shell.commit([batch(0, POISON)])
    shell.step(StopAsked())
    assert shell.loader.state == Stopped()
    assert shell.fakes["reader"].closed


# --- Snapshots ----------------------------------------------------------------------------------


def snapshot_of(log: History) -> Shell:
    """Return a loader that has read a whole log, to write snapshots from."""
    shell = Shell()
    shell.commit(log.cut())
    return shell


@pytest.mark.slow
@given(SEEDS)
def test_a_snapshot_is_told_as_the_difference_to_what_was_known(seed: int) -> None:
    log = history(seed)
    writer = snapshot_of(log)
    early = next(o for o in range(6, len(log)) if log.seen[o] is not None)
    fake = Fake("reader")
    shell = Shell(fake)
    shell.commit([log.batch(0, early + 1)])
    shell.load(writer.image)
    assert fake.offsets == [early, len(log) - 1]
    last = fake.told[-1]
    assert last.manifest == SnapshotManifest(writer.image.provenance)
    before, after = log.seen[early], log.seen[-1]
    assert before is not None
    assert after is not None
    gone = before["topics"].keys() - after["topics"].keys()
    told = last.delta.topics.deleted.keys() if last.delta.topics else set()
    assert told == gone
    # What is the same is the same object: a snapshot does not cost the memory of another image.
    for topic_id, topic in shell.image.topics.topics.items():
        if before["topics"].get(topic_id) == after["topics"][topic_id]:
            assert topic is fake.told[0].image.topics.topics[topic_id]


def test_a_snapshot_puts_an_end_to_a_transaction_that_was_open() -> None:
    fake, writer = Fake("reader"), Shell()
    writer.commit([batch(0, LEVEL, A), batch(2, BEGIN, B, ABORT), batch(5, C)])
    shell = Shell(fake)
    shell.commit([batch(0, LEVEL, A)])
    shell.commit([batch(2, BEGIN, B)])
    assert shell.loader.in_transaction
    shell.load(writer.image)
    assert not shell.loader.in_transaction
    shell.commit([batch(6, B)])
    assert fake.offsets == [1, 5, 6]
    assert list(shell.image.configs.of(4, "")) == ["a", "c", "b"]


def test_a_snapshot_that_cannot_be_understood_stops_the_loader() -> None:
    shell = Shell()
    shell.commit([batch(0, LEVEL)])
    shell.step(HighWatermark(10))
    before = fingerprint(shell.image)
    with pytest.raises(Unfoldable) as unfoldable:
        folded([batch(1, LEVEL, BEGIN)], Provenance(9, 2, 0, batch_aligned=True))
    shell.step(SnapshotUnreadable(unfoldable.value.fault))
    [fault] = shell.faults
    assert str(fault).startswith(
        "00000000000000000010-0000000002.checkpoint, record 2: BeginTransactionRecord: "
    )
    assert fault.fatal
    assert fingerprint(shell.image) == before


def test_a_snapshot_of_what_is_known_already_is_a_mistake_of_who_hands_it_over() -> None:
    shell = Shell()
    shell.commit([batch(0, LEVEL, A)])
    with pytest.raises(AssertionError, match="a snapshot of 2"):
        shell.step(SnapshotRead(folded([], Provenance(1, 1, 0, batch_aligned=True))))


def test_effects_are_values_that_can_be_compared() -> None:
    loader = MetadataLoader()
    assert loader.step(Install((Publisher("reader"),))) == []
    loader.step(HighWatermark(1))
    made = loader.step(Committed([batch(0, POISON)]))
    assert isinstance(made[0], Became)
    assert isinstance(made[1], Faulted)
    assert isinstance(made[0].state, Failed)
    assert made[0].state.fault == made[1].fault
