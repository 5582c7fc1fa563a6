"""Conversations of a broker with its controllers: read them in ``tests/transcripts/broker``.

5 registered 7           at 5 ms: the controller answers a registration
6 answered caught-up     … a heartbeat; also: fenced, unfenced, let-go
7 metadata 12 unfenced   everybody here was told up to offset 12, where we are registered so
"""

from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.broker import lifecycle as lc
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from tests.broker.kit import CONFIG, OURS, A, B, applied, registered, uuid
from tests.transcript import play

STORIES = sorted((Path(__file__).parents[1] / "transcripts" / "broker").glob("*.txt"))


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_a_story_is_told_as_it_was(story: Path, pytestconfig: pytest.Config) -> None:
    broker = lc.Lifecycle(CONFIG, OURS)

    def say(command: str) -> list[str]:
        now, verb, *words = command.split()
        return [f"  {told(each)}" for each in broker.step(event(broker, verb, words), int(now))]

    play(story, say, rewrite=pytestconfig.getoption("--rewrite"))


def test_the_stories_of_the_issue_are_there() -> None:
    wanted = {"a_life", "answer_lost", "bounce", "directory_lost", "failover", "same_id_twice"}
    assert {path.stem for path in STORIES} >= wanted


def event(broker: lc.Lifecycle, verb: str, words: list[str]) -> lc.Event:
    """Return what a command says has happened."""
    match verb, words:
        case "start", []:
            return lc.Started()
        case "registered", [epoch]:
            return lc.GivenEpoch(int(epoch))
        case "answered", _:
            caught_up = "caught-up" in words or "unfenced" in words or "let-go" in words
            return lc.HeartbeatTaken(caught_up, "unfenced" not in words, "let-go" in words)
        case "denied", [name]:
            return lc.Denied(ErrorCode[name])
        case "lost", []:
            return lc.Unanswered("lost")
        case "timer", []:
            return lc.TimerFired()
        case "ready", []:
            return lc.StorageReady()
        case "failed", [letter]:
            return lc.DirectoryFailed(uuid(letter))
        case "drawn", [letter]:
            return lc.IncarnationDrawn(uuid(letter))
        case "stop", []:
            return lc.StopAsked()
        case "metadata", [offset, "nobody"]:
            return replace(applied(int(offset)), registration=None)
        case "metadata", [offset, how, *rest]:
            names: dict[str, str] = dict(word.split("=") for word in rest)
            told_epoch = int(names["epoch"]) if "epoch" in names else broker.last_epoch or 0
            who = uuid(names["by"]) if "by" in names else OURS
            return applied(int(offset), registered(told_epoch, who, how == "fenced"))
        case _:
            raise AssertionError(f"no such command: {verb} {words}")


def told(effect: lc.Effect) -> str:
    """Return an effect in words."""
    match effect:
        case lc.Register(incarnation_id, previous, directories):
            who = letter(incarnation_id)
            return f"→ register {who}, last epoch {previous}, {listed(directories)}"
        case lc.Heartbeat():
            wants = [
                *(["a fence"] if effect.want_fence else []),
                *(["to go"] if effect.want_shut_down else []),
            ]
            offline = f", offline {listed(effect.offline)}" if effect.offline else ""
            wish = f" wants {' and '.join(wants)}" if wants else ""
            return f"→ heartbeat of {effect.epoch} at {effect.metadata_offset}{wish}{offline}"
        case lc.SetTimer(at_ms):
            return f"timer at {at_ms}"
        case lc.DrawIncarnation():
            return "draws another incarnation"
        case lc.Became(lc.ShuttingDown(failure)) if failure:
            return f"is ShuttingDown: {failure}"
        case lc.Became(state):
            return f"is {type(state).__name__}"
        case lc.Note(text):
            return f"note: {text}"


def letter(id_: Uuid) -> str:
    """Return the letter of an id."""
    return id_.decode()[0]


def listed(directories: tuple[Uuid, ...]) -> str:
    """Return directories by their letters."""
    assert {*directories} <= {A, B}
    return " ".join(map(letter, directories))
