"""Histories of a cluster: brokers that bounce, lie and come back, and people who interfere.

``ClusterHistory`` plays one controller's log, the brokers that talk to it and the people who ask
for things, all from one number.  Every decision is judged by the oracles at once; what they cannot
know, because it is not in any state, is remembered here in the plainest way: who was heard of when,
which life ended how, at which offset a shutdown began.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from barnabas.controller.alter_partition import Altered, alter
from barnabas.controller.brokers import (
    Answered,
    Joining,
    fence,
    heartbeat,
    register,
    register_controller,
    unregister,
)
from barnabas.controller.config import ControllerConfig
from barnabas.controller.directories import Assigned, assign
from barnabas.controller.elections import Round, balance, elect, elect_unclean
from barnabas.controller.heartbeats import Life, Sessions
from barnabas.controller.partitions import LOST
from barnabas.controller.reassignment import reassign
from barnabas.controller.state import BLANK, ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.control.states import (
    Place,
    Situation,
    Step,
    check_b06,
    check_state,
    check_step,
    naive_index,
    partitions,
    told_index,
)
from barnabas.sim.world import Violation
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message
from tests.controller.kit import features, setting

T = TypeVar("T")

CLUSTER = "the cluster"
TIMEOUT_MS = 9_000
BROKERS = range(1, 7)
LEVELS = (7, 11, 12, 16, 17, 22, 23, 29, 30, 30, 30, 31)


@dataclass
class Process:
    """A broker's process, as far as a controller can notice."""

    broker: int
    incarnation: Uuid
    directories: list[Uuid]
    epoch: int | None = None
    """None until it knows that it is registered."""
    clean_mark: int = -1
    """The epoch in which the life before ended cleanly, as its disk says."""
    offline: list[Uuid] = field(default_factory=list)
    stopping: bool = False


