"""Telling the controllers where replicas lie: gathered, sent once at a time, told again."""

from dataclasses import replace
from random import Random

import pytest

from barnabas.broker.assignments import (
    BACKOFF_MAX_MS,
    BATCH_MAX,
    GATHER_MS,
    NOISY_MS,
    Answered,
    Assigned,
    Assignments,
    Effect,
    Event,
    Failed,
    Known,
    Note,
    Replica,
    SetTimer,
    Tell,
    TimerFired,
)
from barnabas.metadata import cluster, topics
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.table import Table, by_tail
from barnabas.metadata.topics import Topic
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from tests.broker.kit import EPOCH, A, B, registered, uuid

TOPIC = uuid("t")


def partition(*replicas: int) -> topics.Stored:
    """Return a partition with replicas on some brokers."""
    places = tuple(uuid("m") for _ in replicas)
    return topics.PartitionRegistration(replicas, places, replicas, replicas[0], 0, 0)


def image(partitions: int = 5_000, is_registered: bool = True) -> MetadataImage:
    """Return a cluster with broker 3, which has a replica of all partitions but the first."""
    stored = {0: partition(1, 2)} | {number: partition(3, 1) for number in range(1, partitions)}
    table: Table[Uuid, Topic] = Table(by_tail)
    changed = table.changed({TOPIC: Topic("t", TOPIC, stored)})
    brokers = {3: registered()} if is_registered else {}
    return replace(
        EMPTY,
        cluster=cluster.ClusterImage(brokers, {}),
        topics=topics.TopicsImage(changed, {"t": TOPIC}),
    )


IMAGE = image()


def replica(number: int) -> Replica:
    """Return a replica of the topic."""
    return Replica(TOPIC, number)


def told(effects: list[Effect]) -> Tell:
    """Return what the controller is told."""
    (tell,) = [each for each in effects if isinstance(each, Tell)]
    return tell


def assigned(*numbers: int) -> Assignments:
    """Return some replicas that lie in A since 0, and have not been told."""
    assignments = Assignments(3)
    for number in numbers:
        assignments.step(Assigned(replica(number), A), now_ms=0)
    return assignments


def test_replicas_are_gathered_for_a_while_and_told_by_directory() -> None:
    assignments = Assignments(3)
    assert assignments.step(Assigned(replica(1), A), now_ms=0) == [SetTimer(GATHER_MS)]
    assert assignments.step(Assigned(replica(2), B), now_ms=50) == []
    assignments.step(Assigned(replica(3), A), now_ms=60)
    tell = told(assignments.step(TimerFired(IMAGE), now_ms=GATHER_MS))
    assert tell == Tell(EPOCH, {A: (replica(1), replica(3)), B: (replica(2),)})
    assert assignments.pending == 3
    none = ErrorCode.NONE
    effects = assignments.step(
        Answered({replica(1): none, replica(2): none, replica(3): none}), now_ms=200
    )
    assert effects == [Known(replica(1), A), Known(replica(2), B), Known(replica(3), A)]
    assert assignments.pending == 0


def test_what_is_newer_replaces_what_was_not_sent() -> None:
    assignments = assigned(1)
    assignments.step(Assigned(replica(1), B), now_ms=10)
    assert told(assignments.step(TimerFired(IMAGE), now_ms=100)).directories == {B: (replica(1),)}


def test_nothing_is_sent_while_something_is_in_flight() -> None:
    assignments = assigned(1)
    assignments.step(TimerFired(IMAGE), now_ms=100)
    assert assignments.step(Assigned(replica(1), B), now_ms=110) == [SetTimer(210)]
    assert assignments.step(TimerFired(IMAGE), now_ms=210) == []
    effects = assignments.step(Answered({replica(1): ErrorCode.NONE}), now_ms=300)
    assert effects == [Known(replica(1), A), SetTimer(400)]
    assert told(assignments.step(TimerFired(IMAGE), now_ms=400)).directories == {B: (replica(1),)}


@pytest.mark.parametrize("errors", [{}, {replica(1): ErrorCode.NOT_LEADER_OR_FOLLOWER}])
def test_what_is_refused_or_forgotten_is_told_again(errors: dict[Replica, ErrorCode]) -> None:
    assignments = assigned(1)
    assignments.step(TimerFired(IMAGE), now_ms=100)
    assert assignments.step(Answered(errors), now_ms=150) == [SetTimer(250)]
    assert told(assignments.step(TimerFired(IMAGE), now_ms=250)).directories == {A: (replica(1),)}
    effects = assignments.step(Answered(errors), now_ms=NOISY_MS + 1)
    (note,) = [each for each in effects if isinstance(each, Note)]
    assert "lies in YWFhYWFhYWFhYWFhYWFhYQ, and is refused there" in note.text


def test_a_refusal_does_not_bring_back_where_a_replica_lay_before() -> None:
    assignments = assigned(1)
    assignments.step(TimerFired(IMAGE), now_ms=100)
    assignments.step(Assigned(replica(1), B), now_ms=110)
    assignments.step(Failed("lost"), now_ms=120)
    assert told(assignments.step(TimerFired(IMAGE), now_ms=400)).directories == {B: (replica(1),)}


