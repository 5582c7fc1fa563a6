"""Whose turn it is: every policy is fair game, and each does what it is called."""

from collections import deque
from itertools import pairwise
from typing import Any, cast

import pytest

from barnabas.sim.kernel import Node
from barnabas.sim.policy import NAMES, policy
from barnabas.sim.tape import Tape


class Named:
    """As much of a node as a policy looks at."""

    def __init__(self, name: str) -> None:
        self.name = name


def nodes(*names: str) -> deque[Node]:
    """Return nodes that could run."""
    return deque(cast("Any", Named(name)) for name in names)


def test_there_is_a_policy_for_every_name_and_for_no_other() -> None:
    assert [policy(name, Tape(1)) is None for name in NAMES] == [True] + [False] * 4
    with pytest.raises(AssertionError, match="no policy is called 'lifo'"):
        policy("lifo", Tape(1))


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_pick_is_one_of_those_that_could_run(name: str) -> None:
    chosen = policy(name, Tape(4))
    assert chosen is not None
    picks = [chosen.pick(nodes("a", "b", "c")) for _ in range(5_000)]
    assert set(picks) <= {0, 1, 2}
    assert len(set(picks)) > 1, "over a long time nobody always goes first"


def test_priorities_hold_between_changes() -> None:
    chosen = policy("pct", Tape(4))
    assert chosen is not None
    picks = [chosen.pick(nodes("a", "b", "c")) for _ in range(200)]
    changes = sum(one != other for one, other in pairwise(picks))
    assert changes <= 3


@pytest.mark.parametrize("name", NAMES[1:])
def test_with_an_empty_tape_the_first_in_the_queue_goes_first(name: str) -> None:
    chosen = policy(name, Tape(4, {}))
    assert chosen is not None
    assert {chosen.pick(nodes("a", "b", "c")) for _ in range(100)} == {0}


def test_only_burst_lets_a_node_go_on() -> None:
    bursts = [name for name in NAMES[1:] if (chosen := policy(name, Tape(1))) and chosen.burst]
    assert bursts == ["burst"]
