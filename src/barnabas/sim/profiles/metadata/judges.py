"""All oracles of the profile: those of the quorum, and those of what stands on its log.

Every hook is called by a process in the middle of a handle; what an oracle finds there ends the run
when the handle is over.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.publication import LeaderAndEpoch, Publication
from barnabas.metadata.snapshot import fingerprint
from barnabas.model.ids import TopicIdPartition
from barnabas.raft.voters import VoterSet
from barnabas.sim.profiles.metadata import marks
from barnabas.sim.profiles.metadata.drive import Node
from barnabas.sim.profiles.metadata.publishing import Publishing
from barnabas.sim.profiles.metadata.readers import Held, Seen
from barnabas.sim.profiles.metadata.reference import Reference
from barnabas.sim.profiles.raft.judges import Judges
from barnabas.sim.world import Violation, World


class MetadataJudges(Judges):
    """The oracles of one world of the ``metadata`` profile."""

    def __init__(self, world: World, first: VoterSet, snapshot_bytes: int) -> None:
        self.reference: Final = Reference(world.mark)
        self.publishing: Final = Publishing(self.reference, world.mark)
        super().__init__(world, first, snapshot_bytes, self.reference)

    # --- what processes say -------------------------------------------------------------------

    def handing(self, node: Node, end_offset: int) -> None:
        """Look at what is about to be handed over."""
        self.attempt(lambda: self.publishing.handing(node, end_offset))

    def handed(self, node: Node, by_snapshot: bool, poisoned: bool) -> None:
        """Look at what has come of it."""
        self.attempt(lambda: self.publishing.handed(node, by_snapshot, poisoned))

    def published(self, name: str, seen: Seen, publication: Publication) -> None:
        """Look at what a subscriber is told."""
        self.attempt(lambda: self.publishing.published(name, seen, publication))

    def applied(self, name: str, seen: Seen) -> None:
        """Look at what it has made of it."""
        self.attempt(lambda: self.publishing.applied(name, seen))

    def led(self, name: str, seen: Seen, leader: LeaderAndEpoch) -> None:
        """Look at a subscriber that is told who leads."""
        self.attempt(lambda: self.publishing.led(name, seen, leader))

    def held_up(self, name: str, seen: Seen, blocked_ms: int) -> None:
        """Look at how long it let nobody else do anything."""
        self.attempt(lambda: self.publishing.held_up(name, seen, blocked_ms))

    def moved(self, name: str, place: TopicIdPartition, before: Held, after: Held) -> None:
        """Look at a replica that is another than it was."""
        self.attempt(lambda: self.publishing.moved(name, place, before, after))

    def snapshot(self, node: Node, image: MetadataImage) -> None:
        """Look at an image that is about to be written down."""
        self.attempt(lambda: self.publishing.snapshot(node, image))

    def inherited(self, node: Node) -> None:
        """Note that a leader has found a transaction begun."""
        self._world.mark(marks.INHERITED)

    # --- when all is quiet --------------------------------------------------------------------

    def quiet(self, nodes: Sequence[Node], again: bool) -> None:
        """Look at everybody when nothing is new any more: M-02 whole, ML-1, R-26, RL-8."""
        lives = [self.watch.lives[each.name] for each in nodes]
        if not again:
            # Before a restart counts everything anew.
            self._world.judge(lambda: self._bounded.finish(lives))
        for node, life in zip(nodes, lives, strict=True):
            self.publishing.look()
            self._claims.caught_up(life, node.desk.known, node.desk.offset)
            self.publishing.whole(node)
        self._converged(nodes)

    def _converged(self, nodes: Sequence[Node]) -> None:
        """ML-1: everybody has come to the same end, and has the same there."""
        ends = {node.name: node.metadata.image.offset for node in nodes}
        if len(set(ends.values())) > 1:
            raise Violation("ML-1", f"after all has come to rest: {ends}", "different ends")
        found = {node.name: fingerprint(node.metadata.image) for node in nodes}
        if len(set(found.values())) > 1:
            raise Violation("ML-1", f"after all has come to rest: {found}", "different images")
