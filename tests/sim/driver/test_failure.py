"""Failure files: written, read, and as they say."""

import json
from pathlib import Path

import pytest

from barnabas.sim.driver.failure import failure_of, read, source_hash, write
from barnabas.sim.run import run
from tests.sim.register.profile import PROFILE
from tests.sim.register.replica import LATE
from tests.sim.worlds import first_failure


def test_a_failure_replays_from_its_file(tmp_path: Path) -> None:
    plan, outcome = first_failure(LATE)
    path = write(failure_of(plan, outcome.tape, run(PROFILE, plan, outcome.tape)), tmp_path / "f")
    failure = read(path)
    again = run(PROFILE, failure.plan, failure.tape)
    assert (again.trace_hash, again.fingerprint) == (failure.trace_hash, failure.fingerprint)
    assert again.narrative == failure.narrative
    assert again.events == failure.first_bad_event
    assert path.name.startswith("register-REG-takes-late-stores-H-linear-")
    assert json.loads(path.read_text())["story"] == outcome.story


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"format": 0}')
    with pytest.raises(ValueError, match="has format 0; this reads 1"):
        read(path)


def test_the_source_has_one_hash() -> None:
    assert source_hash() == source_hash()
    assert len(source_hash()) == 16
