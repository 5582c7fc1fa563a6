"""One cluster of the ``metadata`` profile: a quorum, what it has agreed upon, and who has to know.

People make whoever leads write: topics, brokers, configs and all the rest, transactions among them.
They also see to it that those who are told are slow, raise, come late and go.  Each host stands for
one broker: its replicas are where the partitions of a broker will be.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from barnabas.metadata.faults import BadRecord, Unfoldable
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.publication import LeaderAndEpoch, Publication
from barnabas.model.ids import TopicIdPartition
from barnabas.runtime.runtime import Runtime
from barnabas.sim.plan import Operation, Plan
from barnabas.sim.process import Process
from barnabas.sim.profiles.metadata import marks
from barnabas.sim.profiles.metadata.drive import (
    REPLICAS,
    VITAL,
    Alter,
    Node,
    Station,
    Transaction,
    live,
)
from barnabas.sim.profiles.metadata.judges import MetadataJudges
from barnabas.sim.profiles.metadata.mutants import plant
from barnabas.sim.profiles.metadata.readers import Held, Seen
from barnabas.sim.profiles.raft.stage import RETRY_MS, TRIES, Stage, host_of
from barnabas.sim.world import World


class MetadataScene(Stage[Node]):
    """A cluster and those who use it."""

    def __init__(self, world: World, plan: Plan) -> None:
        plant(plan.mutant)
        super().__init__(world, plan)
        self._poisoned: Final[dict[str, None]] = {}
        # Whose subscribers are to raise at the next news, and which of them.
        self._stumbling: Final[dict[str, str]] = {}
        self._spoiled: Final[dict[str, None]] = {}
        self._judges: Final = MetadataJudges(
            world, self.first_voters(), plan.knob("snapshot_bytes", 4_096)
        )
        self.start()

    @property
    def judges(self) -> MetadataJudges:
        """The oracles."""
        return self._judges

    @property
    def committed_values(self) -> Mapping[str, int]:
        """What clients have set and was committed, and behind which offset."""
        return self._judges.reference.values

    async def live(self, host: str, runtime: Runtime) -> None:
        """Be the node of a host."""
        await live(runtime, self.part_of(host), self.station_of(host), self)

    def station_of(self, host: str) -> Station:
        """Return what a host is in the cluster."""
        return Station(
            self.hosts.index(host) + 1,
            self.plan.knob("level", 30),
            one_by_one=self.plan.knob("one_by_one", 0) == 1,
        )

    # --- what processes say: ``drive.Audience`` ------------------------------------------------

    def born(self, name: str, node: Node) -> None:
        """Learn of a process that is about to begin."""
        self._judges.publishing.born(node)
        self.meet(name, node)

    def claimed(self, node: Node) -> None:
        """Let the oracles hear who leads, as the desk is told."""
        self._judges.claimed(node.name, node.desk)

    def handing(self, node: Node, end_offset: int) -> None:
        """Let the oracles hear what is about to be handed over."""
        self._judges.handing(node, end_offset)

    def handed(self, node: Node, by_snapshot: bool, poisoned: bool) -> None:
        """Let the oracles hear what was handed over."""
        self._judges.handed(node, by_snapshot, poisoned)

    def installed(self, node: Node, subscribers: Sequence[Seen]) -> None:
        """Let the oracles hear who comes."""
        self._judges.publishing.installed(node, subscribers)

    def removed(self, node: Node, name: str) -> None:
        """Let the oracles hear who goes."""
        self._judges.publishing.removed(node, name)

    def snapshot(self, node: Node, image: MetadataImage) -> None:
        """Let the oracles hear what is written down."""
        self._judges.snapshot(node, image)

    def inherited(self, node: Node) -> None:
        """Let the oracles hear of a transaction that lost its leader."""
        self._judges.inherited(node)

    def published(self, name: str, seen: Seen, publication: Publication) -> None:
        """Let the oracles hear what a subscriber is told."""
        self._judges.published(name, seen, publication)

    def applied(self, name: str, seen: Seen) -> None:
        """Let the oracles hear that it is done."""
        self._judges.applied(name, seen)

    def led(self, name: str, seen: Seen, leader: LeaderAndEpoch) -> None:
        """Let the oracles hear whom it is told."""
        self._judges.led(name, seen, leader)

    def held_up(self, name: str, seen: Seen, blocked_ms: int) -> None:
        """Let the oracles hear how long it blocked."""
        self._judges.held_up(name, seen, blocked_ms)

    def moved(self, name: str, place: TopicIdPartition, before: Held, after: Held) -> None:
        """Let the oracles hear of a replica that moved."""
        self._judges.moved(name, place, before, after)

    def delay_ms(self, name: str) -> int:
        """Return how slow subscribers of a process are now."""
        delay_ms = super().delay_ms(name)
        if delay_ms:
            self.world.mark(marks.SLOW)
        return delay_ms

    def stumbles(self, name: str, subscriber: str) -> bool:
        """Tell whether a subscriber is to raise, once."""
        host = name.partition(".")[0]
        if self._stumbling.get(host) != subscriber:
            return False
        del self._stumbling[host]
        if subscriber in (VITAL, REPLICAS):
            self._spoiled[name] = None
            self.world.mark(marks.VITAL_FAILED)
        else:
            told = self._judges.publishing.lives[name].told
            first = any(
                each.publisher.name == subscriber and not each.is_introduced and not each.is_closed
                for each in told
            )
            self.world.mark(marks.STUMBLED if first else marks.RAISED)
        return True

    def is_poisoned(self, name: str) -> bool:
        """Tell whether a record is to be unreadable this time; the next life can read it."""
        if self._poisoned.pop(name.partition(".")[0], "no") is not None:
            return False
        self._spoiled[name] = None
        self.world.mark(marks.POISONED)
        return True

    # --- what people do ------------------------------------------------------------------------

    def perform(self, operation: Operation) -> None:
        """Let people do what a plan says."""
        match operation.what, operation.arguments:
            case "decide", (str(what), int(seed), int(count), int(chooser)):
                self.lead_to(chooser, lambda node: self.input(node, node.decide, what, seed, count))
            case "transact", (int(seed), int(parts), int(gap_ms), int(aborts), int(chooser)):
                told = Transaction(seed, parts, gap_ms, aborts == 1)
                self.lead_to(chooser, lambda node: self.input(node, node.transact, told))
            case "alter", (str(host), int(seed), int(late_ms)):
                self._alter(host, seed, late_ms)
            case "write", (int(count), int(chooser)):
                number = len(self.written)
                self.write("asked", tuple(f"{number}:{at}" for at in range(count)), chooser)
            case "poison", (str(host),):
                self._poisoned[host] = None
            case "stumble", (str(host), str(subscriber)):
                self._stumbling[host] = subscriber
            case "come", (str(host), str(subscriber)):
                self._at(host, lambda node: self.input(node, node.come, subscriber, False))
            case ("leave" | "swap") as what, (str(host), str(subscriber)):
                self._at(host, lambda node: self.input(node, getattr(node, what), subscriber))
            case _:
                super().perform(operation)

    def _at(self, host: str, call: Callable[[Node], object]) -> None:
        node = self.living(host)
        if node is not None:
            call(node)

    def lead_to(self, chooser: int, call: Callable[[Node], object], tries: int = TRIES) -> None:
        """Let something happen at whoever leads, as soon as there is somebody."""
        claimants = self.claimants()
        if claimants:
            call(claimants[chooser % len(claimants)])
        elif tries:
            again = partial(self.lead_to, chooser, call, tries - 1)
            self.world.later(RETRY_MS, again)

    def _alter(self, host: str, seed: int, late_ms: int) -> None:
        """Let the broker of a host ask for another ISR of a partition that it leads."""
        broker = self.living(host)
        if broker is None:
            return
        led = [
            (place, held) for place, held in broker.replicas.table.items() if held.role == "leader"
        ]
        if not led:
            return
        place, held = led[seed % len(led)]
        isr = held.isr if seed % 3 else (broker.replicas.broker_id,)
        asked = Alter(place, held.leader_epoch, held.partition_epoch, isr)

        def answered(epochs: tuple[int, int]) -> None:
            # Before the log says so, or after.
            self.world.later(late_ms, lambda: self._answer(broker, place, epochs))

        self.lead_to(seed, lambda node: self.input(node, node.alter, asked, answered))

    def _answer(self, broker: Node, place: TopicIdPartition, epochs: tuple[int, int]) -> None:
        if self.living(host_of(broker)) is broker:
            self.input(broker, broker.replicas.answered, place, *epochs)

    # --- ``Stage`` -----------------------------------------------------------------------------

    def healed(self, hosts: Sequence[str]) -> None:
        """Spoil nothing any more, and hold the hosts to their promises."""
        self._poisoned.clear()
        self._stumbling.clear()
        super().healed(hosts)

    def forgives(self, process: Process, error: BaseException | None) -> bool:
        """Forgive what was spoiled on purpose, too: a record, a subscriber that is vital."""
        if not isinstance(error, Unfoldable | BadRecord):
            return super().forgives(process, error)
        spoiled = process.name in self._spoiled
        if not spoiled:
            self.world.found(self._judges.publishing.unfoldable(process.name, error))
        return spoiled

    def is_calm(self) -> bool:
        """Tell whether nobody writes a snapshot, and all have come to the same end."""
        ends = {each.offset for each in self.all_living()}
        return super().is_calm() and len(ends) == 1

    def quiet(self, members: Sequence[Node]) -> None:
        """Look at everybody's image."""
        self._judges.quiet(members, again=False)

    def audit(self, world: World) -> None:
        """Look at everything, before and after a restart of all."""
        # Whoever still writes a snapshot would count what comes now for the next one.
        self.rest()
        # As a controller does that has nothing else to write: what came while a snapshot was
        # written counts for the next, which is begun with the news.
        self.lead_to(0, lambda node: self.input(node, node.decide, "nothing", 0, 1))
        world.run_ms(self.plan.phases.quiesce_ms)
        super().audit(world)
        self._judges.quiet(self.all_living(), again=True)
