"""What a profile is: the register is one, and its planted bugs are listed as they should be."""

from barnabas.sim.profile import Mutant, Profile
from tests.sim.register.profile import PROFILE


def test_the_register_is_a_profile_with_mutants_of_its_own() -> None:
    profile: Profile = PROFILE
    assert profile.name == "register"
    ids = [mutant.id for mutant in profile.mutants]
    assert len(set(ids)) == len(ids) == 4
    assert all(mutant.id.startswith("REG-") and mutant.what for mutant in profile.mutants)
    assert Mutant("A", "b", 3) == Mutant("A", "b", 3)


def test_the_same_seed_is_the_same_plan_and_carries_its_mutant() -> None:
    assert PROFILE.plan(7, "") == PROFILE.plan(7, "")
    assert PROFILE.plan(7, "") != PROFILE.plan(8, "")
    assert PROFILE.plan(7, "REG-x").mutant == "REG-x"
