"""A profile with a bug of its own: it raises while it builds."""

from typing import Final

from barnabas.sim.plan import Plan
from barnabas.sim.profile import Scene
from barnabas.sim.world import World
from tests.sim.driver.dependent import Dependent


class Breaking(Dependent):
    """The profile."""

    def build(self, world: World, plan: Plan) -> Scene:
        raise LookupError("there is nothing to build")


PROFILE: Final = Breaking()
