"""What is simulated: a profile builds a world from a plan and knows when it is well.

    Profile ── plan(seed) ──▶ Plan ── build(world, plan) ──▶ Scene

A profile is one small module per thing that is tested (the register of the self-test, a raft
quorum, a log, a cluster).  It draws plans, starts the processes, brings the oracles, and says what
is allowed to go wrong.  Everything else (faults, phases, replay, minimising) is the same for all.

The product is the product: a profile starts the same coroutines that a host would start.  A
*mutant* is the product with one planted bug, chosen by name in the plan; a mutant that no seed
kills shows a hole in the oracles.

A run that passes may have passed because nothing happened in it.  So a profile also lists what must
come about now and then: a torn tail that is cut, a vote that is lost, an oracle that had something
to look at.  Its scene and its oracles say ``world.mark(...)`` when they see it, and a campaign
tells what it never saw.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from barnabas.model.value import value
from barnabas.sim.nemesis import Kind
from barnabas.sim.plan import Fault, Plan
from barnabas.sim.process import Process
from barnabas.sim.world import Checker, World


@value
class Mutant:
    """A planted bug: its id, what it breaks, and how many seeds may be needed to notice."""

    id: str
    what: str
    budget_seeds: int


class Scene(Protocol):
    """One world of a profile, set up and running."""

    @property
    def checkers(self) -> Sequence[Checker]:
        """The oracles, in the order in which they are asked."""
        ...

    def ready(self) -> bool:
        """Tell whether everything came up: faults may begin."""
        ...

    def healed(self, hosts: Sequence[str]) -> None:
        """Learn that these hosts are whole and reach each other; maybe no others do."""

    def recovered(self) -> bool:
        """Tell whether work goes on again on the hosts that were healed.

        Only what happened since they were counts.
        """
        ...

    def permits(self, world: World, fault: Fault) -> bool:
        """Tell whether this fault, now, is within what the product promises to bear."""
        ...

    def excuses(self, process: Process) -> bool:
        """Tell whether a process may have failed like this without it being a bug."""
        ...

    def audit(self, world: World) -> None:
        """Look at everything once more, after work has come to rest; may let the world run."""


class Profile(Protocol):
    """A thing that is simulated."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    @property
    def mutants(self) -> Sequence[Mutant]:
        """Its planted bugs."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The faults it bears, the world's and its own."""
        ...

    @property
    def must_see(self) -> Sequence[str]:
        """What 200 seeds must have marked at least once; if not, the plans are badly drawn."""
        ...

    def plan(self, seed: int, mutant: str) -> Plan:
        """Draw the plan of a seed."""
        ...

    def build(self, world: World, plan: Plan) -> Scene:
        """Start what is simulated in a world whose hosts are there."""
        ...
