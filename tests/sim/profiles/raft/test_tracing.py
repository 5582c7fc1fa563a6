"""The validator of traces, as an oracle."""

import pytest

from barnabas.raft.effects import Became
from barnabas.raft.events import Alarm, TimerFired
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Outline
from barnabas.raft.states import Leader
from barnabas.raft.voters import History
from barnabas.sim.profiles.raft.tracing import Tracing
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.cluster import cluster
from tests.sim.profiles.raft.steps import ONE_TO_THREE, facts, life, step


def test_what_a_quorum_does_is_what_the_specification_allows() -> None:
    with cluster(voters=3, knobs=(("traces", 1),)) as quorum:
        assert quorum.done(quorum.write("a", at=quorum.leader))
        quorum.world.kill(quorum.leader)
        quorum.run(5_000)


def test_who_leads_without_being_elected_is_noticed() -> None:
    of = life()
    node = RaftNode(of.quorum.config, None, Outline(), History(ONE_TO_THREE, 1))
    of.quorum.node = node  # type: ignore[misc]  # -- a stand-in's
    oracle = Tracing()
    oracle.opened(of)
    leads = [Became(Leader(1, 0))]
    with pytest.raises(Violation, match="TV-raft"):
        oracle.step(step(of, TimerFired(Alarm.ELECTION), leads, facts()))
