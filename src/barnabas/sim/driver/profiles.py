"""Which profiles there are: a name and the module that has it as ``PROFILE``."""

import importlib
from typing import Final

from barnabas.sim.profile import Profile

# The register is the simulator's own test and lives with the tests: it is there in a checkout, from
# whose root the simulator is run.
PROFILES: Final = {
    "register": "tests.sim.register.profile",
    "log": "barnabas.sim.profiles.log.profile",
    "raft": "barnabas.sim.profiles.raft.profile",
    "metadata": "barnabas.sim.profiles.metadata.profile",
    "control": "barnabas.sim.profiles.control.profile",
}

SELF_TEST: Final = "register"


class UnknownProfileError(Exception):
    """There is no profile of this name, or not here."""


def load(name: str) -> Profile:
    """Return a profile by its name, or by ``module:PROFILE`` for one that is not listed."""
    module_name = PROFILES.get(name, name)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        known = ", ".join(PROFILES)
        raise UnknownProfileError(
            f"no profile {name!r} ({error}); known: {known}; run from the root of a checkout"
        ) from error
    profile: Profile = module.PROFILE
    return profile
