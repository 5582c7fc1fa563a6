"""One event at a time: what a replica does that nobody should, and what it says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import (
    AppendFetched,
    AppendRecords,
    AppendVoters,
    Ask,
    Became,
    Effect,
    HighWatermark,
    PersistElection,
    Reply,
    Truncate,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    CleanAsked,
    Event,
    Flushed,
    SnapshotInstalled,
    SnapshotTaken,
    TimerFired,
)
from barnabas.raft.messages import (
    Batches,
    BeginQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    Lent,
    Standing,
    Vote,
    VoteAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    State,
    Unattached,
)
from barnabas.raft.states import election_of as election_after
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.sim.profiles.raft.facts import key_of
from barnabas.sim.profiles.raft.walk import Double, Ledger, Walk
from barnabas.sim.specs.raft.elections import restart
from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.log import LEADER_CHANGE, PLAIN, Log, Run
from barnabas.sim.specs.raft.node import Asked as Standing_
from barnabas.sim.specs.raft.node import FetchRequest, Node, Role, Step
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.quorum import Quorum

KEYS = [ReplicaKey(node_id, Quorum.directory(1)) for node_id in (1, 2, 3)]
ONE, TWO, THREE = KEYS
PLACE = (Endpoint("CONTROLLER", "c2", 9000),)
TO = PLACE[0].address


def double(role: Role = Role.UNATTACHED, **more: Any) -> Double:  # noqa: ANN401 -- fields of a node
    """Return the port's replica 1 in epoch 2, with two records of epoch 1, both flushed."""
    log = Log(start_voters=frozenset(map(key_of, KEYS))).append(1, LEADER_CHANGE).append(1, PLAIN)
    leader = {Role.FOLLOWER: 2, Role.LEADER: 1}.get(role)
    given = {"key": key_of(ONE), "leader": leader, "log": log, "flushed": 2, "on_disk": 2}
    node = Node(role=role, epoch=2, **(given | more))
    node = replace(node, saved=node.election)
    return Double(node, node.election)


def walk(
    given: Double, event: Event, effects: Sequence[Effect], ledger: Ledger | None = None
) -> dict[str, int]:
    """Take one event and return the actions that it was."""
    actions: dict[str, int] = {}

    def note(action: str) -> None:
        actions[action] = actions.get(action, 0) + 1

    Walk("c1", given, {} if ledger is None else ledger, note).take(event, effects)
    return actions


def wrong(given: Double, event: Event, effects: Sequence[Effect]) -> str:
    """Return the signature of what is wrong with an event."""
    with pytest.raises(Violation) as caught:
        walk(given, event, effects)
    return caught.value.signature


# --- Following -------------------------------------------------------------------------------

FETCH = Fetch(ONE, 2, 2, 1, 0, 500, 1000)
QUESTION = FetchRequest(key_of(ONE), 2, 2, 1)


def follower(hwm: int = 0) -> Double:
    """Return a follower that has fetched."""
    given = double(Role.FOLLOWER, hwm=hwm, asked=frozenset({Standing_(7, QUESTION)}))
    given.asked[7] = FETCH
    return given


def answer(content: Batches | Diverges, hwm: int = -1) -> Answered:
    """Return what the leader answers."""
    return Answered(7, FetchAnswer(Standing(ErrorCode.NONE, 2, 2, PLACE), hwm, content))


def test_records_are_taken_as_their_leader_appended_them() -> None:
    sent = Batches(b"...", 4, ((1, 3), (2, 4)), (), ())
    ledger = {
        1: Log(runs=(Run(1, 1, LEADER_CHANGE), Run(3, 1, PLAIN))),
        2: Log(3, runs=(Run(5, 2, PLAIN),)),
    }
    given = follower()
    effects: list[Effect] = [AppendFetched(b"...", 4, 2), HighWatermark(2)]
    assert walk(given, answer(sent, 2), effects, ledger) == {"hear_leader": 1, "take": 1, "stay": 1}
    assert (given.node.log.end, given.node.hwm, given.node.has_fetched) == (4, 2, True)
    with pytest.raises(Violation, match="records 3 to 4 of epoch 2 are sent") as caught:
        walk(follower(), answer(sent), effects[:1], {1: ledger[1]})
    assert caught.value.signature == "TV-raft-take AS_ISSUED"


