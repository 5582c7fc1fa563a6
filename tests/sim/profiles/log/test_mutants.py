"""Planting bugs, and taking them out again."""

import pytest

from barnabas.log.partition_log import PartitionLog
from barnabas.sim.profiles.log.mutants import MUTANTS, PATCHES, plant
from barnabas.sim.profiles.log.profile import PROFILE
from barnabas.sim.run import run


def test_every_mutant_has_its_code() -> None:
    assert [mutant.id for mutant in MUTANTS] == list(PATCHES)


def test_a_run_without_a_mutant_is_the_product() -> None:
    product = PartitionLog.swap
    plant("MS-08")
    assert PartitionLog.swap is not product
    plant("")
    assert PartitionLog.swap is product


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["MS-02", "MS-03", "MS-04", "MS-06", "MS-07", "MS-11", "MS-16"])
def test_what_is_easily_seen_is_seen_at_once(mutant: str) -> None:
    try:
        oracles = [run(PROFILE, PROFILE.plan(seed, mutant)).oracle for seed in range(1, 31)]
    finally:
        plant("")
    assert any(oracles)
