"""Planting bugs, and taking them out again."""

import pytest

from barnabas.raft import leading
from barnabas.sim.profiles.raft.mutants import MUTANTS, PATCHES, plant
from barnabas.sim.profiles.raft.profile import PROFILE
from tests.sim.worlds import first_oracle


def test_every_mutant_has_its_code() -> None:
    assert [mutant.id for mutant in MUTANTS] == list(PATCHES)


def test_a_run_without_a_mutant_is_the_product() -> None:
    product = leading.await_quorum
    plant("MR-05")
    assert leading.await_quorum is not product
    plant("")
    assert leading.await_quorum is product


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "oracles"),
    [
        ("MR-01", {"R-11"}),
        ("MR-02", {"R-11"}),
        ("MR-03", {"R-02"}),
        ("MR-07", {"R-26"}),
        ("MR-10", {"R-06"}),
        ("MR-15", {"R-28"}),
        ("MR-16", {"R-29"}),
        ("MR-19", {"R-28"}),
        ("MR-22", {"R-08"}),
    ],
)
def test_what_is_easily_seen_is_seen_at_once(mutant: str, oracles: set[str]) -> None:
    assert first_oracle(PROFILE, plant, mutant, 5) in oracles
