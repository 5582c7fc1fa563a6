"""A worker's child: runs, is killed when it hangs, and takes nothing along."""

import os
import time

import pytest

from barnabas.sim.driver import worker
from barnabas.sim.driver.jobs import BROKEN, INFRASTRUCTURE, Job, answer_from_json
from barnabas.sim.driver.worker import in_child, read_until
from barnabas.sim.run import run
from tests.sim.register.profile import PROFILE


def test_a_child_answers_what_the_run_here_would() -> None:
    answer = answer_from_json(in_child(Job("register", 3, full=True)))
    assert answer.outcome == run(PROFILE, PROFILE.plan(3, ""))
    assert answer.plan == PROFILE.plan(3, "")


def test_a_child_that_hangs_is_killed_and_called_infrastructure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "answered_here", lambda job: time.sleep(1_000))
    assert in_child(Job("register", 3, wall_s=0)) == {
        INFRASTRUCTURE: "no end after 0 s",
        "seed": 3,
    }


def test_a_child_that_dies_is_called_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "answered_here", lambda job: os._exit(3))
    assert in_child(Job("register", 3)) == {
        BROKEN: "the child ended with status 768",
        "seed": 3,
    }


def test_a_pipe_is_read_to_its_end_or_to_the_deadline() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"some")
    assert read_until(reading, time.monotonic()) is None
    os.write(writing, b"thing")
    os.close(writing)
    assert read_until(reading, time.monotonic() + 10) == b"thing"
    os.close(reading)