def test_a_controller_that_fails_is_left_alone_for_longer_and_longer() -> None:
    assignments, now_ms, waits = assigned(1), 0, []
    notes: list[Effect] = []
    for _ in range(9):
        assignments.step(TimerFired(IMAGE), now_ms)
        effects = assignments.step(Failed("lost"), now_ms)
        notes += [each for each in effects if isinstance(each, Note)]
        (timer,) = [each for each in effects if isinstance(each, SetTimer)]
        waits.append(timer.at_ms - now_ms)
        now_ms = timer.at_ms
    assert waits == [200, 400, 800, 1_600, 3_200, 6_400, BACKOFF_MAX_MS, BACKOFF_MAX_MS, 10_000]
    assert notes == [Note("1 assignments of replicas not told: lost")]
    assignments.step(TimerFired(IMAGE), now_ms)
    assert assignments.step(Answered({}), now_ms) == [SetTimer(now_ms + GATHER_MS)]
    assert assignments.failures == 0


def test_what_is_assigned_meanwhile_waits_as_long() -> None:
    assignments = assigned(1)
    assignments.step(TimerFired(IMAGE), now_ms=100)
    assert assignments.step(Assigned(replica(2), A), now_ms=110) == [SetTimer(210)]
    effects = assignments.step(Failed("lost"), now_ms=120)
    assert effects[-1] == SetTimer(320)
    assert assignments.step(Assigned(replica(3), A), now_ms=130) == []


def test_many_are_told_in_batches_and_the_next_one_at_once() -> None:
    assignments = assigned(*range(1, BATCH_MAX + 1))
    more = range(BATCH_MAX + 1, 2 * BATCH_MAX + 11)
    for number in more:
        effects = assignments.step(Assigned(replica(number), A), now_ms=5)
        assert effects in ([], [SetTimer(5)])
    tell = told(assignments.step(TimerFired(IMAGE), now_ms=5))
    assert len(tell.directories[A]) == BATCH_MAX
    known = dict.fromkeys(tell.directories[A], ErrorCode.NONE)
    assert assignments.step(Answered(known), now_ms=9)[-1] == SetTimer(9)


def test_a_replica_that_is_not_ours_any_more_is_nobodys_business() -> None:
    assignments = assigned(0, 1, 9_000)
    assignments.step(Assigned(Replica(uuid("z"), 0), A), now_ms=0)
    assert told(assignments.step(TimerFired(IMAGE), now_ms=100)).directories == {A: (replica(1),)}
    assert assignments.pending == 1


def test_a_broker_that_is_not_registered_waits_until_it_is() -> None:
    assignments = assigned(1)
    stranger = image(2, is_registered=False)
    assert assignments.step(TimerFired(stranger), now_ms=100) == [SetTimer(200)]
    assert told(assignments.step(TimerFired(IMAGE), now_ms=200)).epoch == EPOCH


class Storm:
    """Assignments, a controller that often fails, and what it has come to know."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.assignments = Assignments(3)
        self.lies: dict[Replica, Uuid] = {}
        self.known: dict[Replica, Uuid] = {}
        self.timer_ms: int | None = None
        self.in_flight: Tell | None = None
        self.now_ms = 0

    def happen(self, event: Event) -> None:
        """Let something happen."""
        for effect in self.assignments.step(event, self.now_ms):
            match effect:
                case SetTimer(at_ms):
                    self.timer_ms = at_ms
                case Tell():
                    assert self.in_flight is None, "two requests in flight"
                    self.in_flight = effect
                case Known(each, directory):
                    self.known[each] = directory
                case Note():
                    pass

    def step(self, is_calm: bool) -> None:
        """Let one thing happen; nothing bad, if it is calm."""
        draw = self.draw
        self.now_ms += draw.randint(0, 60)
        if not is_calm and draw.random() < 0.3:
            each = replica(draw.randint(1, 6))
            self.lies[each] = draw.choice([A, B])
            self.happen(Assigned(each, self.lies[each]))
        elif self.in_flight is not None and (is_calm or draw.random() < 0.5):
            self.answer(self.in_flight, is_calm)
        elif self.timer_ms is not None:
            self.now_ms, self.timer_ms = max(self.now_ms, self.timer_ms), None
            self.happen(TimerFired(IMAGE))

    def answer(self, tell: Tell, is_calm: bool) -> None:
        """Answer what is in flight, or lose it."""
        self.in_flight = None
        if not is_calm and self.draw.random() < 0.3:
            self.happen(Failed("lost"))
            return
        codes = [ErrorCode.NONE] if is_calm else [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
        told = [each for replicas in tell.directories.values() for each in replicas]
        self.happen(Answered({each: self.draw.choice(codes) for each in told}))


def test_whatever_happens_the_controllers_learn_where_every_replica_lies() -> None:
    for seed in range(200):
        storm = Storm(seed)
        for step in range(400):
            storm.step(is_calm=step > 300)
        assert storm.known == storm.lies, f"seed {seed}"
        assert storm.assignments.pending == 0
