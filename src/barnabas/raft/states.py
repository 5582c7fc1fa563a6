"""What a replica is to its quorum, and what it may become.

                 ┌───────────── higher epoch, from anywhere ─────────────┐
                 ▼                                                       │
    ┌─▶ Unattached ──timeout──▶ Prospective ──majority──▶ Candidate ──majority──▶ Leader
    │       │  ▲                  │  ▲   ▲                    │                     │
    │       │  └──── lost ────────┘  │   └──────timeout───────┘                resigns│
    │       ▼                        │                                              ▼
    │    Follower ──fetch timeout────┘                                          Resigned
    └───────────────────────── timeout, epoch + 1 ──────────────────────────────────┘

A Prospective asks whether it would be elected (pre-vote, KIP-996) before it raises the epoch, so
that a replica that cannot win disturbs nobody.  A Resigned has led this epoch, takes no record and
grants no vote in it; a leader that restarts begins there, since its unflushed records may be gone
and their offsets must not be given out twice (R-33).

Votes are keyed by epoch: whatever keeps the epoch keeps the vote (R-04).  A Leader and a Resigned
need not remember theirs, for they never grant one.
"""

from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.raft.voters import Endpoints, ReplicaKey


@value
class Unattached:
    """Knows of no leader that it could fetch from, at most of one's name."""

    epoch: int
    leader_id: int | None = None
    voted: ReplicaKey | None = None


@value
class Follower:
    """Fetches from a leader."""

    epoch: int
    leader_id: int
    endpoints: Endpoints
    voted: ReplicaKey | None = None


@value
class Prospective:
    """Asks whether it would be elected; remembers the leader it has lost."""

    epoch: int
    leader_id: int | None
    endpoints: Endpoints
    voted: ReplicaKey | None


@value
class Candidate:
    """Has voted for itself, and asks the others."""

    epoch: int
    voted: ReplicaKey


@value
class Leader:
    """Decides what comes next; its epoch begins at an offset of its own."""

    epoch: int
    start_offset: int


@value
class Resigned:
    """Has led this epoch."""

    epoch: int


@value
class Election:
    """What a replica must not forget of its last epoch: the content of ``quorum-state``."""

    epoch: int
    leader_id: int | None = None
    voted: ReplicaKey | None = None


State: TypeAlias = Unattached | Follower | Prospective | Candidate | Leader | Resigned

NEXT: Final[dict[type[State], frozenset[type[State]]]] = {
    Unattached: frozenset({Unattached, Prospective, Follower}),
    Follower: frozenset({Unattached, Follower, Prospective}),
    Prospective: frozenset({Unattached, Follower, Prospective, Candidate}),
    Candidate: frozenset({Unattached, Follower, Prospective, Leader}),
    Leader: frozenset({Unattached, Follower, Resigned}),
    Resigned: frozenset({Unattached, Follower}),
}

# The transitions that need a higher epoch; so do those to Unattached, unless from Prospective or
# because of a vote.
RISING: Final = frozenset(
    {
        (Prospective, Candidate),
        (Leader, Unattached),
        (Leader, Follower),
        (Resigned, Unattached),
        (Resigned, Follower),
    }
)


def election_of(state: State, self_id: int) -> Election:
    """Return what must not be forgotten of a state."""
    return Election(state.epoch, leader_of(state, self_id), voted_in(state))


def leader_of(state: State, self_id: int) -> int | None:
    """Return the leader that a state knows of; its name is told to whoever asks."""
    match state:
        case Unattached(leader_id=leader) | Prospective(leader_id=leader):
            return leader
        case Follower(leader_id=leader):
            return leader
        case Leader() | Resigned():
            return self_id
        case Candidate():
            return None


def endpoints_of(state: State) -> Endpoints:
    """Return where the leader is reached, as far as a state of somebody else's leading knows."""
    match state:
        case Follower(endpoints=endpoints) | Prospective(endpoints=endpoints):
            return endpoints
        case _:
            return ()


def voted_in(state: State) -> ReplicaKey | None:
    """Return whom a state has voted for in its epoch."""
    match state:
        case Unattached(voted=voted) | Follower(voted=voted) | Prospective(voted=voted):
            return voted
        case Candidate(voted=voted):
            return voted
        case Leader() | Resigned():
            return None


def check(before: State, after: State) -> None:
    """Assert that a replica may become what it is about to become (R-03, R-04, R-05)."""
    kinds = type(before), type(after)
    assert kinds[1] in NEXT[kinds[0]], f"{before} may not become {after}"
    assert after.epoch >= before.epoch, f"{before} may not go back to {after}"
    if kinds in RISING:
        assert after.epoch > before.epoch, f"{before} may not become {after} in the same epoch"
    if after.epoch > before.epoch:
        return
    if not isinstance(after, Leader | Resigned):
        vote = voted_in(before)
        assert vote in (None, voted_in(after)), f"{before} may not forget its vote as {after}"
    match before, after:
        case Follower(), Unattached():
            raise AssertionError(f"{before} may not become {after} in the same epoch")
        case Follower(), Follower():
            kept = before.leader_id == after.leader_id
            assert kept, f"two leaders in one epoch: {before}, {after}"
        case Candidate(), Unattached():
            raise AssertionError(f"{before} may not become {after} in the same epoch")
        case _:
            pass