class ClusterHistory:
    """One cluster, from its first record on."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.level = self.random.choice(LEVELS)
        self.elr = self.level >= 23 and self.random.random() < 0.75
        self.config = ControllerConfig(1000, session_timeout_ms=TIMEOUT_MS)
        self.healthy = self.random.random() < 0.6
        """Whether brokers beat on time, as a rule."""
        self.seen: Counter[str] = Counter()
        """What this history has come across."""
        self.story: list[str] = []
        self.state: ControllerState = BLANK
        self.offset = 0
        self.now_ms = 0
        self.sessions = Sessions(TIMEOUT_MS)
        self.processes: dict[int, Process] = {}
        self.marks: dict[int, int] = {}
        """In which epoch each broker that is down ended cleanly, as its disk says."""
        # What no state says.
        self.epochs: list[int] = []
        self.heard_ms: dict[Life, int] = {}
        self.active_since_ms = 0
        self.read: dict[Life, int] = {}
        self.stops_at: dict[Life, int] = {}
        self.write(features(self.level, self.elr))
        self.topics()

    # --- The log ---

    def world(self) -> Situation:
        """Return what the oracles see."""
        return Situation(self.state.image, self.config.static)

    def write(self, records: Sequence[Message]) -> None:
        """Append records, as they are said at the level."""
        for record in records:
            said = decode_record(self.state.encode(record))[0]
            assert said == record, f"level {self.level} cannot say {record}"
        self.state = self.state.apply(records)
        self.offset += len(records)

    def decided(
        self,
        what: str,
        decision: Decision[Message, T],
        joined: Mapping[Place, frozenset[int]] | None = None,
        unclean: int = -1,
        asked: bool = False,
    ) -> T:
        """Append what was decided, and let the oracles judge it."""
        before, offset = self.world(), self.offset
        self.story.append(f"{self.now_ms:>7} {self.offset:>5} {what}: {list(decision.records)}")
        self.write(decision.records)
        after = self.world()
        check_state(after)
        check_step(Step(before, after, decision.records, joined or {}, unclean, asked, offset))
        assert told_index(self.state.index) == naive_index(self.state.image), "C-16"
        self.notice(before, after)
        return decision.reply

    def notice(self, before: Situation, after: Situation) -> None:
        """Count what happened to partitions."""
        for topic, number, now in partitions(after.image):
            was = before.image.topics.partition(topic.id, number)
            if was is None or was == now:
                continue
            if now.leader < 0 <= was.leader:
                self.seen["leaderless"] += 1
            if now.leader >= 0 and now.leader != was.leader:
                self.seen["elected " + self.elected(was, now)] += 1
            if now.elr and not was.elr:
                self.seen["somebody is eligible"] += 1
            if (
                not now.adding_replicas
                and not now.removing_replicas
                and (was.adding_replicas or was.removing_replicas)
            ):
                self.seen["reassignment over"] += 1

    def elected(self, was: PartitionRegistration, now: PartitionRegistration) -> str:
        """Return where a leader came from."""
        if now.leader in was.isr:
            return "from the ISR"
        if now.leader in was.elr:
            return "from the ELR"
        if now.leader in was.last_known_elr:
            return "as the last known leader"
        if now.leader_recovery_state and was.replicas == (now.leader,):
            return "as the only replica"
        return "uncleanly" if now.leader_recovery_state else "as one that has just joined"

    def topics(self) -> None:
        """Configure two topics; their partitions come when there are brokers."""
        for name in ("orders", "clicks"):
            least, loose = self.random.randint(1, 3), self.random.random() < 0.25
            self.write([setting("min.insync.replicas", str(least), name)])
            self.write([setting("unclean.leader.election.enable", str(loose).lower(), name)])

    def change_mind(self) -> None:
        """Let a topic prefer any leader to none, or not any more."""
        name = self.random.choice(("orders", "clicks"))
        loose = self.random.random() < 0.4
        self.write([setting("unclean.leader.election.enable", str(loose).lower(), name)])
        if loose:
            self.elect_every_so_often(elect_unclean)

    # --- What may happen ---

    def run(self, steps: int) -> None:
        """Let things happen."""
        actions: Sequence[tuple[int, Callable[[], None]]] = (
            (3, self.start), (2, self.register_again), (14, self.beat), (2, self.beat_as_zombie),
            (5, self.wait), (3, self.create), (12, self.propose), (2, self.propose_nonsense),
            (2, self.ask_for_leaders), (2, self.every_so_often), (3, self.move), (2, self.cancel),
            (2, self.put), (1, self.forget), (1, self.fail_over), (2, self.crash), (2, self.stop),
            (1, self.lose_directory), (1, self.register_controller), (1, self.everybody_is_silent),
            (2, self.change_mind),
        )  # fmt: skip
        # Swarm: what perturbs is rare in some histories, and never happens in others.
        perturbing = (
            self.crash, self.wait, self.everybody_is_silent, self.stop, self.forget,
            self.lose_directory, self.fail_over, self.start, self.propose_nonsense, self.move,
        )  # fmt: skip
        rare = [each for each in perturbing if self.random.random() < 0.4]
        never = [each for each in perturbing if self.random.random() < 0.15]
        weighted = [
            action
            for weight, action in actions
            if action not in never
            for _ in range(weight if action in rare else 4 * weight)
        ]
        for broker in BROKERS:
            self.begin(broker)
            if broker in self.processes:
                self.beat_of(self.processes[broker], want_fence=False)
        for _ in range(steps):
            self.random.choice(weighted)()

    def any(self, things: Sequence[T]) -> T | None:
        """Draw one of some things; None if there are none."""
        return self.random.choice(things) if things else None

    def living(self) -> Process | None:
        """Draw a process that is registered, as far as it knows."""
        return self.any([each for each in self.processes.values() if each.epoch is not None])

    def registration(self, broker: int) -> BrokerRegistration | None:
        """Return how a broker is registered."""
        return self.state.image.cluster.brokers.get(broker)

    # --- Lives ---

    def start(self) -> None:
        """Start a broker that is down, or beside one that is up: the same id twice."""
        broker = self.random.choice(BROKERS)
        if broker not in self.processes or self.random.random() < 0.2:
            self.begin(broker)

    def begin(self, broker: int) -> None:
        """Begin another life of a broker, which remembers what its disk says."""
        seen = self.registration(broker)
        mark = self.marks.pop(broker, -1)
        if self.random.random() < 0.15:
            # Another disk, or a former one; or it lies.
            mark = self.random.choice((-1, 0, seen.epoch if seen else 7))
        # Rarely a disk is the copy of another broker's.
        owner = broker if self.random.random() < 0.96 else self.random.choice(BROKERS)
        places = [Uuid(bytes([place]) * 8 + owner.to_bytes(8)) for place in (0xD0, 0xD1)]
        if self.random.random() < 0.1:
            places = places[:1]
        life = Process(broker, Uuid(self.random.randbytes(16)), places, clean_mark=mark)
        if self.joined(life):
            self.processes[broker] = life

    def register_again(self) -> None:
        """Register once more, as one that did not hear the answer."""
        if process := self.living():
            self.seen["registered again"] += self.joined(process)

    def joined(self, process: Process) -> bool:
        """Let a process register."""
        known = self.registration(process.broker)
        version = self.random.choice((2, 3, 4, 4, 4))
        request = BrokerRegistrationRequest(
            broker_id=process.broker,
            cluster_id=CLUSTER,
            incarnation_id=process.incarnation,
            listeners=[
                BrokerRegistrationRequest.Listener(
                    name="PLAINTEXT", host="b", port=9092, security_protocol=0
                )
            ],
            features=[
                BrokerRegistrationRequest.Feature(
                    name=name, min_supported_version=0, max_supported_version=40
                )
                for name in ("metadata.version", "eligible.leader.replicas.version")
            ],
            log_dirs=[place for place in process.directories if place not in process.offline],
            previous_broker_epoch=process.clean_mark,
        )
        joining = Joining(CLUSTER, 0, version, self.now_ms)
        decision = register(self.state, self.offset, self.config, self.sessions, joining, request)
        same = known is not None and known.incarnation_id == process.incarnation
        if isinstance(decision.reply, Refused):
            self.decided(f"{process.broker} may not join", decision)
            if decision.reply.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                assert known is not None
                assert self.is_alive(Life(known.id, known.epoch)), "B-02: it was silent"
                self.seen["the same id twice"] += 1
            else:
                assert decision.reply.code is ErrorCode.INVALID_REGISTRATION, decision.reply
                self.seen["a copied disk"] += 1
            return False
        clean = same or (version >= 3 and known is not None and known.epoch == process.clean_mark)
        told = self.decided(
            f"{process.broker} joins, {'clean' if clean else 'unclean'}",
            decision,
            unclean=-1 if clean else process.broker,
        )
        assert isinstance(told, BrokerRegistrationResponse)
        self.check_joined(process, known, same, told.broker_epoch)
        self.seen["joined clean" if clean else "joined unclean"] += not same
        if not clean and (version >= 3 or self.elr):
            check_b06(self.state.image, process.broker)
        process.epoch = told.broker_epoch
        return True

    def check_joined(
        self,
        process: Process,
        known: BrokerRegistration | None,
        same: bool,
        epoch: int,
    ) -> None:
        """B-01 and B-02, over all lives that there ever were."""
        now = self.registration(process.broker)
        assert now is not None
        assert now.epoch == epoch, "B-01: it was told another"
        if same:
            return
        assert epoch > max(self.epochs, default=-1), "B-01: epochs rise"
        self.epochs.append(epoch)
        if known is not None:
            assert not self.is_alive(Life(known.id, known.epoch)), "B-02: it was heard of"

    def is_alive(self, life: Life) -> bool:
        """Tell whether a life was heard of within the session's time, by this controller."""
        heard = self.heard_ms.get(life)
        return heard is not None and self.now_ms - heard <= TIMEOUT_MS

    def crash(self) -> None:
        """End a life without warning."""
        if process := self.living():
            self.processes.pop(process.broker)
            self.seen["crashed"] += 1

    def stop(self) -> None:
        """Ask a broker to stop."""
        if process := self.living():
            process.stopping = True

    def lose_directory(self) -> None:
        """Let one directory of a broker fail."""
        process = self.living()
        if process and (place := self.any(process.directories)) and place not in process.offline:
            process.offline.append(place)
            self.seen["a directory failed"] += 1

    def forget(self) -> None:
        """Unregister a broker, dead or alive."""
        broker = self.random.choice(BROKERS)
        request = UnregisterBrokerRequest(broker_id=broker)
        known = self.registration(broker)
        reply = self.decided(f"forget {broker}", unregister(self.state, self.config, request))
        assert (reply.error_code == ErrorCode.NONE) == (known is not None)
        self.seen["forgotten"] += known is not None

    def register_controller(self) -> None:
        """Let a controller register."""
        request = ControllerRegistrationRequest(
            controller_id=1000,
            incarnation_id=Uuid(self.random.randbytes(16)),
            listeners=[
                ControllerRegistrationRequest.Listener(
                    name="CONTROLLER", host="c", port=9093, security_protocol=0
                )
            ],
        )
        reply = self.decided("a controller", register_controller(self.state, request))
        assert (reply.error_code == ErrorCode.NONE) == (self.level >= 15)

    # --- Heartbeats and time ---

    def beat(self) -> None:
        """Let a broker send a heartbeat, in any mood."""
        if process := self.living():
            self.beat_of(process, want_fence=self.random.random() < 0.08)

    def beat_of(self, process: Process, want_fence: bool) -> None:
        """Let a process send a heartbeat."""
        assert process.epoch is not None
        behind = self.random.choice((0, 0, 0, 1, 5, 50))
        request = BrokerHeartbeatRequest(
            broker_id=process.broker,
            broker_epoch=process.epoch,
            current_metadata_offset=max(-1, self.offset - 1 - behind),
            want_fence=want_fence,
            want_shut_down=process.stopping,
            offline_log_dirs=process.offline,
            cordoned_log_dirs=self.random.choice((None, (), tuple(process.directories[:1]))),
        )
        life, before = Life(process.broker, process.epoch), self.registration(process.broker)
        self.sessions.heard(self.state, *life, self.now_ms)
        if before is not None and before.epoch == process.epoch:
            self.heard_ms[life] = self.now_ms
        index = self.state.index
        told = self.decided(
            f"{process.broker} beats",
            heartbeat(self.state, self.offset, self.config, self.sessions, request),
        )
        if isinstance(told, Refused):
            assert told.code is ErrorCode.STALE_BROKER_EPOCH
            self.seen["stale heartbeat"] += 1
            # It exits, or registers again.
            self.processes.pop(process.broker, None)
            return
        assert before is not None
        self.check_beaten(process, before, request, told, index.leads(process.broker))
        self.sessions.note(told.heartbeat)

    def check_beaten(
        self,
        process: Process,
        before: BrokerRegistration,
        request: BrokerHeartbeatRequest,
        told: Answered,
        led: bool,
    ) -> None:
        """B-03, B-04 and B-12."""
        life, now = Life(before.id, before.epoch), self.registration(before.id)
        assert now is not None
        assert before.epoch == request.broker_epoch == now.epoch, "B-03"
        assert told.response.is_fenced == now.fenced
        assert told.response.is_caught_up == (request.current_metadata_offset >= now.epoch)
        if before.fenced and not now.fenced:
            assert not request.want_fence, "B-04"
            assert request.current_metadata_offset >= now.epoch, "B-04"
            self.seen["unfenced"] += 1
        if now.in_controlled_shutdown and not before.in_controlled_shutdown:
            self.seen["controlled shutdown"] += 1
        if told.response.should_shut_down:
            assert now.fenced, "B-12: it may stop, and is not fenced"
            if before.in_controlled_shutdown and not before.fenced:
                self.check_stopped(life, led)
            self.seen["stopped"] += 1
            if self.random.random() < 0.9:
                self.marks[before.id] = before.epoch
            self.processes.pop(before.id, None)
            self.heard_ms.pop(life, None)
        elif now.in_controlled_shutdown and not now.fenced:
            if life in self.stops_at:
                waits = led or self.waits_for(life) is not None
                assert waits, "BL-3: it leads nothing, all others know, and it may not stop"
            self.stops_at.setdefault(life, self.offset - 1)
        self.read[life] = request.current_metadata_offset

    def check_stopped(self, life: Life, led: bool) -> None:
        """B-12: it leads nothing, and every active broker knows that."""
        assert not led, "B-12: it leads"
        unknowing = self.waits_for(life)
        assert unknowing is None, f"B-12: {unknowing} does not know yet"

    def waits_for(self, life: Life) -> int | None:
        """Return an active broker that does not know yet who leads in place of one that stops."""
        for broker in self.state.image.cluster.brokers.values():
            read = self.read.get(Life(broker.id, broker.epoch), -1)
            active = broker.id != life.broker and self.world().is_active(broker.id)
            if active and read < self.stops_at[life]:
                return broker.id
        return None

    def beat_as_zombie(self) -> None:
        """Let a former life send a heartbeat that would change everything (B-03)."""
        broker, known = self.random.choice(BROKERS), self.state.image
        epoch = self.any(self.epochs) or 0
        living = self.registration(broker)
        if living is not None and living.epoch == epoch:
            return
        request = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=epoch,
            current_metadata_offset=self.offset,
            want_fence=self.random.random() < 0.5,
            want_shut_down=self.random.random() < 0.5,
            offline_log_dirs=living.directories if living else (),
        )
        self.sessions.heard(self.state, broker, epoch, self.now_ms)
        decision = heartbeat(self.state, self.offset, self.config, self.sessions, request)
        assert isinstance(decision.reply, Refused), "B-03"
        assert not decision.records, "B-03"
        assert self.state.image == known
        self.seen["a zombie"] += 1

    def wait(self) -> None:
        """Let time pass, and fence whoever was silent for too long."""
        self.now_ms += self.random.choice((100, 1_000, 3_000, 3_000))
        if self.healthy:
            for process in sorted(self.processes.values(), key=lambda each: each.broker):
                if process.epoch is not None and self.random.random() < 0.9:
                    self.beat_of(process, want_fence=False)
        self.expire()

    def everybody_is_silent(self) -> None:
        """Let nobody be heard of for longer than a session."""
        self.now_ms += TIMEOUT_MS + 1
        self.expire()

    def expire(self) -> None:
        """Fence whoever was silent for too long (B-11)."""
        while (life := self.sessions.expired(self.now_ms)) is not None:
            heard = max(self.heard_ms.get(life, 0), self.active_since_ms)
            assert self.now_ms - heard > TIMEOUT_MS, "B-11: fenced too early"
            before = self.registration(life.broker)
            fenced = self.decided(f"fence {life}", fence(self.state, self.config, life))
            assert fenced == (
                before is not None and before.epoch == life.epoch and not before.fenced
            )
            self.seen["fenced for silence"] += fenced
            self.sessions.ended(life)
        for broker in self.state.image.cluster.brokers.values():
            if not broker.fenced:
                heard = max(self.heard_ms.get(Life(broker.id, broker.epoch), 0), 0)
                heard = max(heard, self.active_since_ms)
                assert self.now_ms - heard <= TIMEOUT_MS, f"{broker} is dead and unfenced"

    def fail_over(self) -> None:
        """Let another controller take over, which knows what is in the log and nothing else."""
        self.sessions = Sessions(TIMEOUT_MS)
        self.sessions.activated(self.state, self.now_ms)
        self.active_since_ms = self.now_ms
        self.heard_ms = {
            Life(broker.id, broker.epoch): self.now_ms
            for broker in self.state.image.cluster.brokers.values()
            if not broker.fenced
        }
        self.read, self.stops_at = {}, {}
        self.seen["failover"] += 1

    # --- Partitions ---

    def create(self) -> None:
        """Create a partition, as CreateTopics and CreatePartitions would."""
        name = self.random.choice(("orders", "clicks"))
        replicas = self.random.sample(
            sorted(self.state.image.cluster.brokers),
            min(self.random.choice((1, 1, 2, 3, 3, 4)), len(self.state.image.cluster.brokers)),
        )
        isr = [each for each in replicas if self.world().is_active(each)]
        known = self.state.image.topics.named(name)
        if not isr or (known is not None and len(known.stored) > 5):
            return
        topic_id = known.id if known else Uuid(name.encode().ljust(16, b"."))
        records: list[Message] = [] if known else [TopicRecord(name=name, topic_id=topic_id)]
        brokers = self.state.image.cluster.brokers
        places = [
            brokers[each].directories[0] if brokers[each].directories else Uuid(bytes(16))
            for each in replicas
        ]
        records.append(
            PartitionRecord(
                topic_id=topic_id,
                partition_id=len(known.stored) if known else 0,
                replicas=replicas,
                isr=isr,
                leader=isr[0],
                directories=places if self.level >= 17 else (),
            )
        )
        self.write(records)
        check_state(self.world())

    def some_partition(
        self, which: Callable[[PartitionRegistration], bool] = lambda _: True
    ) -> tuple[str, Uuid, int, PartitionRegistration] | None:
        """Draw a partition."""
        return self.any(
            [
                (topic.name, topic.id, number, each)
                for topic, number, each in partitions(self.state.image)
                if which(each)
            ]
        )

    def propose(self) -> None:
        """Let a leader propose another ISR, as it would: of those that it can see."""
        found = self.some_partition(lambda each: each.leader >= 0)
        if found is None:
            return
        name, topic_id, number, partition = found
        others = [each for each in partition.replicas if each != partition.leader]
        isr = [partition.leader, *self.random.sample(others, self.random.randint(0, len(others)))]
        recovering = partition.leader_recovery_state and self.random.random() < 0.5
        overtaken = self.random.random() < 0.1 and partition.partition_epoch > 0
        self.proposed(
            partition.leader,
            name,
            topic_id,
            number,
            AlterPartitionRequest.PartitionData(
                partition_index=number,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch - overtaken,
                new_isr=isr,
                new_isr_with_epochs=self.lives(isr),
                leader_recovery_state=int(recovering),
            ),
        )

    def lives(self, isr: Sequence[int]) -> list[AlterPartitionRequest.BrokerState]:
        """Return the lives of brokers, as a leader may know them."""
        states = []
        for broker in isr:
            known = self.registration(broker)
            epoch = known.epoch if known else 0
            if self.random.random() < 0.1:
                epoch = self.random.choice((-1, epoch - 1))
            states.append(AlterPartitionRequest.BrokerState(broker_id=broker, broker_epoch=epoch))
        return states

    def propose_nonsense(self) -> None:
        """Let somebody propose what they may not."""
        found = self.some_partition()
        if found is None:
            return
        name, topic_id, number, partition = found
        isr = [self.random.choice(BROKERS) for _ in range(self.random.randint(0, 4))]
        self.proposed(
            self.random.choice((partition.leader, *BROKERS)),
            name,
            topic_id,
            number,
            AlterPartitionRequest.PartitionData(
                partition_index=number,
                leader_epoch=partition.leader_epoch + self.random.choice((-1, 0, 0, 1)),
                partition_epoch=partition.partition_epoch + self.random.choice((-1, 0, 0, 1)),
                new_isr=isr,
                new_isr_with_epochs=self.lives(isr),
                leader_recovery_state=self.random.choice((0, 0, 1, 2)),
            ),
        )

    def proposed(
        self,
        sender: int,
        name: str,
        topic_id: Uuid,
        number: int,
        told: AlterPartitionRequest.PartitionData,
    ) -> None:
        """Send a proposal, and judge what was accepted by the matrix, told another way (P-12)."""
        known = self.registration(sender)
        right = known is not None and self.random.random() < 0.9
        version = self.random.choice((2, 3, 3, 3))
        request = AlterPartitionRequest(
            broker_id=sender,
            broker_epoch=known.epoch if known and right else 7_777_777,
            topics=[AlterPartitionRequest.TopicData(topic_id=topic_id, partitions=[told])],
        )
        before = self.state.image.topics.partition(topic_id, number)
        assert before is not None
        isr = [each.broker_id for each in told.new_isr_with_epochs]
        expected = self.acceptable(sender, version, before, told) if right else False
        reply = self.decided(
            f"{sender} proposes {isr} for {name}-{number}",
            alter(self.state, self.config, version, request),
            {(topic_id, number): frozenset(isr)},
        )
        if isinstance(reply, Refused):
            assert not right, "P-12"
            assert reply.code is ErrorCode.STALE_BROKER_EPOCH
            return
        assert isinstance(reply, Altered)
        [[answer]] = [topic.partitions for topic in reply.response.topics]
        code = ErrorCode(answer.error_code)
        self.seen[f"AlterPartition: {code.name}"] += 1
        accepted = code in (ErrorCode.NONE, ErrorCode.NEW_LEADER_ELECTED)
        assert accepted == expected, f"P-12: {code.name} for {told} of {before}"
        now = self.state.image.topics.partition(topic_id, number)
        assert now is not None
        assert accepted or now == before, "P-12: refused and applied"
        if code is ErrorCode.NONE:
            assert (answer.leader_id, answer.leader_epoch) == (now.leader, now.leader_epoch)
            assert (tuple(answer.isr), answer.partition_epoch) == (now.isr, now.partition_epoch)
            assert answer.leader_recovery_state == now.leader_recovery_state
        if code is ErrorCode.NEW_LEADER_ELECTED:
            assert now.leader != sender

    def acceptable(
        self,
        sender: int,
        version: int,
        partition: PartitionRegistration,
        told: AlterPartitionRequest.PartitionData,
    ) -> bool:
        """Tell whether a proposal may be accepted, all conditions at once."""
        isr = [each.broker_id for each in told.new_isr_with_epochs]
        members = [self.registration(each) for each in isr]
        return (
            (told.leader_epoch, told.partition_epoch)
            == (partition.leader_epoch, partition.partition_epoch)
            and sender == partition.leader
            and sender in isr
            and len(set(isr)) == len(isr)
            and set(isr) <= set(partition.replicas)
            and (
                told.leader_recovery_state == 0
                or (
                    told.leader_recovery_state == 1
                    and len(isr) == 1
                    and partition.leader_recovery_state == 1
                )
            )
            and all(self.world().may_lead(each, partition) for each in isr)
            and all(
                version < 3
                or (known is not None and known.epoch == each.broker_epoch)
                or (
                    each.broker_epoch == -1 and (each.broker_id in partition.isr or self.level < 10)
                )
                for each, known in zip(told.new_isr_with_epochs, members, strict=True)
            )
        )

    def ask_for_leaders(self) -> None:
        """Ask for an election, preferred or unclean, of one partition or of all."""
        found, kind = self.some_partition(), self.random.choice((0, 1))
        told = None
        if found is not None and self.random.random() < 0.7:
            name, _, number, _ = found
            told = [ElectLeadersRequest.TopicPartitions(topic=name, partitions=[number])]
        request = ElectLeadersRequest(election_type=kind, topic_partitions=told)
        decision = elect(self.state, self.config, request)
        reply = self.decided(f"elect {kind} {told}", decision, asked=kind == 1)
        assert isinstance(reply, ElectLeadersResponse)
        for topic in reply.replica_election_results:
            for each in topic.partition_result:
                self.seen[f"ElectLeaders: {ErrorCode(each.error_code).name}"] += 1

    def every_so_often(self) -> None:
        """Let the periodic elections take a turn."""
        self.elect_every_so_often(self.random.choice((balance, elect_unclean)))

    def elect_every_so_often(
        self,
        kind: Callable[[ControllerState, ControllerConfig, int], Decision[Message, Round]],
    ) -> None:
        """Let one of them take a turn."""
        round_ = self.decided(kind.__name__, kind(self.state, self.config, 3))
        self.seen[kind.__name__] += round_.elected

    def move(self) -> None:
        """Ask for other replicas."""
        if found := self.some_partition():
            name, _, number, _ = found
            brokers = [*BROKERS] if self.random.random() < 0.9 else [1, 1, 99]
            target = self.random.sample(brokers, self.random.randint(0, min(4, len(brokers))))
            self.reassigned(name, number, target)

    def cancel(self) -> None:
        """Cancel a reassignment, or what is none."""
        ongoing = self.some_partition(lambda each: bool(each.adding_replicas))
        if found := ongoing or self.some_partition():
            name, _, number, _ = found
            self.reassigned(name, number, None)

    def reassigned(self, name: str, number: int, target: Sequence[int] | None) -> None:
        """Ask for a reassignment."""
        request = AlterPartitionReassignmentsRequest(
            allow_replication_factor_change=self.random.random() < 0.7,
            topics=[
                AlterPartitionReassignmentsRequest.ReassignableTopic(
                    name=name,
                    partitions=[
                        AlterPartitionReassignmentsRequest.ReassignablePartition(
                            partition_index=number, replicas=target
                        )
                    ],
                )
            ],
        )
        before = self.state.image
        reply = self.decided(
            f"move {name}-{number} to {target}", reassign(self.state, self.config, request)
        )
        [[answer]] = [topic.partitions for topic in reply.responses]
        code = ErrorCode(answer.error_code)
        self.seen[f"{'cancel' if target is None else 'move'}: {code.name}"] += 1
        assert code is ErrorCode.NONE or self.state.image == before

    def put(self) -> None:
        """Let a broker say where a replica lies: somewhere good, or lost."""
        process, found = self.living(), self.some_partition()
        if process is None or found is None or process.epoch is None:
            return
        _, topic_id, number, partition = found
        place = self.random.choice([*process.directories, LOST])
        request = AssignReplicasToDirsRequest(
            broker_id=process.broker,
            broker_epoch=process.epoch,
            directories=[
                AssignReplicasToDirsRequest.DirectoryData(
                    id=place,
                    topics=[
                        AssignReplicasToDirsRequest.TopicData(
                            topic_id=topic_id,
                            partitions=[
                                AssignReplicasToDirsRequest.PartitionData(partition_index=number)
                            ],
                        )
                    ],
                )
            ],
        )
        decision = assign(self.state, self.config, request)
        reply = self.decided(f"{process.broker} puts {number} into {place.hex()}", decision)
        known = self.registration(process.broker)
        if isinstance(reply, Refused):
            assert self.level < 17 or known is None or known.epoch != process.epoch
            return
        assert isinstance(reply, Assigned)
        now = self.state.image.topics.partition(topic_id, number)
        assert now is not None
        if process.broker in now.replicas:
            assert now.directory(process.broker) == place
            self.seen["put into a directory"] += 1
        else:
            # Not its own, or a reassignment that took it away was just waiting to be over.
            assert now == partition or process.broker in partition.removing_replicas


def told(history: ClusterHistory) -> str:
    """Return the end of a history, for whoever has to find out what went wrong."""
    return "\n".join(history.story[-12:])


def played(seed: int, steps: int = 120) -> ClusterHistory:
    """Play a history; what goes wrong in it is told with what led there."""
    history = ClusterHistory(seed)
    try:
        history.run(steps)
    except (AssertionError, Violation) as error:
        what: Any = error.args[0] if error.args else ""
        raise AssertionError(f"seed {seed}: {what}\n{told(history)}") from error
    return history
