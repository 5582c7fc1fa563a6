"""The port taken along a run: what may happen, and what is told when it may not."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.applying import Kind
from barnabas.sim.specs.replication.cluster import (
    NONE,
    AlterRequest,
    Diverging,
    Partition,
    Refusal,
    Role,
    Unserved,
)
from barnabas.sim.specs.replication.guards import BUILT, Guard
from barnabas.sim.specs.replication.properties import VALID_FETCHER
from barnabas.sim.specs.replication.trace import (
    BrokerCrash,
    BrokerHeartbeat,
    BrokerRegistered,
    BrokerStart,
    BrokerStop,
    CtlAlter,
    CtlFailover,
    CtlFence,
    CtlReassign,
    CtlRegister,
    CtlUnfence,
    Event,
    Facts,
    FetchApply,
    FetchLost,
    FetchSend,
    FetchServe,
    PartAlterDone,
    PartAlterSend,
    PartAppend,
    PartApply,
    facts_of,
)
from barnabas.sim.specs.replication.walk import Mismatch, Walk
from tests.sim.specs.replication.clusters import THREE, broker, controller, ids

ALL = ids(1, 2, 3)
FIRST = Partition(ALL, ALL, 1, 1, 1)
SMALLER = Partition(ALL, ids(1, 2), 1, 1, 2)
WHOLE = replace(SMALLER, isr=ALL, partition_epoch=3)


def walk() -> Walk:
    """Return the port beside a cluster whose metadata log is 10 long."""
    return Walk(controller(BUILT), [broker(each, BUILT) for each in THREE.ids], 10)


def leads(end: int, hwm: int, partition: Partition = FIRST, **more: frozenset[int]) -> Facts:
    """Return how a leader of epoch 1 shows itself."""
    isr = partition.isr
    maximal = more.get("maximal", isr)
    epoch = partition.partition_epoch
    return Facts(Role.LEADER, 1, epoch, isr, maximal, end, 1 if end else 0, hwm)


def follows(end: int, hwm: int, partition: Partition = FIRST) -> Facts:
    """Return how a follower in epoch 1 shows itself."""
    return replace(leads(end, hwm, partition), role=Role.FOLLOWER)


def fetches(
    number: int, follower: int, at: int, count: int, hwm: int, leader: Facts
) -> list[Event]:
    """Return a fetch from end to end; who fetches has ``hwm`` after it."""
    partition = replace(FIRST, isr=leader.isr, partition_epoch=leader.partition_epoch)
    return [
        FetchSend(follower, 1, number, 1, at, 1 if at else 0),
        FetchServe(1, number, count, leader),
        FetchApply(follower, number, follows(at + count, hwm, partition)),
    ]


# What leader 1 proposes when 3, which has lost its log, has caught up in its new life.
PROPOSAL = AlterRequest(1, ALL, ((1, 1), (2, 0), (3, 15)), 1, 1, 2)

STORY: list[Event] = [
    BrokerHeartbeat(2),
    PartAppend(1, 3, leads(3, 0)),
    *fetches(1, 2, 0, 3, 0, leads(3, 0)),
    *fetches(2, 3, 0, 2, 0, leads(3, 0)),
    *fetches(3, 3, 2, 1, 0, leads(3, 0)),
    *fetches(4, 2, 3, 0, 0, leads(3, 0)),
    *fetches(5, 3, 3, 0, 3, leads(3, 3)),
    # 14: 3 loses power; the controller notices later, after another of its nodes has taken over.
    BrokerCrash(3, power=True),
    CtlFailover(2),
    CtlFence(3, 12, SMALLER),
    PartApply(1, 12, Kind.REMAIN_LEADER, leads(3, 3, SMALLER)),
    PartApply(2, 12, Kind.REMAIN_FOLLOWER, follows(3, 0, SMALLER)),
    # 23: 3 comes back with one record of three.
    BrokerStart(3, 4, 1, 0),
    CtlRegister(3, 4, 0, 15, 15, SMALLER),
    BrokerRegistered(3, 4, 15),
    PartApply(1, 15, Kind.NOTHING, leads(3, 3, SMALLER)),
    PartApply(1, 15, Kind.NOTHING, leads(3, 3, SMALLER)),
    PartApply(3, 15, Kind.BECOME_FOLLOWER, follows(1, 0, SMALLER)),
    *fetches(6, 3, 1, 2, 3, leads(3, 3, SMALLER)),
    FetchSend(3, 1, 7, 1, 3, 1),
    FetchServe(1, 7, 0, leads(3, 3, SMALLER)),
    FetchLost(3, 7),
    # 35: it may join again, and is asked for twice, for the answer was lost.
    CtlUnfence(3, 15, 15, 17, SMALLER),
    PartApply(1, 17, Kind.NOTHING, leads(3, 3, SMALLER)),
    PartAlterSend(1, PROPOSAL),
    CtlAlter(PROPOSAL, 19, WHOLE),
    PartAlterSend(1, PROPOSAL),
    CtlAlter(PROPOSAL, 19, Refusal.FENCED),
    PartAlterDone(1, PROPOSAL, Refusal.FENCED, leads(3, 3, SMALLER, maximal=ALL)),
    PartApply(1, 19, Kind.REMAIN_LEADER, leads(3, 3, WHOLE)),
    PartAppend(1, 1, leads(4, 3, WHOLE)),
]


def played(until: int) -> Walk:
    """Return the port after the beginning of the story."""
    along = walk()
    for event in STORY[:until]:
        assert along.take(event) is None
    return along


def test_what_may_happen_is_taken_along() -> None:
    along = played(len(STORY))
    assert along.actions == {
        "stutter": 3, "append": 2, "ask": 7, "serve": 7, "take": 6, "crash": 1, "fence": 1,
        "apply": 6, "start": 1, "register": 1, "registered": 1, "disconnect": 1, "unfence": 1,
        "propose": 1, "alter": 2, "repeat": 1, "answered": 1,
    }  # fmt: skip
    assert along.history.hwm == 3
    assert facts_of(along.brokers[3]) == follows(3, 3, SMALLER)


def first(event: type[Event], nth: int = 0) -> int:
    """Return where the nth event of a kind is in the story."""
    return [at for at, each in enumerate(STORY) if isinstance(each, event)][nth]


CRASH, FENCE, START = first(BrokerCrash), first(CtlFence), first(BrokerStart)
REGISTER, REGISTERED, UNFENCE = first(CtlRegister), first(BrokerRegistered), first(CtlUnfence)
PROPOSED, ALTERED = first(PartAlterSend), first(CtlAlter)


@pytest.mark.parametrize(
    ("until", "event", "action", "place"),
    [
        # A leader, its followers, its high watermark.
        (1, PartAppend(2, 1, follows(1, 0)), "append", Guard.LEADS.name),
        (1, PartAppend(1, 1, leads(2, 0)), "append", "state"),
        (1, PartAppend(1, 1, leads(1, 1)), "append", Guard.MAXIMAL_HAS_IT.name),
        (CRASH, PartAppend(1, 1, leads(4, 2)), "append", Guard.HWM_RISES.name),
        (2, FetchSend(2, 3, 1, 1, 0, 0), "ask", Guard.FOLLOWS.name),
        (2, FetchSend(2, 1, 1, 1, 1, 1), "ask", "said"),
        (3, FetchSend(2, 1, 2, 1, 0, 0), "ask", Guard.ONE_OUTSTANDING.name),
        (3, FetchServe(1, 9, 3, leads(3, 0)), "serve", "said"),
        (3, FetchServe(1, 1, 4, leads(3, 0)), "serve", "said"),
        (3, FetchServe(1, 1, Diverging(0, 0), leads(3, 0)), "serve", "said"),
        (3, FetchServe(1, 1, Unserved.NO_LEADER, leads(3, 0)), "serve", "said"),
        (3, FetchServe(1, 1, 3, leads(3, 3)), "serve", Guard.MAXIMAL_HAS_IT.name),
        (4, FetchApply(2, 1, follows(3, 3)), "take", "state"),
        (5, FetchApply(2, 1, follows(3, 0)), "take", "said"),
        # Lives.
        (CRASH, BrokerStart(3, 4, 3, 3), "start", Guard.IS_DOWN.name),
        (CRASH + 1, BrokerStop(3), "stop", Guard.IS_UP.name),
        (START, BrokerStart(3, 4, 4, 0), "start", "state"),
        (START, BrokerStart(3, 4, 1, 3), "start", "state"),
        (FENCE, CtlFence(3, 12, FIRST), "fence", "said"),
        (FENCE, CtlFence(3, 12, replace(SMALLER, leader_epoch=2)), "fence", "said"),
        (FENCE + 1, CtlFence(3, 13, SMALLER), "fence", Guard.IS_UNFENCED.name),
        (REGISTER, CtlRegister(3, 4, 3, 15, 15, SMALLER), "register", "said"),
        (REGISTER, CtlRegister(3, 4, 0, 3, 15, SMALLER), "register", Guard.NEW_EPOCH.name),
        (REGISTERED, BrokerRegistered(3, 4, 16), "registered", "said"),
        (REGISTER, BrokerRegistered(3, 4, 15), "registered", "said"),
        (
            REGISTERED + 1,
            PartApply(3, 12, Kind.BECOME_FOLLOWER, follows(1, 0, SMALLER)),
            "apply",
            Guard.SEES_ITSELF.name,
        ),
        (
            REGISTERED + 1,
            PartApply(3, 15, Kind.WAIT, follows(1, 0, SMALLER)),
            "apply",
            "said",
        ),
        (
            REGISTERED + 2,
            PartApply(1, 12, Kind.NOTHING, leads(3, 3, SMALLER)),
            "apply",
            Guard.GOES_ON.name,
        ),
        (UNFENCE, CtlUnfence(3, 3, 15, 17, SMALLER), "unfence", Guard.THIS_LIFE.name),
        (UNFENCE, CtlUnfence(3, 15, 12, 17, SMALLER), "unfence", Guard.SEES_ITSELF.name),
        (UNFENCE + 1, CtlUnfence(3, 15, 15, 18, SMALLER), "unfence", Guard.IS_FENCED.name),
        # The ISR.
        (UNFENCE, PartAlterSend(1, PROPOSAL), "propose", Guard.IS_ELIGIBLE.name),
        (
            PROPOSED,
            PartAlterSend(1, replace(PROPOSAL, epochs=((1, 1), (2, 0), (3, 3)))),
            "propose",
            "said",
        ),
        (PROPOSED, PartAlterSend(1, replace(PROPOSAL, isr=ids(1, 2))), "propose", "IS_CHANGE"),
        (PROPOSED, PartAlterSend(2, PROPOSAL), "propose", Guard.LEADS.name),
        (PROPOSED, CtlAlter(PROPOSAL, 19, WHOLE), "alter", "said"),
        (ALTERED, CtlAlter(PROPOSAL, 19, Refusal.INELIGIBLE), "alter", "said"),
        (ALTERED, CtlAlter(PROPOSAL, 19, replace(WHOLE, leader_epoch=2)), "alter", "said"),
        (
            ALTERED,
            PartAlterDone(1, PROPOSAL, WHOLE, leads(3, 3, WHOLE)),
            "answered",
            "said",
        ),
        (
            ALTERED + 1,
            PartAlterDone(1, PROPOSAL, WHOLE, leads(3, 2, WHOLE)),
            "answered",
            Guard.HWM_RISES.name,
        ),
        # Reassignment.
        (1, CtlReassign(ids(), ids(), 11, FIRST), "reassign", Guard.POSSIBLE_TARGET.name),
        (1, CtlReassign(ids(), ids(3), 11, SMALLER), "reassign", "said"),
    ],
)
def test_the_first_step_that_may_not_be_is_told(
    until: int, event: Event, action: str, place: str
) -> None:
    found = played(until).take(event)
    assert isinstance(found, Mismatch)
    assert (found.action, found.place) == (action, place)
    assert str(found).startswith(f"TV-replication-{action} {place}: ")


def test_a_life_is_registered_only_when_the_one_before_is_over() -> None:
    along = played(CRASH + 1)
    assert along.take(BrokerStart(3, 4, 3, 3)) is None
    found = along.take(CtlRegister(3, 4, 0, 15, 15, FIRST))
    assert isinstance(found, Mismatch)
    assert found.place == Guard.SESSION_OVER.name


def test_a_clean_stop_is_marked_with_the_epoch_that_ends() -> None:
    along = played(CRASH)
    assert along.take(BrokerStop(3)) is None
    assert along.take(CtlFence(3, 12, SMALLER)) is None
    assert along.take(BrokerStart(3, 4, 3, 3)) is None
    assert along.take(CtlRegister(3, 4, 3, 15, 15, SMALLER)) is None


def test_a_replica_that_leaves_deletes_its_log_and_may_come_back() -> None:
    along = played(CRASH)
    fewer = Partition(ids(1, 2), ids(1, 2), 1, 2, 2)
    gone = Facts(Role.NONE, 0, 0, ids(), ids(), 0, 0, 0)
    again = replace(fewer, replicas=ALL, adding=ids(3), partition_epoch=3)
    for event in (
        CtlReassign(ids(), ids(3), 12, fewer),
        PartApply(3, 12, Kind.DELETE, gone),
        CtlReassign(ids(3), ids(), 13, again),
        # Both at once: it leads anew, and knows nothing of 3.
        PartApply(
            1, 13, Kind.BECOME_LEADER,
            Facts(Role.LEADER, 2, 3, ids(1, 2), ids(1, 2), 3, 1, 3),
        ),
    ):  # fmt: skip
        assert along.take(event) is None
    request = AlterRequest(1, ALL, ((1, 1), (2, 0), (3, 3)), 1, 2, 3)
    found = along.take(PartAlterSend(1, request))
    assert isinstance(found, Mismatch)
    assert found.place == Guard.HAS_FETCHED.name


def test_a_fetch_of_a_life_that_is_over_is_not_heeded() -> None:
    late = next(at for at, event in enumerate(STORY) if event == FetchSend(3, 1, 2, 1, 0, 0)) + 1
    along = played(late)
    serves = FetchServe(1, 2, Unserved.OLD_LIFE, leads(3, 0, SMALLER))
    for event in (
        BrokerCrash(3),
        CtlFence(3, 12, SMALLER),
        BrokerStart(3, 4, 0, 0),
        CtlRegister(3, 4, 0, 15, 15, SMALLER),
        PartApply(1, 15, Kind.REMAIN_LEADER, leads(3, 0, SMALLER)),
        serves,
    ):
        assert along.take(event) is None, event
    found = along.take(FetchApply(3, 2, follows(0, 0)))
    assert isinstance(found, Mismatch)
    assert found.place == "said", "nobody gets the answer"


def of_three(
    isr: tuple[int, ...], elr: tuple[int, ...], leader: int, leader_epoch: int, epoch: int
) -> Partition:
    """Return a partition of three; 1 is remembered where nobody leads."""
    last = NONE if leader else ids(1)
    return Partition(ALL, ids(*isr), leader, leader_epoch, epoch, ids(*elr), last)


def test_who_led_last_leads_again_with_what_it_has() -> None:
    along = played(CRASH)
    for event in (
        CtlFence(2, 12, of_three((1, 3), (), 1, 1, 2)),
        CtlFence(3, 13, of_three((1,), (3,), 1, 1, 3)),
        BrokerCrash(1, power=True),
        CtlFence(1, 14, of_three((), (1, 3), 0, 2, 4)),
        BrokerCrash(3, power=True),
        BrokerStart(3, 4, 0, 0),
        CtlRegister(3, 4, 0, 15, 15, of_three((), (1,), 0, 2, 5)),
        BrokerStart(1, 5, 1, 0),
        CtlRegister(1, 5, 0, 16, 16, of_three((), (), 0, 2, 6)),
        BrokerRegistered(1, 5, 16),
        PartApply(1, 16, Kind.WAIT, Facts(Role.NONE, 2, 6, ids(), ids(), 1, 1, 0)),
        CtlUnfence(1, 16, 16, 17, of_three((1,), (), 1, 3, 7)),
        PartApply(1, 17, Kind.BECOME_LEADER, Facts(Role.LEADER, 3, 7, ids(1), ids(1), 1, 1, 0)),
    ):
        assert along.take(event) is None, event
    assert along.history.hwm == 1, "the rest is lost, and was said to be"


def test_a_property_that_falls_is_told_although_nothing_is_blocked() -> None:
    along = played(CRASH)
    along.brokers[2] = replace(along.brokers[2], log=along.brokers[2].log.cut(1))
    found = along.take(FetchSend(2, 1, 9, 1, 3, 1))
    assert isinstance(found, Mismatch)
    assert found.place == VALID_FETCHER