def test_an_answer_that_makes_no_sense_is_let_pass_if_the_product_lets_it_pass() -> None:
    sent = Batches(b"...", 4, ((9, 4),), (), ())
    given = follower()
    assert walk(given, answer(sent), []) == {"stay": 1}
    assert given.node.log.end == 2
    assert wrong(follower(), answer(sent), [AppendFetched(b"...", 4, 2)]) == (
        "TV-raft-take AS_ISSUED"
    )


def test_nothing_that_is_committed_is_cut() -> None:
    diverges = answer(Diverges(1, 1))
    given = follower()
    assert walk(given, diverges, [Truncate(1)]) == {"hear_leader": 1, "cut": 1, "stay": 1}
    assert given.cuts == 1
    assert wrong(follower(hwm=2), diverges, [Truncate(1)]) == "TV-raft-cut KEEPS_COMMITTED"
    assert wrong(follower(), diverges, [Truncate(0)]) == "TV-raft-cut said"


def test_a_disk_may_be_found_in_the_middle_of_a_cut() -> None:
    log = follower().node.log.append(1, PLAIN, 2)
    given = follower()
    given.node = replace(given.node, log=log, flushed=4, on_disk=4, asked=frozenset())
    fetch = replace(FETCH, offset=4)
    question = Standing_(7, replace(QUESTION, offset=4))
    given.node, given.asked[7] = given.node.ask(question), fetch
    walk(given, answer(Diverges(1, 1)), [Truncate(1)])

    def may_keep(end: int) -> bool:
        back = [restart(node, end, Role.FOLLOWER, 0) for node, _ in given.stages]
        return any(isinstance(each, Step) for each in back)

    assert [end for end in range(6) if may_keep(end)] == [1, 2, 3, 4]


def test_nobody_follows_two_leaders_in_an_epoch() -> None:
    begin = Asked(1, BeginQuorumEpoch(3, 2, PLACE, ONE))
    turned = Follower(2, 3, PLACE)
    effects: list[Effect] = [PersistElection(Election(2, 3)), Became(turned)]
    assert wrong(follower(), begin, effects) == "TV-raft-follow ONE_LEADER"
    assert walk(double(), begin, effects)["follow"] == 1
    nobody_said_so = Asked(1, BeginQuorumEpoch(2, 2, PLACE, ONE))
    assert wrong(double(), nobody_said_so, effects) == "TV-raft-lose_pre_vote RIGHT_ROLE"


def test_an_epoch_must_have_been_told() -> None:
    begin = Asked(1, BeginQuorumEpoch(3, 5, PLACE, ONE))
    effects: list[Effect] = [PersistElection(Election(6)), Became(Unattached(6))]
    assert wrong(double(), begin, effects) == "TV-raft-detach IS_TOLD"


def test_a_flush_of_a_log_that_was_cut_since_says_nothing() -> None:
    given = double(flushed=0, on_disk=0)
    given.cuts = 1
    assert walk(given, Flushed(0, 2), []) == {}
    assert walk(given, Flushed(1, 2), []) == {"flush": 1}
    assert given.node.flushed == 2


def test_a_snapshot_of_what_is_not_committed_is_wrong() -> None:
    taken = SnapshotTaken(SnapshotId(2, 1))
    assert walk(double(hwm=2), taken, []) == {"take_snapshot": 1}
    assert wrong(double(hwm=1), taken, []) == "TV-raft-take_snapshot COMMITTED"


# --- Saying ----------------------------------------------------------------------------------

VOTE = Vote(TWO, ONE, 2, SnapshotId(2, 1), pre_vote=False)
YES: Final = Reply(5, VoteAnswer(Standing(ErrorCode.NONE, 2, None, ()), granted=True))
NO = Reply(5, VoteAnswer(Standing(ErrorCode.NONE, 2, None, ()), granted=False))
VOTED: Final[list[Effect]] = [
    PersistElection(Election(2, None, TWO)),
    Became(Unattached(2, None, TWO)),
]


