"""A network of machines against naive oracles, in every kind of weather; and what it has seen.

A longer campaign: ``python -m tests.raft.trials --seeds 1000``.
"""

from collections import Counter
from functools import cache
from typing import get_args

import pytest

from barnabas.raft import effects, events, messages, states
from tests.raft.trials import Trial

SEEDS = range(1, 41)
SECONDS = 25

# Oracles that must have had something to judge; R-23 (identity by directory) is in how majorities,
# votes and fetches are counted, R-07 in R-33.
JUDGED = "01 02 03 04 05 06 08 09 11 12 13 14 16 17 18 19 20 21 22 25 27 33 34"


@cache
def campaign() -> tuple[Counter[str], Counter[str]]:
    """Run some trials once for all tests; return what they saw and what they checked."""
    seen: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    for seed in SEEDS:
        trial = Trial(seed, SECONDS)
        try:
            trial.run()
        except AssertionError as problem:
            problem.add_note(f"seed {seed}, at {trial.world.now_ms} ms")
            raise
        seen += trial.seen
        checked += trial.judge.checked
    return seen, checked


@pytest.mark.slow
def test_a_quorum_outlives_whatever_can_happen_to_it() -> None:
    _, checked = campaign()
    judged = {f"R-{number}" for number in JUDGED.split()} | {"RL-2", "RL-2 unknown"}
    missing = sorted(judged - {*checked})
    assert not missing, f"never had anything to judge: {missing}"


@pytest.mark.slow
def test_the_trials_reach_every_state_and_say_every_word() -> None:
    seen, _ = campaign()
    words = [states.State, events.Event, effects.Effect, messages.Question]
    named = {kind.__name__ for union in words for kind in get_args(union)}
    unseen = sorted(named - {*seen})
    assert not unseen, f"never reached: {unseen}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    ["power cut", "kill", "wipe", "partition", "leader cut off", "change NONE", "stopped in order"],
)
def test_the_trials_know_every_misfortune(what: str) -> None:
    seen, _ = campaign()
    assert seen[what] >= 5, f"{what}: {seen[what]} times"
