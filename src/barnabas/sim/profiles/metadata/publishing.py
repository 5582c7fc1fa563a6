"""What is told, to whom, in which order: M-02 to M-08, M-10, and M-12 to M-14.

    handing ─▶ (published ─▶ applied)* ─▶ handed        one commit or snapshot of one node

An image is compared with the reference by steps: it is right if the one before was, if every fact
that the records between them speak of is as the reference has it, and if it differs from the one
before in nothing but what its delta says, of which every fact is compared, too (M-04).  What a
newcomer is given begins with nothing, so there the step is everything.

What nobody has shown to be committed yet is looked at when somebody has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.local_changes import LocalChanges
from barnabas.metadata.publication import (
    LeaderAndEpoch,
    LogManifest,
    Publication,
    SnapshotManifest,
)
from barnabas.model.ids import TopicIdPartition
from barnabas.sim.profiles.metadata import local, marks
from barnabas.sim.profiles.metadata.drive import Node
from barnabas.sim.profiles.metadata.readers import Held, Replicas, Seen
from barnabas.sim.profiles.metadata.reference import Key, Reference, difference, spelled
from barnabas.sim.profiles.metadata.spelling import fact_in, facts_in, touched
from barnabas.sim.world import Violation

# A publisher that keeps its process from everything else for longer is noticed (M-14).
BLOCKED_MS: Final = 100

# So many records behind the high watermark is a long way to catch up.
FAR: Final = 50


@dataclass(slots=True, eq=False)
class Followed:
    """What one life of a node has been told, and has told."""

    node: Node
    handed_high_watermark: int = 0
    """As it was when something was last handed over."""
    began_behind: int | None = None
    """How far its image was behind the log when it was first handed something."""
    image: MetadataImage = EMPTY
    """The last that was compared, or waits for it."""
    had_image: bool = False
    """Whether there was one when something was last handed over."""
    is_open: bool = False
    """Whether anybody has been told anything."""
    installed: list[Seen] = field(default_factory=list)
    """Those who have to know, in the order in which they came."""
    leaving: dict[Seen, None] = field(default_factory=dict)
    """Those of them who have been asked to go, and may be told until that is heard."""
    told: dict[Seen, MetadataImage] = field(default_factory=dict)
    """The image that each was given last."""
    telling: Publication | None = None
    """What is told at the moment, and who was last in the order of those who were."""
    last_told: int = -1

    @property
    def name(self) -> str:
        """The process."""
        return self.node.name


class Publishing:
    """The oracles of one world; each raises ``Violation`` at the moment at which it is asked."""

    def __init__(self, reference: Reference, mark: Callable[[str], None]) -> None:
        self.lives: Final[dict[str, Followed]] = {}
        self._reference: Final = reference
        self._mark: Final = mark
        self._waiting: Final[list[tuple[int, Callable[[], None]]]] = []

    # --- lives -------------------------------------------------------------------------------

    def born(self, node: Node) -> None:
        """Learn of a process that has told nobody anything."""
        self.lives[node.name] = Followed(node)
        if self._reference.in_transaction:
            self._mark(marks.RESTARTED)

    def installed(self, node: Node, subscribers: Sequence[Seen]) -> None:
        """Learn who has to know from now on, in this order."""
        life = self.lives[node.name]
        names = [each.publisher.name for each in life.leaving if not each.is_closed]
        for each in subscribers:
            if each.publisher.name in names:
                self._mark(marks.SWAPPED)
            life.installed.append(each)

    def removed(self, node: Node, name: str) -> None:
        """Learn that somebody need not know any more, as soon as that is heard."""
        life = self.lives[node.name]
        found = [each for each in life.installed if each.publisher.name == name]
        life.leaving[found[-1]] = None
        self._mark(marks.GONE)

    # --- what the quorum hands over ----------------------------------------------------------

    def handing(self, node: Node, end_offset: int) -> None:
        """M-03: nothing is handed over that is not committed."""
        self.look()
        life, high_watermark = self.lives[node.name], node.quorum.node.high_watermark
        if end_offset > high_watermark:
            story = f"{life.name} is handed {end_offset}, committed is below {high_watermark}"
            raise Violation("M-03", story, "handed over too early")
        life.handed_high_watermark = high_watermark
        life.had_image = not node.metadata.image.is_empty
        if life.began_behind is None:
            life.began_behind = high_watermark - 1 - node.metadata.image.offset

    def handed(self, node: Node, by_snapshot: bool, poisoned: bool) -> None:
        """M-02, M-05: the image is right, and everybody who has to know has it."""
        life, image = self.lives[node.name], node.metadata.image
        if poisoned:
            story = f"{life.name} is at {image.provenance} after a record that nobody can read"
            raise Violation("C-17", story, "a record was passed over")
        if by_snapshot and life.had_image:
            self._mark(marks.LOADED)
        self._step(life, life.image, image, None, by_snapshot)
        for seen in life.installed:
            if not seen.is_told or seen in life.leaving:
                continue
            if seen.image is not image:
                who = f"{life.name}: {seen.publisher.name} knows {seen.image.provenance}"
                raise Violation("M-05", f"{who}, not {image.provenance}", "somebody was not told")
            known = node.desk.known
            if known is not None and seen.leader != LeaderAndEpoch(*known):
                story = f"{life.name}: {seen.publisher.name} knows {seen.leader}, not {known}"
                raise Violation("ML-2", story, "a leader was not told")

    # --- what subscribers are told ------------------------------------------------------------

    def published(self, name: str, seen: Seen, publication: Publication) -> None:
        """M-03 to M-08: look at a publication as a subscriber is given it."""
        self.look()
        life, image = self.lives[name], publication.image
        who = f"{name}: {seen.publisher.name}"
        self._in_order(life, seen, publication, who)
        if image.offset >= life.node.quorum.node.high_watermark:
            raise Violation("M-03", f"{who} is given {image.provenance}", "not committed")
        if not life.is_open:
            self._opens(life, image, who)
        if publication is life.telling:
            return
        before = publication.delta.image
        life.telling, life.last_told = publication, -1
        again = publication.delta.apply(image.provenance)
        if again != image:
            raise Violation("M-04", f"{who}: {image.provenance} is not what the delta makes", "")
        self._step(life, before, image, publication.delta, is_snapshot(publication))
        manifest = publication.manifest
        if isinstance(manifest, LogManifest) and manifest.batches >= 3:
            self._mark(marks.FOLDED)
        self._note_level(publication)

    def _in_order(self, life: Followed, seen: Seen, publication: Publication, who: str) -> None:
        before, after = publication.delta.image, publication.image
        known = life.told.get(seen)
        if seen.is_closed or seen.stumbled_at_first:
            raise Violation("M-05", f"{who} is given {after.provenance}", "told after the end")
        if known is None:
            if not before.is_empty or before.offset >= 0:
                story = f"{who} is introduced with a change from {before.provenance}"
                raise Violation("M-05", story, "an introduction that is none")
            if life.is_open and publication is not life.telling:
                self._mark(marks.LATE)
        elif before is not known or after.offset <= known.offset:
            story = f"{who} knows {known.provenance}, and is given what leads from {before.offset}"
            raise Violation("M-05", f"{story} to {after.offset}", "a gap")
        life.told[seen] = after
        if publication is not life.telling:
            return
        place = life.installed.index(seen)
        if place <= life.last_told:
            story = f"{who} is told {after.offset} after those who came later"
            raise Violation("M-05", story, "not in the order of installation")

    def led(self, name: str, seen: Seen, leader: LeaderAndEpoch) -> None:
        """M-05: who is told who leads has had the introduction, and not the end."""
        if seen.is_closed or seen.stumbled_at_first or seen not in self.lives[name].told:
            story = f"{name}: {seen.publisher.name} is told of {leader}"
            raise Violation("M-05", story, "told after the end")

    def _opens(self, life: Followed, image: MetadataImage, who: str) -> None:
        """M-08: look at the first that anybody is told in this life."""
        life.is_open = True
        if image.is_empty or image.offset + 1 < life.handed_high_watermark:
            story = (
                f"{who} is the first to be told, of {image.provenance}; committed is below "
                f"{life.handed_high_watermark}"
            )
            raise Violation("M-08", story, "told before the log was caught up with")
        if (life.began_behind or 0) >= FAR:
            self._mark(marks.CAUGHT_UP)

    def applied(self, name: str, seen: Seen) -> None:
        """M-10, M-12: look at the replicas when they have moved."""
        life = self.lives[name]
        if seen in life.installed and life.telling is not None:
            life.last_told = life.installed.index(seen)
        if not isinstance(seen, Replicas) or life.telling is None or seen.changes is None:
            return
        publication, changes = life.telling, seen.changes
        after, upto = publication.delta.image.offset, publication.image.offset
        self._when(upto + 1, partial(self._meant, name, seen.broker_id, after, upto, changes))
        self.all_there(name, seen)

    def _meant(
        self, name: str, broker_id: int, after: int, upto: int, changes: LocalChanges
    ) -> None:
        """M-10: a broker is told exactly what has changed for it."""
        must = local.due(self._reference, after, upto, broker_id)
        objection = local.objection(changes, must)
        if objection:
            story = f"{name}: for broker {broker_id}, from {after} to {upto}, {objection}"
            raise Violation("M-10", story, objection.partition(" ")[0])
        if after < 0:
            return
        if must.elected:
            self._mark(marks.ELECTED)
        if must.leaders - must.elected:
            self._mark(marks.NOT_ELECTED)
        if must.deletes:
            self._mark(marks.DELETED)

    def all_there(self, name: str, replicas: Replicas) -> None:
        """M-12: every replica of the broker is as the image says, or further by an answer."""
        due: dict[TopicIdPartition, Held] = {}
        for topic in replicas.image.topics.topics.values():
            for index, partition in topic.partitions():
                if replicas.broker_id in partition.replicas:
                    leads = partition.leader == replicas.broker_id
                    due[TopicIdPartition(topic.id, topic.name, index)] = Held(
                        "leader" if leads else "follower",
                        partition.leader_epoch,
                        partition.partition_epoch,
                        partition.isr,
                    )
        for place in due.keys() | replicas.table.keys():
            found, must = replicas.table.get(place), due.get(place)
            if found == must:
                continue
            if found is not None and must is not None and found.by_answer:
                epochs = found.leader_epoch, found.partition_epoch
                if epochs >= (must.leader_epoch, must.partition_epoch):
                    continue
            story = f"{name}: {place.topic}-{place.partition} is {found}, the image has {must}"
            raise Violation("M-12", story, "a replica that is not as the image says")

    def moved(self, name: str, place: TopicIdPartition, before: Held, after: Held) -> None:
        """M-13: the epochs of a replica never fall."""
        if after.by_answer and after.partition_epoch > before.partition_epoch:
            self._mark(marks.AHEAD)
        if (
            after.partition_epoch < before.partition_epoch
            or after.leader_epoch < before.leader_epoch
        ):
            story = f"{name}: {place.topic}-{place.partition} was {before}, is {after}"
            raise Violation("M-13", story, "the stale wins")

    def held_up(self, name: str, seen: Seen, blocked_ms: int) -> None:
        """M-14: nobody who is told keeps the process from everything else."""
        if blocked_ms >= BLOCKED_MS:
            story = f"{name}: {seen.publisher.name} blocks for {blocked_ms} ms"
            raise Violation("M-14", story, "a publisher blocks")

    # --- snapshots ---------------------------------------------------------------------------

    def snapshot(self, node: Node, image: MetadataImage) -> None:
        """M-09: a snapshot ends where a batch does, and in no transaction."""
        at = image.provenance
        self._mark(marks.WRITTEN)
        if not at.batch_aligned:
            raise Violation("M-09", f"{node.name} writes {at}", "inside of a batch")
        self._when(at.offset + 1, partial(self._aligned, node.name, image))

    def _aligned(self, name: str, image: MetadataImage) -> None:
        at, reference = image.provenance, self._reference
        if not reference.is_boundary(at.offset):
            raise Violation("M-09", f"{name} writes {at}", "inside of a batch")
        if not reference.is_visible(at.offset):
            raise Violation("M-09", f"{name} writes {at}", "inside of a transaction")

    def unfoldable(self, name: str, why: BaseException) -> Violation:
        """Return what it means that a node could not fold a sound log: M-06, M-02."""
        known, reference = self.lives[name].image.offset, self._reference
        changes = reference.changed(known, reference.end_offset)
        oracle = "M-06" if any(change.aborted for change in changes) else "M-02"
        return Violation(oracle, f"{name} behind {known}: {why}", "a sound log is not folded")

    # --- images ------------------------------------------------------------------------------

    def _step(
        self,
        life: Followed,
        before: MetadataImage,
        after: MetadataImage,
        delta: Delta | None,
        by_snapshot: bool,
    ) -> None:
        """Compare what led from one image of a node to another, as soon as that is known."""
        if before is after:
            return
        at, known = after.provenance, life.image.provenance
        if (at.offset, at.epoch) < (known.offset, known.epoch) or at.epoch < known.epoch:
            raise Violation("M-09", f"{life.name} is at {at} after {known}", "provenance falls")
        life.image = after
        look = partial(self._compare, life.name, before, after, delta, by_snapshot)
        self._when(at.offset + 1, look)

    def _compare(
        self,
        name: str,
        before: MetadataImage,
        after: MetadataImage,
        delta: Delta | None,
        by_snapshot: bool,
    ) -> None:
        reference, at = self._reference, after.provenance
        if not reference.is_visible(at.offset):
            raise Violation("M-06", f"{name} shows {at}", "inside of a transaction")
        boundary = reference.is_boundary(at.offset)
        if not reference.is_end(at.offset) or at.batch_aligned != boundary:
            raise Violation("M-09", f"{name} shows {at}", "ends where it does not say")
        if at.epoch != reference.epoch_of(at.offset):
            story = f"{name} shows {at}, of epoch {reference.epoch_of(at.offset)}"
            raise Violation("M-02", story, "another epoch")
        if not boundary:
            self._mark(marks.BEFORE_A_BEGIN)
        aborted: dict[Key, None] = {}
        keys: dict[Key, None] = {}
        for change in reference.changed(before.offset, at.offset):
            keys[change.key] = None
            if change.aborted:
                aborted[change.key] = None
        if delta is not None:
            keys |= dict.fromkeys(touched(delta))
        for key in keys:
            found, due = fact_in(after, key), reference.at(key, at.offset)
            if found == due:
                continue
            oracle = "M-02"
            if key in aborted:
                oracle = "M-06"
            elif by_snapshot and due is None:
                oracle = "M-07"
            story = f"{name} at {at.offset}: {spelled(key)} is {found}, must be {due}"
            raise Violation(oracle, story, f"another {key[0]}")
        self._note_step(before, after, by_snapshot, keys)

    def _note_step(
        self,
        before: MetadataImage,
        after: MetadataImage,
        by_snapshot: bool,
        keys: dict[Key, None],
    ) -> None:
        if before.is_empty:
            return
        upto = after.offset
        gone = (key for key in keys if self._reference.at(key, upto) is None)
        if by_snapshot and any(fact_in(before, key) is not None for key in gone):
            self._mark(marks.REMOVED)
        for name, topic_id in before.topics.names.items():
            if after.topics.names.get(name, topic_id) != topic_id:
                self._mark(marks.RENEWED)

    def _note_level(self, publication: Publication) -> None:
        change = publication.delta.metadata_version_change
        if change is None or change.before is None:
            return
        if change.is_upgrade:
            self._mark(marks.RAISED_LEVEL)
        elif change.is_downgrade:
            self._mark(marks.LOWERED_LEVEL)

    def whole(self, node: Node) -> None:
        """M-02: compare all of a node's image, and what its subscribers have."""
        image = node.metadata.image
        wrong = difference(facts_in(image), self._reference.whole(image.offset))
        if wrong:
            raise Violation("M-02", f"{node.name} at {image.offset}: {wrong}", "another image")
        self.all_there(node.name, node.replicas)

    # --- what has to wait --------------------------------------------------------------------

    def _when(self, end_offset: int, look: Callable[[], None]) -> None:
        """Look now, or when everything below an offset is known to be committed."""
        if end_offset <= self._reference.end_offset:
            look()
        else:
            self._waiting.append((end_offset, look))

    def look(self) -> None:
        """Look at what can be looked at by now."""
        ready = [item for item in self._waiting if item[0] <= self._reference.end_offset]
        for item in ready:
            self._waiting.remove(item)
            item[1]()


def is_snapshot(publication: Publication) -> bool:
    """Tell whether a publication tells of a snapshot, and is no introduction."""
    manifest = publication.manifest
    return isinstance(manifest, SnapshotManifest) and publication.delta.image is not EMPTY
