"""Planting bugs, and what notices them."""

import pytest

from barnabas.metadata.fold import BatchFold
from barnabas.sim.profiles.metadata.mutants import MUTANTS, PATCHES, plant
from barnabas.sim.profiles.metadata.profile import PROFILE
from tests.sim.worlds import first_oracle


def test_every_mutant_has_its_code() -> None:
    assert [mutant.id for mutant in MUTANTS] == list(PATCHES)


def test_a_run_without_a_mutant_is_the_product() -> None:
    product = BatchFold._turn
    plant("MC-18")
    assert BatchFold._turn is not product
    plant("")
    assert BatchFold._turn is product


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "oracles"),
    [
        ("MC-17", {"M-07", "M-02"}),
        ("MC-18", {"M-06"}),
        ("MC-19", {"M-10"}),
        ("MR-20", {"C-17"}),
        ("MR-22", {"M-03"}),
        ("MM-02", {"M-02"}),
        ("MM-04", {"M-04"}),
        ("MM-05", {"M-05"}),
        ("MM-06", {"M-06"}),
        ("MM-08", {"M-08"}),
        ("MM-11", {"M-11"}),
        ("MM-14", {"M-14"}),
        ("MM-15", {"ML-2"}),
    ],
)
def test_what_is_easily_seen_is_seen_at_once(mutant: str, oracles: set[str]) -> None:
    assert first_oracle(PROFILE, plant, mutant, 20) in oracles