def test_a_vote_is_on_the_disk_before_it_is_told() -> None:
    given = double()
    assert walk(given, Asked(5, VOTE), [*VOTED, YES]) == {"grant": 2, "stay": 1}
    assert given.node.voted == key_of(TWO)
    late = [VOTED[1], YES, VOTED[0]]
    assert wrong(double(), Asked(5, VOTE), late) == "TV-raft-grant PERSISTS"
    assert wrong(double(), Asked(5, VOTE), [YES]) == "TV-raft-grant PERSISTS"


def test_a_vote_in_a_higher_epoch_is_two_actions() -> None:
    given = double(Role.FOLLOWER)
    later = replace(VOTE, epoch=4)
    voted: list[Effect] = [
        PersistElection(Election(4, None, TWO)),
        Became(Unattached(4, None, TWO)),
        Reply(5, VoteAnswer(Standing(ErrorCode.NONE, 4, None, ()), granted=True)),
    ]
    assert walk(given, Asked(5, later), voted) == {"detach": 1, "grant": 2, "stay": 1}
    assert (given.node.epoch, given.node.voted) == (4, key_of(TWO))


def test_a_vote_is_refused_with_a_reason_or_as_senseless() -> None:
    assert wrong(double(), Asked(5, VOTE), [NO]) == "TV-raft-refuse REASON_TO_REFUSE"
    voted = double(voted=key_of(THREE))
    assert walk(voted, Asked(5, VOTE), [NO]) == {"refuse": 1, "stay": 1}
    senseless = VoteAnswer(Standing(ErrorCode.INVALID_REQUEST, 2, None, ()), granted=False)
    assert walk(double(), Asked(5, VOTE), [Reply(5, senseless)]) == {}


def test_an_observer_that_misses_its_leader_may_grant_a_pre_vote() -> None:
    given = double(Role.FOLLOWER, key=STRANGER, has_fetched=True)
    assert walk(given, TimerFired(Alarm.FETCH), []) == {"miss_leader": 1}
    asked = Asked(5, replace(VOTE, voter=ReplicaKey(1, Quorum.directory(9)), pre_vote=True))
    assert walk(given, asked, yes(2, 2)) == {"grant": 1, "stay": 1}


def test_news_of_a_higher_epoch_are_heeded() -> None:
    later = replace(VOTE, epoch=4)
    assert wrong(double(voted=key_of(THREE)), Asked(5, later), []) == "TV-raft-stay NOTHING_NEW"
    given = double()
    given.asked[3] = BeginQuorumEpoch(1, 2, (), TWO)
    fenced = EpochAnswer(Standing(ErrorCode.FENCED_LEADER_EPOCH, 4, None, ()))
    assert wrong(given, Answered(3, fenced), []) == "TV-raft-stay NOTHING_NEW"
    assert walk(double(), Answered(3, fenced), []) == {}, "nobody waits for that"


def test_an_answer_tells_the_epoch_and_the_leader_that_are_known() -> None:
    lie = EpochAnswer(Standing(ErrorCode.NONE, 2, 3, ()))
    begin = Asked(5, BeginQuorumEpoch(2, 2, PLACE, ONE))
    assert wrong(follower(), begin, [Reply(5, lie)]) == "TV-raft-reply said"


def test_a_fetch_asks_for_what_follows_what_is_flushed() -> None:
    ask = Ask(8, TO, FETCH)
    fresh = Flushed(0, 2)
    assert walk(double(Role.FOLLOWER), fresh, [ask]) == {"flush": 1, "ask_fetch": 1}
    behind = double(Role.FOLLOWER, flushed=1)
    assert wrong(behind, Flushed(0, 1), [ask]) == "TV-raft-ask_fetch FETCHES_FLUSHED"
    further = replace(FETCH, offset=3)
    assert wrong(double(Role.FOLLOWER), fresh, [Ask(8, TO, further)]) == "TV-raft-ask_fetch said"


def test_what_a_leader_has_issued_stays_so_when_its_log_begins_behind_it() -> None:
    ledger: Ledger = {}
    given = leader(hwm=3)
    appended: list[Effect] = [AppendRecords(3, 2)]
    walk(given, AppendAsked(2), appended, ledger)
    assert ledger[2] == Log(2, runs=(Run(3, 2, LEADER_CHANGE), Run(5, 2, PLAIN)))
    issued = ledger[2]
    walk(given, SnapshotTaken(SnapshotId(3, 2)), [], ledger)
    walk(given, CleanAsked(SnapshotId(3, 2)), [], ledger)
    assert given.node.log.start == 3
    assert ledger[2] == issued


