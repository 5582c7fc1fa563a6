"""The port goes with the product through every schedule, and with no broken product."""

from barnabas.raft.effects import Effect
from barnabas.raft.events import Event
from barnabas.raft.node import RaftNode
from barnabas.sim.profiles.raft.facts import facts_of
from barnabas.sim.profiles.raft.trace import RaftValidator
from tests.sim.profiles.raft.quorum import Life, Quorum

STEPS = 600
SEEDS_MAX = 150


class Validated(Quorum):
    """Every event of every replica goes through the validator."""

    def __init__(self, seed: int) -> None:
        self.validator = RaftValidator({})
        self.events = 0
        super().__init__(seed, 3, 1, self.take)

    def on_life(self, how: str, life: Life) -> None:
        """Tell the validator of a life."""
        facts = facts_of(life.node)
        if how == "restarted":
            violation = self.validator.restarted(life.name, facts)
            if violation is not None:
                raise violation
        elif how == "wiped":
            self.validator.wiped(life.name, facts)
        else:
            self.validator.started(life.name, facts)

    def take(self, life: Life, node: RaftNode, event: Event) -> list[Effect]:
        """Let a replica take an event, and the validator judge it."""
        before = facts_of(node)
        effects = node.step(event, self.now_ms())
        self.events += 1
        violation = self.validator.step(life.name, before, event, effects, facts_of(node))
        if violation is not None:
            raise violation
        return effects


def run(seed: int) -> Validated:
    """Run one schedule."""
    quorum = Validated(seed)
    for _ in range(STEPS):
        quorum.step()
    return quorum
