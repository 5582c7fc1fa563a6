"""The conversations of a quorum, as text: read them in ``tests/transcripts/raft``."""

from pathlib import Path

import pytest

from tests.raft.stage import Stage
from tests.transcript import play

STORIES = sorted((Path(__file__).parents[1] / "transcripts" / "raft").glob("*.txt"))


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_a_story_is_told_as_it_was(story: Path, pytestconfig: pytest.Config) -> None:
    stages: list[Stage] = []

    def say(command: str) -> list[str]:
        verb, *words = command.split()
        if verb == "quorum":
            voters = tuple(int(word) for word in words if word.isdigit())
            led_by = voters and "led" in words and int(words[-1])
            voters = voters[:-1] if led_by else voters
            stages[:] = [Stage(voters, static="static" in words)]
            if led_by:
                stages[0].led_by(led_by)
            return []
        return stages[0].command(command)

    play(story, say, rewrite=pytestconfig.getoption("--rewrite"))


def test_every_story_of_the_seed_is_there() -> None:
    told = {path.stem for path in STORIES}
    assert told >= {
        "begin_quorum_epoch",
        "pre_vote",
        "reconfiguration",
        "rejection",
        "return_of_the_old_leader",
        "snapshot_for_a_new_node",
        "snapshot_for_a_restarted_node",
        "truncation",
        "vote",
    }