# --- Every guard -----------------------------------------------------------------------------


def became(state: State) -> list[Effect]:
    """Return what a change of role looks like."""
    return [PersistElection(election_after(state, ONE.id)), Became(state)]


def yes(epoch: int = 2, leader: int | None = None) -> list[Effect]:
    """Return a vote that is told."""
    return [Reply(5, VoteAnswer(Standing(ErrorCode.NONE, epoch, leader, ()), granted=True))]


def sent(content: Lent | Diverges | NeedsSnapshot) -> list[Effect]:
    """Return what a leader answers to a fetch."""
    return [Reply(5, FetchAnswer(Standing(ErrorCode.NONE, 2, 1, ()), -1, content))]


ELECTION = TimerFired(Alarm.ELECTION)
ASKED = Asked(5, VOTE)
FETCHED = Asked(5, replace(FETCH, replica=TWO))
PROSPECTIVE = Prospective(2, None, (), None)
ONE_ONLY = frozenset({ONE.id})
STRANGER = key_of(ReplicaKey(1, Quorum.directory(9)))
FEW = VoterSet.of([Voter(ONE, ())])
SNAPSHOT = SnapshotId(9, 1)
LEADER = double(Role.LEADER, epoch_start=1).node


def leader(**more: Any) -> Double:  # noqa: ANN401 -- fields of a node
    """Return the leader of epoch 2, with a record of its own."""
    log = LEADER.log.append(2, LEADER_CHANGE)
    given = {"log": log, "epoch_start": 2, "flushed": 3, "on_disk": 3}
    return double(Role.LEADER, **(given | more))


