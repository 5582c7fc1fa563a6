"""What a replica is to its quorum, and what it may become.

    Unattached ──timeout──▶ Prospective ──majority──▶ Candidate ──majority──▶ Leader
      ▲ ▲  │                  │ ▲   ▲                    │                      │
      │ │  └── a leader ──┐   │ │   └──────timeout───────┘                      │ resigns
      │ └───── lost ──────┼───┤ │                                               ▼
      │                   ▼   ▼ │ fetch timeout                             Resigned
      │                 Follower┘                                               │
      └─────────────────────────── timeout, epoch + 1 ──────────────────────────┘

A higher epoch makes any of them Unattached, or Follower of whoever leads it; a leader of its own
epoch makes a Follower of all but the one that leads.

A Prospective asks whether it would be elected (pre-vote, KIP-996) before it raises the epoch, so
that a replica that cannot win disturbs nobody.  A Resigned has led this epoch, takes no record and
grants no vote in it; a leader that restarts begins there, since its unflushed records may be gone
and their offsets must not be given out twice (R-33).

Votes are keyed by epoch: whatever keeps the epoch keeps the vote (R-04).  A Leader and a Resigned
need not remember theirs, for they never grant one.

A state is all that others may be told and all that outlives the role; what a role keeps in mind
meanwhile is in ``duties`` and ``progress``, and is dropped with it.
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

# The transitions that need a higher epoch, and those that need the same.  Unattached may become
# Unattached in its epoch by a vote alone, Prospective if nobody leads.
RISING: Final = frozenset(
    {
        (Follower, Unattached),
        (Prospective, Candidate),
        (Candidate, Unattached),
        (Leader, Unattached),
        (Leader, Follower),
        (Resigned, Unattached),
        (Resigned, Follower),
    }
)
STAYING: Final = frozenset(
    {
        (Unattached, Prospective),
        (Follower, Prospective),
        (Prospective, Prospective),
        (Candidate, Prospective),
        (Candidate, Leader),
        (Leader, Resigned),
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


def check(before: State, after: State, self_id: int) -> None:
    """Assert that a replica may become what it is about to become (R-01, R-03, R-04, R-05)."""
    kinds = type(before), type(after)
    assert kinds[1] in NEXT[kinds[0]], f"{before} may not become {after}"
    assert after.epoch >= before.epoch, f"{before} may not go back to {after}"
    if after.epoch > before.epoch:
        assert kinds not in STAYING, f"{before} may not become {after} in another epoch"
        return
    assert kinds not in RISING, f"{before} may not become {after} in the same epoch"
    leader = leader_of(before, self_id)
    assert leader in (None, leader_of(after, self_id)), f"two leaders: {before}, {after}"
    if isinstance(after, Leader | Resigned):
        return
    vote = voted_in(before)
    assert vote in (None, voted_in(after)), f"{before} may not forget its vote as {after}"
    if kinds == (Unattached, Unattached):
        assert vote != voted_in(after), f"{before} has no reason to become {after}"
