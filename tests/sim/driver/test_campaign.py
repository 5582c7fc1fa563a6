"""Campaigns: counting, comparing, hunting; and finding where two runs part."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from barnabas.sim.driver import campaign
from barnabas.sim.driver.campaign import SEEN_WITHIN_SEEDS, Tally
from barnabas.sim.driver.jobs import Answer, Job
from barnabas.sim.driver.pool import Pool
from barnabas.sim.run import run
from tests.sim.driver import dependent
from tests.sim.register.profile import PROFILE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Workers for the register."""
    with Pool("register", 2) as workers:
        yield workers


def test_seeds_are_counted_and_doubled(pool: Pool) -> None:
    tally = campaign.seeds(pool, "register", 18, 4, double_all=False)
    row = tally.row(1, 2)
    assert list(row)[:10] == [
        "profile", "seeds", "virtual_hours", "real_seconds", "faults", "states", "failures",
        "divergences", "mutants_killed", "mutants",
    ]  # fmt: skip
    assert (row["seeds"], row["failures"], row["divergences"], row["doubled"]) == (4, 0, 0, 1)
    assert tally.runs == 5
    assert tally.states


def test_a_mutant_is_hunted_and_its_failure_made_small_and_replayed(pool: Pool) -> None:
    mutant = next(each for each in PROFILE.mutants if each.id == "REG-takes-late-stores")
    killed = campaign.hunt(pool, "register", mutant, 1)
    assert killed.answer is not None
    assert killed.seeds <= mutant.budget_seeds
    failure = campaign.shrunk(pool, killed.answer, runs_max=20)
    assert failure.plan.size < killed.answer.plan.size
    assert all(campaign.same(failure, again) for again in campaign.replayed(pool, failure))
    drifted = replace(failure, trace_hash="0" * 16)
    assert not any(campaign.same(drifted, again) for again in campaign.replayed(pool, failure))


def test_what_is_not_planted_is_not_killed(pool: Pool) -> None:
    nothing = replace(PROFILE.mutants[0], id="", budget_seeds=3)
    killed = campaign.hunt(pool, "register", nothing, 1)
    assert killed.row() == {
        "id": "", "budget": 3, "seeds_to_kill": None, "oracle": None, "killed": False,
    }  # fmt: skip


def test_dependence_on_the_hash_seed_is_found_and_shown() -> None:
    name = dependent.__name__
    with Pool(name, 2) as workers:
        tally = campaign.seeds(workers, name, 1, 2, double_all=True)
        assert tally.divergent == [1, 2]
        told = campaign.first_difference(workers, Job(name, 1)).splitlines()
    assert len(told) == 2
    assert told[0] != told[1]
    assert "order" in told[0]


def test_what_was_never_seen_counts_once_there_were_seeds_enough() -> None:
    tally = Tally("register", must_see=("cut", "torn"), seeds=SEEN_WITHIN_SEEDS - 1)
    plan = dependent.PROFILE.plan(1, "")
    outcome = run(dependent.PROFILE, plan)

    def see(**marks: int) -> None:
        tally.add(Answer(replace(outcome, seen=marks), plan, 0.0, ()))

    see(cut=3)
    see(cut=1, other=7)
    assert (tally.seen["cut"], tally.seen_in["cut"]) == (4, 2)
    assert tally.unseen == ["torn"]
    assert tally.well, "199 seeds may be unlucky"
    tally.seeds += 1
    assert not tally.well
    assert (tally.row()["seen"], tally.row()["unseen"]) == (1, 1)
    see(torn=1)
    assert tally.well


def test_a_row_of_nothing_is_all_zeros() -> None:
    row = Tally("p").row()
    assert {value for name, value in row.items() if name != "profile"} == {0}
