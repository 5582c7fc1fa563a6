"""The process of the log's profile."""

from dataclasses import replace

from barnabas.records.batch import TRANSACTIONAL, batches, verify
from barnabas.sim.plan import Fault
from barnabas.sim.profiles.log.drive import CONFIGS, LOGS, batch
from barnabas.sim.profiles.log.profile import PROFILE
from barnabas.sim.run import run


def test_every_log_has_its_settings() -> None:
    assert tuple(CONFIGS) == LOGS
    assert CONFIGS["keyed"].compact


def test_a_batch_of_the_workload_is_a_batch() -> None:
    data = batch(b"k", b"v", 5, producer=(1, 0, 7), attributes=TRANSACTIONAL)
    ((position, header),) = batches(data)
    verify(data, position, header)
    assert (header.producer_id, header.base_sequence, header.is_transactional) == (1, 7, True)


def test_a_life_does_what_the_plan_says_and_stops_when_it_is_asked() -> None:
    plan = replace(PROFILE.plan(1, ""), faults=(Fault("stop-clean", 500, ("broker",), 50),))
    outcome = run(PROFILE, plan)
    assert outcome.oracle == "", outcome.story
    assert outcome.moments["log.did"] > 10
    # Three logs: when the process begins, after the stop, and twice in the audit.
    assert outcome.moments["log.opened"] >= 12
