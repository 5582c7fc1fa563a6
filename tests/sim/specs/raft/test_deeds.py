"""What one replica may do in the closed model."""

import pytest

from barnabas.sim.specs.raft.deeds import (
    FREE,
    RESTARTS,
    STANDS,
    Scope,
    Try,
    may_hear,
    may_react,
    news,
    own_deeds,
    reactions,
    settled,
)
from barnabas.sim.specs.raft.guards import ALL, Guard, without
from barnabas.sim.specs.raft.log import PLAIN, Key, Log
from barnabas.sim.specs.raft.node import (
    Asked,
    FetchAnswer,
    FetchRequest,
    Leads,
    Node,
    Records,
    Role,
    Step,
    VoteAnswer,
)
from barnabas.sim.specs.raft.properties import Fact, Issued, Led, Shown, Voted
from barnabas.sim.specs.rules import Rules
from tests.sim.specs.raft.replicas import ONE, THREE, TWO, VOTERS, replica, vote

SCOPE = Scope(3, epochs=3, restarts=1)


def enabled(tries: list[Try]) -> list[str]:
    """Return the names of what is not blocked."""
    return [name for name, _, step, _ in tries if isinstance(step, Step)]


def own(node: Node, scope: Scope = SCOPE, rules: Rules = ALL) -> list[str]:
    """Return what a replica may do of itself."""
    return enabled(list(own_deeds(node, scope, rules, next_value=1)))


def about(node: Node, fact: Fact) -> list[str]:
    """Return what a replica may do about something that was said."""
    return enabled(list(reactions(node, fact, SCOPE, ALL)))


def test_a_replica_does_what_its_role_and_scope_allow() -> None:
    assert own(replica()) == ["runs", "restarts as unattached, having 1"]
    assert own(replica(epoch=3)) == ["restarts as unattached, having 1"], "no epoch is left"
    assert own(replica(Role.FOLLOWER), Scope(3, epochs=1)) == []
    assert "stands" in own(replica(), Scope(3, pre_votes=True))
    observer = replica(Role.FOLLOWER, key=Key(4, "a"))
    assert own(observer, Scope(3, 1, epochs=1, pre_votes=True)) == ["misses its leader"]
    elected = replica(Role.CANDIDATE, granted=frozenset({1, 2}))
    assert "leads" in own(elected)
    leader = replica(Role.LEADER, hwm=1)
    assert own(leader, Scope(3, resignations=1)) == ["appends 1", "resigns"]
    assert own(leader, Scope(3, 1, changes=1)) == [
        "appends 1", "removes 1", "removes 2", "removes 3", "adds 4",
    ]  # fmt: skip
    assert own(replica(hwm=1), Scope(snapshots=1, epochs=1)) == ["sums up 1"]
    assert own(replica(), Scope(epochs=1, discoveries=1)) == ["looks for the leader"]
    assert own(replica(), Scope(epochs=1, disks=True)) == ["flushes"]
    assert own(replica(), Scope(epochs=1, wipes=1)) == ["loses its disk"]


def test_a_lifted_guard_lets_more_happen() -> None:
    assert "appends 1" in own(replica(), SCOPE, without(Guard.LEADS))
    lost = "restarts as unattached, having 0"
    assert lost in own(replica(), SCOPE, without(Guard.KEEPS_FLUSHED))


def test_what_disturbs_has_its_price() -> None:
    costs = {name: cost for name, cost, _, _ in own_deeds(replica(), SCOPE, ALL, 1)}
    assert costs["runs"] == FREE
    assert costs["restarts as unattached, having 1"] == RESTARTS
    quiet = Scope(3, epochs=3, quiet=frozenset({1}))
    assert {cost for name, cost, _, _ in own_deeds(replica(), quiet, ALL, 1) if name == "runs"} == {
        STANDS
    }


def test_a_candidate_has_asked_everybody() -> None:
    (asked,) = [said for name, _, _, said in own_deeds(replica(), SCOPE, ALL, 1) if name == "runs"]
    assert [fact.voter for fact in asked if isinstance(fact, type(vote()))] == [TWO, THREE]