FORBIDDEN: Final[dict[Guard, tuple[Double, Event, list[Effect]]]] = {
    Guard.IS_VOTER: (double(key=STRANGER), ELECTION, became(PROSPECTIVE)),
    Guard.RIGHT_ROLE: (double(), ELECTION, became(Candidate(3, ONE))),
    Guard.PRE_VOTED: (
        double(Role.PROSPECTIVE, granted=ONE_ONLY), ELECTION, became(Candidate(3, ONE)),
    ),
    Guard.ELECTED: (double(Role.CANDIDATE, granted=ONE_ONLY), ELECTION, became(Leader(2, 2))),
    Guard.VOTE_EPOCH: (double(), Asked(5, replace(VOTE, epoch=1)), yes()),
    Guard.FREE_TO_VOTE: (double(Role.FOLLOWER), ASKED, yes(leader=2)),
    Guard.VOTES_ONCE: (double(voted=key_of(THREE)), ASKED, yes()),
    Guard.LOG_COMPLETE: (double(), Asked(5, replace(VOTE, last=SnapshotId(1, 1))), yes()),
    Guard.LEADER_IS_SILENT: (
        double(Role.FOLLOWER, has_fetched=True), Asked(5, replace(VOTE, pre_vote=True)), yes(2, 2),
    ),
    Guard.REASON_TO_REFUSE: (double(), ASKED, [NO]),
    Guard.ADDRESSEE: (double(), Asked(5, replace(VOTE, voter=THREE)), yes()),
    Guard.PERSISTS: (double(), ASKED, [VOTED[1], YES]),
    Guard.GOES_FORWARD: (double(), Asked(5, replace(VOTE, epoch=1)), became(Unattached(1))),
    Guard.ONE_LEADER: (
        follower(), Asked(1, BeginQuorumEpoch(3, 2, PLACE, ONE)), became(Follower(2, 3, PLACE)),
    ),
    Guard.IS_TOLD: (double(), ELECTION, became(Unattached(7))),
    Guard.NOTHING_NEW: (double(voted=key_of(THREE)), Asked(5, replace(VOTE, epoch=4)), []),
    Guard.LEADS: (double(Role.FOLLOWER), AppendAsked(1), [AppendRecords(2, 2)]),
    Guard.AS_ISSUED: (
        follower(), answer(Batches(b".", 3, ((2, 3),), (), ())), [AppendFetched(b".", 3, 2)],
    ),
    Guard.FETCH_EPOCH: (
        leader(), Asked(5, replace(FETCH, replica=TWO, epoch=3)), sent(Lent(2, 3, 1)),
    ),
    Guard.FETCH_POSITION: (
        leader(), Asked(5, replace(FETCH, replica=TWO, offset=3)), sent(Lent(3, 3, 1)),
    ),
    Guard.DIVERGES: (leader(), FETCHED, sent(Diverges(1, 2))),
    Guard.SNAPSHOT_THERE: (leader(), FETCHED, sent(NeedsSnapshot(SNAPSHOT))),
    Guard.HWM_WITHIN: (leader(), FETCHED, sent(Lent(2, 4, 1))),
    Guard.FETCHES_FLUSHED: (double(Role.FOLLOWER, flushed=1), ELECTION, [Ask(8, TO, FETCH)]),
    Guard.OUTSTANDING: (
        replace(follower(), node=double(Role.FOLLOWER).node), answer(Diverges(1, 1)), [Truncate(1)],
    ),
    Guard.LEADER_ANSWERS: (
        follower(),
        Answered(7, FetchAnswer(Standing(ErrorCode.NONE, 1, 2, PLACE), -1, Diverges(1, 1))),
        [Truncate(1)],
    ),
    Guard.SAME_POSITION: (
        replace(follower(), node=replace(follower().node, log=LEADER.log.append(1, PLAIN))),
        answer(Diverges(1, 1)),
        [Truncate(1)],
    ),
    Guard.CUTS_WHERE_TOLD: (follower(), answer(Diverges(1, 5)), [Truncate(2)]),
    Guard.KEEPS_COMMITTED: (follower(hwm=2), answer(Diverges(1, 1)), [Truncate(1)]),
    Guard.MAJORITY: (leader(), Flushed(0, 3), [HighWatermark(3)]),
    Guard.HWM_RISES: (leader(hwm=3), Flushed(0, 3), [HighWatermark(2)]),
    Guard.OWN_EPOCH: (
        leader(progress=frozenset({(key_of(TWO), 2)})), Flushed(0, 3), [HighWatermark(2)],
    ),
    Guard.READY: (leader(), ELECTION, [AppendVoters(3, 2, FEW)]),
    Guard.SETTLED: (
        leader(hwm=3, log=LEADER.log.append(2, PLAIN).append(2, LEADER.voters)),
        ELECTION,
        [AppendVoters(4, 2, FEW)],
    ),
    Guard.ONE_AT_A_TIME: (leader(hwm=3), ELECTION, [AppendVoters(3, 2, FEW)]),
    Guard.COMMITTED: (double(hwm=1), SnapshotTaken(SnapshotId(2, 1)), []),
    Guard.NOT_LEADING: (leader(), SnapshotInstalled(SNAPSHOT, None, 1), []),
}  # fmt: skip

# What is missed by another guard, or looks otherwise; the traces of broken machines show it.
ELSEWHERE: Final = {
    Guard.KEEPS_VOTE: "the vote of the product is not the port's",
    Guard.VOTE_COUNTS: "the vote is not counted, and PRE_VOTED or ELECTED misses it",
    Guard.ONLY_VOTERS: "MAJORITY misses it",
    Guard.BY_DIRECTORY: "MAJORITY misses it",
    Guard.OWN_FLUSHED: "MAJORITY misses it",
    Guard.COUNTS_ITSELF: "MAJORITY misses it",
    Guard.KEEPS_CLAIM: "of restarts, not of events",
    Guard.KEEPS_FLUSHED: "of restarts, not of events",
    Guard.LEADS_NO_MORE: "of restarts, not of events",
}


@pytest.mark.parametrize("guard", FORBIDDEN, ids=lambda guard: guard.name)
def test_a_guard_forbids_the_product_what_it_forbids_the_port(guard: Guard) -> None:
    given, event, effects = FORBIDDEN[guard]
    assert wrong(copy(given), event, effects).split()[1] == guard.name


def copy(given: Double) -> Double:
    """Return a double that may be changed."""
    return replace(given, asked=dict(given.asked), waiting={}, stages=[])


def test_every_guard_is_there_or_missed_elsewhere() -> None:
    assert set(FORBIDDEN) | set(ELSEWHERE) == set(Guard)
    assert not set(FORBIDDEN) & set(ELSEWHERE)
