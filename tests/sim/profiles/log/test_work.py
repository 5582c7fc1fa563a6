"""The operations of the profile."""

from dataclasses import replace

import pytest

from barnabas.records.batch import TRANSACTIONAL, batches, verify
from barnabas.sim.plan import Operation
from barnabas.sim.profiles.log.faults import HOST
from barnabas.sim.profiles.log.profile import PROFILE, WEIGHTS
from barnabas.sim.profiles.log.work import PATTERN, batch
from barnabas.sim.run import run

ARGUMENTS: dict[str, tuple[str | int, ...]] = {
    "append": ("plain", 1, 100),
    "table": ("keyed", 1, 100),
    "burst": ("plain", 2),
    "produce": ("keyed", 1, 1, 100),
    "retry": ("keyed", 1, 1),
    "end": ("keyed", 1, 0),
    "end-unindexed": ("keyed", 1),
    "fence": ("keyed", 1),
    "stale": ("keyed", 1),
    "fetch": ("copy", 0),
    "truncate": ("plain", 1),
    "redo": ("plain", 2, 2),
    "retain": ("plain", 0),
    "flush-failing": ("plain",),
}


def test_a_batch_of_the_workload_is_a_batch() -> None:
    data = batch(b"k", b"v", 5, producer=(1, 0, 7), attributes=TRANSACTIONAL)
    ((position, header),) = batches(data)
    verify(data, position, header)
    assert (header.producer_id, header.base_sequence, header.is_transactional) == (1, 7, True)


def test_no_part_of_a_value_looks_like_a_block_that_was_lost() -> None:
    assert 0 not in PATTERN
    assert len(PATTERN) == 251


@pytest.mark.parametrize("what", sorted(WEIGHTS))
def test_each_operation_is_done_to_a_log_that_has_something(what: str) -> None:
    before = [
        Operation(1, HOST, "produce", ("keyed", 1, 1, 100)),
        Operation(1, HOST, "produce", ("keyed", 1, 2, 100)),
        Operation(1, HOST, "append", ("plain", 1, 3_000)),
        Operation(1, HOST, "append", ("plain", 1, 3_000)),
    ]
    arguments = ARGUMENTS.get(what, ("plain",))
    plan = PROFILE.plan(1, "")
    workload = (*before, Operation(2, HOST, what, arguments))
    outcome = run(PROFILE, replace(plan, faults=(), workload=workload))
    assert outcome.oracle == "", outcome.story
    done = any("log.did" in line and f"what={what!r}" in line for line in outcome.narrative)
    assert done == (what not in ("flush-failing", "end-unindexed")), "those end a life"
