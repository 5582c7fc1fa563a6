"""What clients know of their writes."""

import pytest

from barnabas.sim.profiles.raft.history import Written, compare
from barnabas.sim.world import Violation

COMMITTED = {"a": 3, "b": 3, "c": 4}


def test_what_is_so_is_left_in_peace() -> None:
    told = [Written(("a", "b"), end="done"), Written(("x",), end="refused")]
    compare([*told, Written(("c",), end="unknown"), Written(("y",), end="waits")], COMMITTED)


@pytest.mark.parametrize(
    "written",
    [
        Written(("x",), end="done"),
        Written(("a", "c"), end="done"),
        Written(("a", "x"), end="done"),
        Written(("a",), end="refused"),
    ],
)
def test_what_is_not_so_is_noticed(written: Written) -> None:
    with pytest.raises(Violation, match="C-04"):
        compare([written], COMMITTED)
