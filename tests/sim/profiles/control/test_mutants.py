"""Planting bugs, and what notices them."""

import pytest

from barnabas.controller.shell import Whole
from barnabas.sim.profiles.control.mutants import MUTANTS, PATCHES, plant
from barnabas.sim.profiles.control.profile import PROFILE
from tests.sim.worlds import first_oracle


def test_every_mutant_has_its_code() -> None:
    assert [mutant.id for mutant in MUTANTS] == list(PATCHES)


def test_a_run_without_a_mutant_is_the_product() -> None:
    product = Whole.append
    plant("MC-01")
    assert Whole.append is not product
    plant("")
    assert Whole.append is product


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "oracles"),
    [
        ("MC-01", {"C-06"}),
        ("MC-02", {"P-12"}),
        ("MC-03", {"P-12"}),
        ("MC-06", {"CL-1", "PL-7"}),
        ("MC-12", {"B-02"}),
        ("MC-22", {"C-04"}),
        ("MB-01", {"B-04"}),
        ("MB-05", {"C-10"}),
        ("MB-07", {"C-18"}),
        ("MB-10", {"C-03"}),
        ("MB-12", {"C-16"}),
    ],
)
def test_what_is_easily_seen_is_seen_at_once(mutant: str, oracles: set[str]) -> None:
    assert first_oracle(PROFILE, plant, mutant, 20) in oracles
