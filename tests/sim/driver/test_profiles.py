"""Profiles by name."""

import pytest

from barnabas.sim.driver.profiles import PROFILES, SELF_TEST, UnknownProfileError, load


def test_every_listed_profile_loads_and_knows_its_name() -> None:
    for name in PROFILES:
        assert load(name).name == name
    assert SELF_TEST in PROFILES
    assert load("tests.sim.register.profile").name == "register"


def test_an_unknown_profile_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UnknownProfileError, match="known: register"):
        load("nothing")
