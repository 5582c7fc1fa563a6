"""Clusters for tests of the port: three replicas, 1 leads, everybody is in sync."""

from dataclasses import replace
from typing import Any

from barnabas.sim.specs.replication.cluster import Broker, Controller, Decision, Step
from barnabas.sim.specs.replication.controlling import Decisions
from barnabas.sim.specs.replication.deeds import Scope, first_broker, first_controller
from barnabas.sim.specs.replication.guards import SPECIFIED, Guard, Rules
from barnabas.sim.specs.rules import Blocked

THREE = Scope(3, 3, 3)


def controller(rules: Rules = SPECIFIED, scope: Scope = THREE) -> Controller:
    """Return the controller of a cluster that has worked for a while."""
    return first_controller(scope, rules)


def broker(number: int = 1, rules: Rules = SPECIFIED, scope: Scope = THREE, **more: Any) -> Broker:  # noqa: ANN401 -- the fields of a broker
    """Return a broker of that cluster, but for some fields."""
    return replace(first_broker(number, scope, first_controller(scope, rules)), **more)


def ids(*members: int) -> frozenset[int]:
    """Return a set of brokers."""
    return frozenset(members)


def done(step: Step | Blocked) -> Broker:
    """Return the broker after an action, which must have been enabled."""
    assert isinstance(step, Step), step
    return step.broker


def decided(decisions: Decisions | Blocked) -> Decision:
    """Return the one decision that there is."""
    assert not isinstance(decisions, Blocked), decisions
    (decision,) = decisions
    return decision


def why_not(step: object) -> Guard:
    """Return the guard that blocks an action."""
    assert isinstance(step, Blocked), step
    assert isinstance(step.guard, Guard), step
    return step.guard
