"""The validator of traces, as one more oracle: TV-raft-…

Every step of every replica is taken by the port of the specification too, which must be able to.
A replica is known there by its directory: who lost its disk is somebody new.
"""

from typing import Final

from barnabas.raft.voters import ReplicaKey
from barnabas.sim.profiles.raft.facts import Facts, facts_of
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step
from barnabas.sim.profiles.raft.trace import RaftValidator


class Tracing(Oracle):
    """TV-raft: every step is one that the specification allows, and leads where it says."""

    def __init__(self) -> None:
        self._validator: Final = RaftValidator({})
        self._facts: Final[dict[Life, Facts]] = {}
        self._known: Final[dict[ReplicaKey, None]] = {}

    def opened(self, life: Life) -> None:
        facts = self._facts[life] = facts_of(life.node)
        name = str(life.key)
        if life.key in self._known:
            violation = self._validator.restarted(name, facts)
            if violation is not None:
                raise violation
        else:
            self._known[life.key] = None
            self._validator.started(name, facts)

    def step(self, step: Step) -> None:
        life = step.life
        before = self._facts[life]
        after = self._facts[life] = facts_of(life.node)
        violation = self._validator.step(str(life.key), before, step.event, step.effects, after)
        if violation is not None:
            raise violation
