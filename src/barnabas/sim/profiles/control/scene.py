"""One cluster of the ``control`` profile: controllers, brokers, an administrator, a twin.

    n1 n2 …   controllers        b1 b2 …   brokers
    p1        the administrator  t1        a machine with b1's node.id, which somebody starts now
                                           and then by mistake

What happens to machines is the nemesis's; what people do, and what disks do to a broker's
directories, is drawn as a workload and done here.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from barnabas.broker.lifecycle import NEXT, NUMBERS
from barnabas.broker.shell import Broker, BrokerFailed
from barnabas.controller.state import ControllerState
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.shell import MetadataShell
from barnabas.node.format import Wish
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.plan import Fault, Operation, Plan
from barnabas.sim.probes import Moment
from barnabas.sim.process import Process
from barnabas.sim.profiles.control import marks
from barnabas.sim.profiles.control.drive import Heard, live
from barnabas.sim.profiles.control.ledger import Ledger
from barnabas.sim.profiles.control.liveness import Debt, debts, names
from barnabas.sim.profiles.control.mutants import plant
from barnabas.sim.profiles.control.people import UNKNOWN, Administrator, creation, wish
from barnabas.sim.profiles.control.replicas import Board, Replicas
from barnabas.sim.profiles.control.states import Situation
from barnabas.sim.world import Checker, Violation, World
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.structs import Message, Request

CLUSTER: Final = "5Nt_67aCRU6aKtpHOgzdBA"
PORT: Final = 9093

TWIN: Final = "t1"
ADMINISTRATOR: Final = "p1"

# After a process has ended by an error that is excused, its host's supervisor waits so long.
SUPERVISED_MS: Final = 300

# What is owed besides what sessions, elections and retries need.
SLACK_MS: Final = 30_000

PROBE: Final = "probe"

BEATS: Final = 10
"""How many heartbeats a controlled shutdown may take, beside a session (BL-3)."""

# What a broker may become, by the numbers that it tells.
ORDER: Final = {
    NUMBERS[state]: frozenset(NUMBERS[later] for later in next_) for state, next_ in NEXT.items()
}


class ControlScene:
    """A cluster and those who use it."""

    def __init__(self, world: World, plan: Plan) -> None:
        plant(plan.mutant)
        self.world: Final = world
        self.plan: Final = plan
        self.controllers: Final = [host for host in plan.hosts if host.startswith("n")]
        self.brokers: Final = [host for host in plan.hosts if host.startswith("b")]
        self.session_ms: Final = plan.knob("session_ms", 3_000)
        self.beat_ms: Final = plan.knob("beat_ms", 500)
        self.static: Final = self.rules()
        self.ledger: Final = Ledger(self.static, self.session_ms, world.mark)
        self._board: Final = Board(lambda: world.now_ms)
        self._minds: Final[dict[str, Heard]] = {}
        self._serving: Final[dict[str, tuple[Broker, Replicas]]] = {}
        self._closing: Final[dict[str, None]] = {}
        self._states: Final[dict[tuple[str, int], int]] = {}
        self._twin_until_ms = 0
        self._administrator: Administrator | None = None
        self._begun = False
        self._probes = 0
        self._healed_ms = 0
        world.on("broker.became", self._became)
        for host in self.controllers:
            world.start(host, partial(self._live, self.controller_lines(host)))
        for host in self.brokers:
            world.start(host, partial(self._live, self.broker_lines(host)))
        if TWIN in plan.hosts:
            world.start(TWIN, self._twin)
        if ADMINISTRATOR in plan.hosts:
            world.start(ADMINISTRATOR, self._administer)

    # --- what nodes are told -----------------------------------------------------------------

    def rules(self) -> dict[str, str]:
        """Return what every properties file says."""
        plan = self.plan
        voters = ",".join(f"{host[1:]}@{host}:{PORT}" for host in self.controllers)
        return {
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "controller.quorum.election.timeout.ms": str(plan.knob("election_ms", 1_000)),
            "controller.quorum.election.backoff.max.ms": str(plan.knob("election_ms", 1_000)),
            "controller.quorum.fetch.timeout.ms": str(plan.knob("fetch_ms", 2_000)),
            "controller.quorum.request.timeout.ms": str(plan.knob("fetch_ms", 2_000)),
            "broker.session.timeout.ms": str(self.session_ms),
            "broker.heartbeat.interval.ms": str(self.beat_ms),
            "initial.broker.registration.timeout.ms": str(
                plan.knob("registration_ms", 10 * self.session_ms)
            ),
            "metadata.max.idle.interval.ms": str(plan.knob("idle_ms", 500)),
            "leader.imbalance.check.interval.seconds": "1",
            "unclean.leader.election.interval.ms": "1000",
            "metadata.log.max.record.bytes.between.snapshots": str(
                plan.knob("snapshot_bytes", 20_000)
            ),
            "metadata.max.retention.bytes": str(plan.knob("retention_bytes", 20_000)),
            "metadata.log.segment.bytes": str(8 << 20),
            "min.insync.replicas": str(plan.knob("min_in_sync", 1)),
        }

    def controller_lines(self, host: str) -> Mapping[str, str]:
        """Return the properties file of a controller."""
        return self.rules() | {
            "process.roles": "controller",
            "node.id": host[1:],
            "log.dirs": "/data",
            "listeners": f"CONTROLLER://{host}:{PORT}",
        }

    def broker_lines(self, host: str, node: str = "") -> Mapping[str, str]:
        """Return the properties file of a broker, whose id is 10 more than its host's number."""
        count = self.plan.knob("directories", 2)
        return self.rules() | {
            "process.roles": "broker",
            "node.id": str(broker_id(node or host)),
            "log.dirs": ",".join(f"/data{at}" for at in range(1, count + 1)),
            "listeners": f"PLAINTEXT://{host}:9092",
            "broker.rack": f"rack{int(host[1:]) % 2}",
        }

    async def _live(self, lines: Mapping[str, str], runtime: Runtime) -> None:
        level, elr = self.plan.knob("level", 29), self.plan.knob("elr", 1)
        features = [f"metadata.version={level}"]
        if level >= 23:
            features.append(f"eligible.leader.replicas.version={elr}")
        await live(runtime, lines, Wish(CLUSTER, None, tuple(features), (), True), self)

    async def _twin(self, runtime: Runtime) -> None:
        """Be another machine with the id of the first broker, as long as somebody lets it run."""
        if self.world.now_ms >= self._twin_until_ms:
            await asyncio.get_running_loop().create_future()
        await self._live(self.broker_lines(TWIN, self.brokers[0]), runtime)

    async def _administer(self, runtime: Runtime) -> None:
        self._administrator = Administrator(runtime, self.leader_place)
        await asyncio.get_running_loop().create_future()

    # --- what processes say: ``drive.Audience`` ------------------------------------------------

    @property
    def board(self) -> Board:
        """Where followers tell leaders that they keep up."""
        return self._board

    def controls(self, name: str, controller: Heard) -> None:
        """Learn of a controller."""
        self._minds[name] = controller

    def serves(self, name: str, broker: Broker, replicas: Replicas) -> None:
        """Learn of a broker."""
        self._serving[name] = broker, replicas

    def closing(self, name: str) -> None:
        """Learn that a process ends in good order."""
        self._closing[name] = None

    def follows(self, name: str, metadata: MetadataShell) -> None:
        """Learn of a node's metadata, which is the ``metadata`` profile's to judge."""

    def arrived(self, controller: Heard, request: Request) -> None:
        """Note when a broker was heard of."""
        epoch = controller.states.epoch
        if isinstance(request, BrokerHeartbeatRequest) and epoch is not None:
            term = self.ledger.term(controller, epoch)
            term.hear(request.broker_id, request.broker_epoch, controller.now_ms())

    def decided(
        self,
        controller: Heard,
        request: Request,
        version: int,
        state: ControllerState,
        decision: Decision[Message, object],
    ) -> None:
        """Let the oracles look at a decision."""
        look = partial(self.ledger.decided, controller, request, version, state, decision)
        self.world.judge(look)

    def appended(
        self, controller: Heard, epoch: int, offset: int, records: Sequence[Message]
    ) -> None:
        """Let the oracles look at what is written."""
        self.world.judge(partial(self.ledger.appended, controller, epoch, offset, records))

    def replied(self, controller: Heard, end_offset: int) -> None:
        """Let the oracles look at an answer."""
        self.world.judge(partial(self.ledger.replied, controller, end_offset))

    def turned(self, controller: Heard) -> None:
        """Let the oracles look at who leads."""
        self.world.judge(partial(self.ledger.turned, controller))

    def committed(self, name: str, batch: OpenedBatch) -> None:
        """Let the oracles look at what is committed."""
        self.world.judge(partial(self.ledger.committed, batch))

    def restored(self, name: str, image: MetadataImage) -> None:
        """Let the ledger know of a snapshot."""
        self.ledger.restored(image)

    def _became(self, moment: Moment) -> None:
        """B-08: a broker becomes nothing out of its turn."""
        state, life = moment.facts["state"], (moment.host, moment.life)
        assert isinstance(state, int)
        before = self._states.get(life, 0)
        self._states[life] = state
        if before and state not in ORDER[before]:
            self.world.found(Violation("B-08", f"{moment} follows on state {before}"))

    # --- how it stands -----------------------------------------------------------------------

    @property
    def situation(self) -> Situation:
        """What is committed."""
        return Situation(self.ledger.image, self.static)

    def deciding(self) -> Sequence[Heard]:
        """Return the controllers alive that decide, the newest epoch last."""
        found = [
            mind
            for host in self.controllers
            if (process := self.world.hosts[host].process) is not None
            and (mind := self._minds.get(process.name)) is not None
            and mind.is_active
        ]
        return sorted(found, key=lambda mind: mind.states.epoch or 0)

    def leader_place(self) -> Address | None:
        """Return where the controller is that decides, as far as people know."""
        found = self.deciding()
        return Address(found[-1].name.partition(".")[0], PORT) if found else None

    def broker_on(self, host: str) -> Broker | None:
        """Return the broker that runs on a host, if it has begun."""
        found = self._on(host)
        return None if found is None else found[0]

    def _on(self, host: str) -> tuple[Broker, Replicas] | None:
        process = self.world.hosts[host].process
        return None if process is None else self._serving.get(process.name)

    def owed(self) -> list[Debt]:
        """Return what is not as it has to be."""
        owed = list(debts(self, self.brokers))
        administrator = self._administrator
        if administrator is None or administrator.waiting:
            owed.append(("CL-2", "the administrator waits for an answer"))
        return owed

    # --- ``Scene`` ---------------------------------------------------------------------------

    @property
    def checkers(self) -> Sequence[Checker]:
        """None: everything is judged as it is heard."""
        return ()

    def ready(self) -> bool:
        """Tell whether everybody serves."""
        if self.owed():
            return False
        if not self._begun:
            self._begun = True
            for operation in self.plan.workload:
                self.world.later(
                    self.plan.phases.warm_up_ms + operation.at_ms,
                    partial(self.perform, operation),
                )
        return True

    def healed(self, hosts: Sequence[str]) -> None:
        """Take back what people and disks have done, and ask for one thing more."""
        self._begun = True
        self._healed_ms = self.world.now_ms
        self._board.silent.clear()
        self._end_twin()
        for host in self.brokers:
            found = self._on(host)
            if found is not None and found[1].offline:
                self._replace(host)
        self._probe()

    def recovered(self) -> bool:
        """Tell whether nothing is owed any more."""
        owed = self.owed()
        if not owed:
            return True
        if self.world.now_ms - self._healed_ms > self.plan.phases.recovery_ms - SUPERVISED_MS:
            oracle, why = owed[0]
            self.world.found(Violation(oracle, f"after {self.plan.phases.recovery_ms} ms, {why}"))
        return False

    def permits(self, world: World, fault: Fault) -> bool:
        """Permit everything that is drawn."""
        return True

    def excuses(self, process: Process) -> bool:
        """Excuse a broker that cannot go on and says why; its supervisor starts it again."""
        assert process.death is not None
        if not isinstance(process.death.error, BrokerFailed):
            return False
        if "registered under this node.id" in str(process.death.error):
            self.world.mark(marks.ZOMBIE)
        self.world.later(SUPERVISED_MS, partial(self._supervise, process.host))
        return True

    def audit(self, world: World) -> None:
        """Compare what people were told with what there is; then let a broker go in good order."""
        self._compare()
        host = self.brokers[-1]
        process = world.hosts[host].process
        assert process is not None, f"nothing runs on {host}"
        world.stop(host)
        limit_ms = self.session_ms + BEATS * self.beat_ms + self.plan.knob("slowest_ms", 1_000)
        if not world.run_until(lambda: process.death is not None, limit_ms):
            world.found(Violation("BL-3", f"{process.name} has not ended after {limit_ms} ms"))
        world.restart(host)
        if not world.run_until(lambda: not self.owed(), self.plan.phases.recovery_ms):
            oracle, why = self.owed()[0]
            world.found(Violation(oracle, f"after a controlled shutdown, {why}"))

    def _compare(self) -> None:
        """C-19: what was answered is so, however often it was asked."""
        assert self._administrator is not None, "nobody has asked for anything"
        found = names(self.ledger.image)
        for topic, count in sorted(self._administrator.made.items()):
            if count not in (UNKNOWN, found.get(topic, 0)):
                story = f"{topic} has {found.get(topic, 0)} partitions, and was to have {count}"
                self.world.found(Violation("C-19", story))
        if self._administrator.asked_again:
            self.world.mark(marks.ASKED_AGAIN)

    # --- what people and disks do ------------------------------------------------------------

    def perform(self, operation: Operation) -> None:
        """Do what a plan says."""
        match operation.what, operation.arguments:
            case "silence", (str(host), int(for_ms)):
                self._board.silent[broker_id(host)] = None
                self.world.later(for_ms, partial(self._board.silent.pop, broker_id(host), None))
            case "twin", (int(for_ms),):
                self._begin_twin(for_ms)
            case "lose", (str(host), int(number)):
                found = self._on(host)
                if found is not None:
                    self.world.mark(marks.OFFLINE)
                    self._input(host, found[1].directory_failed, number)
            case what, (int(seed),):
                brokers = [broker_id(host) for host in self.brokers]
                request = wish(what, seed, self.ledger.image, brokers)
                if request is not None:
                    self._ask(request)
            case what, arguments:
                raise AssertionError(f"nobody knows how to {what} with {arguments}")

    def _ask(self, request: Request) -> None:
        if self._administrator is not None:
            self._input(ADMINISTRATOR, self._administrator.ask, request)

    def _probe(self) -> None:
        self._probes += 1
        self._ask(creation(f"{PROBE}{self._probes}", 1, 1, {}))

    def _input(self, host: str, call: Callable[..., object], *facts: object) -> None:
        process = self.world.hosts[host].process
        if process is not None:
            process.loop.input(call, *facts)

    def _begin_twin(self, for_ms: int) -> None:
        if TWIN in self.world.hosts and self._twin_until_ms <= self.world.now_ms:
            self._twin_until_ms = self.world.now_ms + for_ms
            self._replace(TWIN)
            self.world.later(for_ms, self._end_twin)

    def _end_twin(self) -> None:
        if TWIN in self.world.hosts and self._twin_until_ms:
            self._twin_until_ms = 0
            self._replace(TWIN)

    def _replace(self, host: str) -> None:
        if self.world.hosts[host].powered:
            self.world.kill(host)
            self._supervise(host)

    def _supervise(self, host: str) -> None:
        there = self.world.hosts[host]
        if there.wanted and there.powered:
            self.world.restart(host)


def broker_id(host: str) -> int:
    """Return the node id of a broker's host."""
    return 10 + int(host[1:])