def test_a_replica_reacts_to_what_concerns_it() -> None:
    assert about(replica(), vote()) == ["votes for 2 in 1"]
    assert about(replica(voted=THREE), vote(2)) == ["votes for 2 in 2"]
    shorter = vote(2, rank=(0, 0))
    assert about(replica(), shorter) == ["hears that 2 runs for 2"]
    assert about(replica(), vote(pre_vote=True)) == ["would vote for 2 in 1"]
    assert about(replica(), Leads(1, 2)) == ["follows 2 in 1"]
    assert about(replica(Role.FOLLOWER), Leads(1, 2)) == []
    candidate = replica(Role.CANDIDATE, 2, asked=frozenset({Asked(0, vote(2))}))
    assert about(candidate, VoteAnswer(vote(2), 2, True)) == ["counts the vote of 1"]
    fetch = FetchRequest(TWO, 1, 0, 0)
    assert about(replica(Role.LEADER), fetch) == ["accepts the fetch of 2 at 0"]
    assert about(replica(), fetch) == []
    ahead = FetchRequest(TWO, 1, 9, 1)
    assert about(replica(Role.LEADER), ahead) == ["tells 2 to cut"]
    asked = FetchRequest(ONE, 1, 1, 1)
    follower = replica(Role.FOLLOWER, asked=frozenset({Asked(0, asked)}))
    empty = FetchAnswer(asked, 1, 1, Records(()))
    assert about(follower, empty) == ["takes up to 1, 1 committed"]
    assert about(replica(Role.FOLLOWER), empty) == []
    assert about(replica(), Voted(1, ONE, TWO)) == []


@pytest.mark.parametrize(
    ("fact", "hearers"),
    [
        (vote(), {1}),
        (VoteAnswer(vote(), 1, True), {2}),
        (FetchRequest(ONE, 1, 0, 0), {2, 3}),
        (Leads(1, 2), {1, 3}),
        (Voted(1, ONE, TWO), set()),
    ],
)
def test_messages_are_heard_by_whom_they_may_reach(fact: Fact, hearers: set[int]) -> None:
    assert {each for each in (1, 2, 3) if may_hear(each, fact)} == hearers


@pytest.mark.parametrize(
    ("node", "fact", "alive"),
    [
        (replica(), vote(), True),
        (replica(epoch=2), vote(), False),
        (replica(voted=THREE), vote(), False),
        (replica(Role.LEADER), vote(2), True),
        (replica(Role.FOLLOWER), Leads(1, 2), False),
        (replica(), Leads(1, 2), True),
        (replica(Role.LEADER), FetchRequest(TWO, 1, 0, 0), True),
        (replica(Role.FOLLOWER), FetchRequest(TWO, 1, 0, 0), False),
        (replica(), FetchRequest(TWO, 2, 0, 0), True),
        (replica(), VoteAnswer(vote(), 1, True), False),
        (replica(), Voted(1, ONE, TWO), False),
    ],
)
def test_what_nobody_can_react_to_may_be_forgotten(node: Node, fact: Fact, alive: bool) -> None:
    assert may_react(node, fact) is alive
    # What may be forgotten changes nothing; the reverse need not be: it may be too early.
    steps = [step for _, _, step, _ in reactions(node, fact, SCOPE, ALL)]
    assert alive or all(not isinstance(step, Step) or step == Step(node) for step in steps)


def test_a_replica_settles_in_what_nothing_is_gained_by_doing_later() -> None:
    follower, (asked,) = settled(replica(Role.FOLLOWER), SCOPE, ALL)
    assert asked == FetchRequest(ONE, 1, 1, 1)
    assert follower.asked
    log = Log(start_voters=VOTERS).append(1, PLAIN, 2)
    leader = replica(Role.LEADER, log=log, progress=frozenset({(TWO, 2)}))
    committed, (shown,) = settled(leader, SCOPE, ALL)
    assert (committed.hwm, shown) == (2, Shown(1, log))
    slow = Scope(3, disks=True)
    assert settled(leader, slow, ALL)[0].hwm == 1, "the rest is not on its disk"
    removed = log.append(1, frozenset({TWO, THREE}))
    progress = frozenset({(TWO, 3), (THREE, 3)})
    left, _ = settled(replica(Role.LEADER, log=removed, progress=progress), SCOPE, ALL)
    assert (left.role, left.hwm) == (Role.RESIGNED, 3)
    assert settled(replica(), SCOPE, ALL) == (replica(), [])


def test_news_are_what_has_become_true() -> None:
    before = replica(Role.CANDIDATE, 2, granted=frozenset({1, 2}))
    log = before.log.append(2, -1)
    after = replica(Role.LEADER, 2, log=log)
    assert list(news(before, after, FREE)) == [Leads(2, 1), Led(2, ONE, log), Issued(2, 1, -1)]
    assert list(news(replica(), before, FREE)) == [Voted(2, ONE, ONE)]
    knows = replica(Role.FOLLOWER, hwm=1)
    assert list(news(replica(Role.FOLLOWER), knows, FREE)) == [Shown(1, knows.log)]
    assert list(news(replica(Role.FOLLOWER), knows, RESTARTS)) == []
