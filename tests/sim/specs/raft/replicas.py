"""Replicas for tests of the port: one of three voters, unless said otherwise."""

from dataclasses import replace
from typing import Any

from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.log import PLAIN, Key, Log
from barnabas.sim.specs.raft.node import Election, Node, Role, Step, VoteRequest
from barnabas.sim.specs.rules import Blocked

ONE, TWO, THREE = Key(1, "a"), Key(2, "a"), Key(3, "a")
VOTERS = frozenset({ONE, TWO, THREE})


def replica(role: Role = Role.UNATTACHED, epoch: int = 1, **more: Any) -> Node:  # noqa: ANN401 -- the fields of a node
    """Return replica 1 in a role, with a record of epoch 1 that is flushed."""
    leader = {Role.FOLLOWER: 2, Role.LEADER: 1, Role.RESIGNED: 1}.get(role)
    given = {
        "key": ONE,
        "leader": leader,
        "voted": ONE if role is Role.CANDIDATE else None,
        "log": Log(start_voters=VOTERS).append(1, PLAIN),
        "flushed": 1,
        "on_disk": 1,
        "granted": frozenset({1} if role in (Role.PROSPECTIVE, Role.CANDIDATE) else ()),
    }
    node = Node(role=role, epoch=epoch, **(given | more))
    return replace(node, saved=Election(node.epoch, node.leader, node.voted))


def vote(epoch: int = 1, rank: tuple[int, int] = (1, 1), pre_vote: bool = False) -> VoteRequest:
    """Return what replica 2 asks replica 1."""
    return VoteRequest(TWO, ONE, epoch, rank, pre_vote)


def done(step: Step | Blocked) -> Node:
    """Return the node after an action, which must have been enabled."""
    assert isinstance(step, Step), step
    return step.node


def why_not(step: Step | Blocked) -> Guard:
    """Return the guard that blocks an action."""
    assert isinstance(step, Blocked), step
    assert isinstance(step.guard, Guard), step
    return step.guard
