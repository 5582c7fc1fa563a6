"""Is what the quorum did something that the specification allows?  Step by step.

    RaftNode:  before ──── event ────▶ effects, after
                 ‖                         │ each effect that means something is one action
    port:      node ─ action ─ action ─ action ─▶ node, which must be as *after* is

The validator keeps a replica of the specification beside each one of the product and takes it
through the same actions.  What the product chose (to vote, to commit up to here, to run) is read
from its effects, in their order; whether it *may* is the port's to say, and the port's replica
goes on with its own log, votes and questions, not with the product's.  The first action that is
blocked, and the first thing that looks otherwise, is a ``Violation`` named ``TV-raft-<action>``
with the guard as its place and both states in its story.

How steps fold:

- n records in one append or one answer are n entries; a flush is the step at which an end counts.
- A question that is asked again, an answer that nobody waits for, a timer without consequence: the
  port stutters.
- ``PersistElection`` is when epoch and vote are on the disk.  Whatever is said or appended comes
  after it in the list, or the guard ``PERSISTS`` blocks.
- A process that dies has performed some beginning of its last list: any of the states in between
  may be what its disk shows.
- Records get their content from a ledger of what the leader of each epoch has appended, so that
  a follower cannot have something else under the same offset and epoch.

Who runs the simulation calls ``step`` for every event of every replica, and ``started``,
``restarted`` and ``wiped`` as lives begin.  Nothing here looks at the world.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from barnabas.raft.effects import Effect
from barnabas.raft.events import Event
from barnabas.raft.outline import SnapshotId
from barnabas.sim.profiles.raft.facts import Facts, replica_of
from barnabas.sim.profiles.raft.walk import Double, Ledger, Walk, differing
from barnabas.sim.specs.raft import elections, replication
from barnabas.sim.specs.raft import node as spec
from barnabas.sim.specs.raft.log import Log
from barnabas.sim.specs.raft.node import Node
from barnabas.sim.specs.rules import Blocked
from barnabas.sim.world import Violation


class RaftValidator:
    """Takes the port through what the product does; ``initial`` are the replicas there are."""

    def __init__(self, initial: Mapping[str, Facts]) -> None:
        self.actions: Final[dict[str, int]] = {}
        """How often each action was taken."""
        self._doubles: Final[dict[str, Double]] = {}
        self._ledger: Final[Ledger] = {}
        for name, facts in initial.items():
            self.started(name, facts)

    def replica(self, name: str) -> Node:
        """Return a replica as the port has it."""
        return self._doubles[name].node

    def step(
        self,
        name: str,
        before: Facts,
        event: Event,
        effects: Sequence[Effect],
        after: Facts,
    ) -> Violation | None:
        """Take the port through one event of the product; tell what is not as it should be."""
        double = self._doubles[name]
        double.stages = [(double.node, double.written)]
        walk = Walk(name, double, self._ledger, self._count)
        try:
            walk.agrees(before, "state")
            walk.take(event, effects)
            walk.agrees(after, walk.last)
        except Violation as violation:
            return violation
        return None

    def _count(self, action: str) -> None:
        self.actions[action] = self.actions.get(action, 0) + 1

    # --- lives -----------------------------------------------------------------------------------

    def started(self, name: str, facts: Facts) -> None:
        """Learn of a replica that was not there before."""
        node = replica_of(facts)
        self._doubles[name] = Double(node, node.election)
        for first, run in node.log.pieces():
            known = self._ledger.setdefault(run.epoch, Log(first))
            if run.end > known.end:
                more = run.end - known.end
                self._ledger[run.epoch] = known.append(run.epoch, run.content, more)

    def wiped(self, name: str, facts: Facts) -> None:
        """Learn that a node has come back with an empty disk: as somebody else."""
        self.started(name, facts)

    def restarted(self, name: str, facts: Facts) -> Violation | None:
        """Learn that a replica has come back with what was on its disk."""
        left = self._doubles[name]
        why, place = "", ""
        for node, written in reversed([*left.stages, (left.node, left.written)]):
            stored = replace(not_cleaned(node, left.uncleaned, facts.start), saved=written)
            woken = come_back(stored, facts, left.installing)
            if isinstance(woken, Node):
                difference = differing(woken, facts)
                if difference is None:
                    self._doubles[name] = Double(woken, written)
                    self._count("restart")
                    return None
                why, place = why or difference, place or "state"
            else:
                why, place = why or str(woken), place or woken.guard.name
        story = f"{name} came back as {facts}: {why}; the port had {left.node}"
        return Violation("TV-raft-restart", story, place)


def not_cleaned(node: Node, uncleaned: Sequence[Node], start: int) -> Node:
    """Return a replica with what its disk still has, of which it wanted to be rid."""
    for before in reversed(uncleaned):
        if start >= node.log.start:
            break
        older = tuple(each for each in before.snapshots if each.end < node.log.start)
        later = tuple(run for _, run in node.log.pieces())
        log = before.log.cut(node.log.start).extend(later)
        node = replace(node, log=log, snapshots=(*older, *node.snapshots))
    return node


def come_back(node: Node, facts: Facts, installing: SnapshotId | None) -> Node | Blocked:
    """Return the replica that comes back from a disk, with what was done there and not told."""
    if installing is not None and facts.start == installing.end_offset > node.log.start:
        fetched = spec.Snapshot(installing.end_offset, installing.epoch, facts.voters)
        installed = replication.install(node, fetched)
        if isinstance(installed, Blocked):
            return installed
        node = installed.node
    known = {each.end for each in node.snapshots}
    for end, epoch in facts.snapshots:
        if end not in known:
            taken = replication.take_snapshot(node, end, epoch)
            if isinstance(taken, Blocked):
                return taken
            node = taken.node
    latest = node.latest
    if facts.start > node.log.start:
        # A disk says where its log begins by its oldest snapshot alone; and one that is further
        # than what was flushed of the log takes its place.
        alone = facts.start == facts.end and node.on_disk <= facts.start
        if alone and latest is not None and latest.end == facts.start:
            begun = replication.fall_back(node, latest)
        else:
            begun = replication.clean(node, facts.start)
        if isinstance(begun, Blocked):
            return begun
        node = begun.node
    step = elections.restart(node, facts.end, facts.role, facts.flushed)
    return step if isinstance(step, Blocked) else step.node
