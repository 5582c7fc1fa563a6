"""What a replica may become: every pair of roles, by the table and by its guards."""

from itertools import product

import pytest

from barnabas.raft.states import (
    NEXT,
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
    check,
    election_of,
    endpoints_of,
    leader_of,
    voted_in,
)
from tests.raft.kit import at, key
from tests.raft.oracles import RISES, STAYS, TABLE


def every_state(epoch: int) -> list[State]:
    """Return each role in some shapes: with and without a leader, with and without a vote."""
    found: list[State] = [Candidate(epoch, key(1)), Leader(epoch, 3), Resigned(epoch)]
    for voted in (None, key(1), key(3)):
        found.append(Follower(epoch, 2, at(2), voted))
        for leader in (None, 2):
            found.append(Unattached(epoch, leader, voted))
            found.append(Prospective(epoch, leader, () if leader is None else at(2), voted))
    return found


@pytest.mark.parametrize("rise", [-1, 0, 1])
def test_only_what_the_book_allows_passes(rise: int) -> None:
    """Invariants, table 1.3, R-03 and R-04, for all pairs of states."""
    allowed = 0
    for before, after in product(every_state(5), every_state(5 + rise)):
        kind = STAYS if rise == 0 else RISES
        legal = rise >= 0 and kind in TABLE.get((type(before), type(after)), ())
        if legal and rise == 0:
            led, leads = leader_of(before, 1), leader_of(after, 1)
            vote, votes = voted_in(before), voted_in(after)
            keeps_vote = vote in (None, votes) or isinstance(after, Leader | Resigned)
            legal = led in (None, leads) and keeps_vote
            if type(before) is type(after) is Unattached:
                legal = legal and vote != votes
        if legal:
            check(before, after, 1)
            allowed += 1
        else:
            with pytest.raises(AssertionError):
                check(before, after, 1)
    assert (allowed > 0) == (rise >= 0)


def test_the_tables_of_code_and_book_name_the_same_pairs() -> None:
    assert {(a, b) for a, after in NEXT.items() for b in after} == {*TABLE}


@pytest.mark.parametrize(
    ("state", "election"),
    [
        (Unattached(3), Election(3)),
        (Unattached(3, 2, key(3)), Election(3, 2, key(3))),
        (Follower(3, 2, at(2), key(3)), Election(3, 2, key(3))),
        (Prospective(3, 2, at(2), key(3)), Election(3, 2, key(3))),
        (Candidate(3, key(1)), Election(3, None, key(1))),
        (Leader(3, 9), Election(3, 1)),
        (Resigned(3), Election(3, 1)),
    ],
)
def test_what_must_not_be_forgotten_is_epoch_leader_and_vote(
    state: State, election: Election
) -> None:
    assert election_of(state, self_id=1) == election


def test_only_who_follows_or_has_lost_a_leader_knows_where_it_is() -> None:
    knowing = [state for state in every_state(1) if endpoints_of(state)]
    assert {type(state) for state in knowing} == {Follower, Prospective}
