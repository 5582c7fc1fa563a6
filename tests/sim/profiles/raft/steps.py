"""Steps of replicas that do not exist, for oracles to look at: only what a test names is there."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

from barnabas.log.health import Health
from barnabas.model.ids import Uuid
from barnabas.raft.config import RaftConfig
from barnabas.raft.effects import Effect
from barnabas.raft.events import Event
from barnabas.raft.messages import Question
from barnabas.raft.outline import Outline, SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.raft.states import State, Unattached
from barnabas.raft.voters import NO_VOTERS, Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.sim.disk import SimDisk
from barnabas.sim.profiles.raft.disks import LogView
from barnabas.sim.profiles.raft.lives import Asked, Facts, Home, Life, Step, changes_in
from tests.sim.drawing import Told


def key(node_id: int, directory: int = 1) -> ReplicaKey:
    """Return a replica's key."""
    return ReplicaKey(node_id, Uuid(bytes(15) + bytes([directory])))


def voters(*ids: int) -> VoterSet:
    """Return a set of voters, each with its first directory."""
    return VoterSet.of(
        Voter(key(each), (Endpoint("CONTROLLER", f"n{each}", 9093),), (0, 1)) for each in ids
    )


ONE_TO_THREE = voters(1, 2, 3)


@dataclass
class FakeNode:
    """What oracles read of a machine."""

    outline: Outline = field(default_factory=Outline)
    leading: object = None
    state: State = field(default_factory=lambda: Unattached(0))
    high_watermark: int = 0
    flushed_offset: int = 0
    leader_id: int | None = None
    voters: object = None

    @property
    def epoch(self) -> int:
        """The epoch of the state."""
        return self.state.epoch


def life(
    node_id: int = 1,
    directory: int = 1,
    node: FakeNode | None = None,
    fetch_timeout_ms: int = 2_000,
) -> Life:
    """Return a replica's life."""
    own = key(node_id, directory)
    disk = SimDisk(Told())
    quorum = SimpleNamespace(
        config=RaftConfig(own, "cluster", fetch_timeout_ms=fetch_timeout_ms),
        node=node or FakeNode(),
        is_moving=False,
        storage=SimpleNamespace(health=Health("/metadata")),
        _commits=[],
    )
    home = Home(f"n{node_id}", own, disk)
    return Life(f"n{node_id}.1", home, cast(Quorum, quorum), facts(), LogView(disk))


def facts(
    state: State | None = None,
    start: int = 0,
    end: int = 0,
    last_epoch: int = 0,
    high_watermark: int = 0,
    flushed: int = 0,
    snapshot: SnapshotId | None = None,
    voting: VoterSet = NO_VOTERS,
    voters_offset: int = -1,
    leading: int | None = None,
) -> Facts:
    """Return what a machine is."""
    return Facts(
        state or Unattached(0),
        start,
        end,
        last_epoch,
        high_watermark,
        flushed,
        snapshot,
        voting,
        voters_offset,
        leading,
    )


def step(
    of: Life,
    event: Event,
    effects: Sequence[Effect] = (),
    before: Facts | None = None,
    after: Facts | None = None,
    answers: Question | None = None,
    at_ms: int = 0,
    stint: int = 0,
) -> Step:
    """Return a step."""
    before = before or facts()
    asked = None if answers is None else Asked(answers, stint)
    changes = changes_in(before.state, event, effects)
    return Step(of, at_ms, event, effects, before, after or before, asked, stint, changes)
