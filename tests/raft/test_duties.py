"""What a role keeps in mind: votes."""

from itertools import product

from barnabas.raft.duties import Ballot, Farewell, Following
from tests.raft.kit import key, voters


def test_a_ballot_begins_with_the_candidates_own_vote() -> None:
    assert Ballot.of(key(1)).is_won(voters(1))
    assert not Ballot.of(key(1)).is_won(voters(1, 2))
    assert Ballot.of(key(1)).counted(1)
    assert not Ballot.of(key(1)).counted(2)


def test_a_ballot_is_won_by_more_than_half_and_lost_when_they_cannot_be_had() -> None:
    for size in range(1, 8):
        three = voters(*range(size))
        for answers in product("yn-", repeat=size - 1):
            said = dict(enumerate(answers, 1))
            yes = [n for n, answer in said.items() if answer == "y"]
            no = [n for n, answer in said.items() if answer == "n"]
            ballot = Ballot({0: None} | dict.fromkeys(yes), dict.fromkeys(no))
            assert ballot.is_won(three) == (2 * (1 + len(yes)) > size)
            # Even if all that have not answered say yes.
            assert ballot.is_lost(three) == (2 * (size - len(no)) <= size)
            assert not (ballot.is_won(three) and ballot.is_lost(three))


def test_who_begins_to_follow_or_to_leave_knows_nothing_yet() -> None:
    assert not Following().has_fetched
    assert Following().receiving is None
    assert not Farewell().told
