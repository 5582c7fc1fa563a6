"""The port taken along a run, event by event: is what was done something that it allows?

    run:    ──── event: who did what, and how it is now ────▶
              ‖                                        ‖
    port:   state ── action, with what was chosen ─▶ state, which must be as told

What the product chose (whom to elect, how many records to send, where its high watermark is) is in
the event; whether it *may* is the port's to say, and the port goes on with its own state, its own
logs and its own messages, not with the product's.  The first event that is blocked, or that leads
somewhere else, is a ``Mismatch`` named by the action, with the guard as its place, or ``said`` or
``state``, or the property that is broken.

Whoever runs the simulation makes a walk for each partition when it is created, and hands it the
events of ``trace``; nothing here looks at the world.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Final, TypeVar

from barnabas.sim.specs.replication.applying import apply, kind_of
from barnabas.sim.specs.replication.cluster import (
    NONE,
    AlterAnswer,
    AlterRequest,
    Broker,
    Controller,
    Elected,
    FetchAnswer,
    FetchRequest,
    Message,
    Partition,
    Phase,
    Refusal,
    RegisterAnswer,
    RegisterRequest,
    Step,
    Told,
)
from barnabas.sim.specs.replication.controlling import (
    Decisions,
    alter,
    fence,
    reassign,
    register,
    unfence,
)
from barnabas.sim.specs.replication.fetching import ask, serve, take
from barnabas.sim.specs.replication.guards import BUILT, Rules
from barnabas.sim.specs.replication.leading import answered, append, propose, repeat
from barnabas.sim.specs.replication.lifecycle import disconnect, end, registered, start
from barnabas.sim.specs.replication.log import PLAIN
from barnabas.sim.specs.replication.properties import (
    History,
    of_broker,
    of_controller,
    of_history,
    of_standing,
)
from barnabas.sim.specs.replication.trace import (
    BrokerCrash,
    BrokerHeartbeat,
    BrokerRegistered,
    BrokerStart,
    BrokerStop,
    CtlAlter,
    CtlFailover,
    CtlFence,
    CtlReassign,
    CtlRegister,
    CtlUnfence,
    Event,
    Facts,
    FetchApply,
    FetchLost,
    FetchSend,
    FetchServe,
    PartAlterDone,
    PartAlterSend,
    PartAppend,
    PartApply,
    facts_of,
    summary,
)
from barnabas.sim.specs.rules import Blocked

M = TypeVar("M")


class Mismatch(Exception):  # noqa: N818 -- the run is wrong, and this is what about it
    """A step that the specification does not have."""

    def __init__(self, action: str, place: str, story: str) -> None:
        super().__init__(f"TV-replication-{action} {place}: {story}")
        self.action: Final = action
        self.place: Final = place
        """The guard that blocks it; or ``said``, ``state``, or the property that is broken."""


class Walk:
    """The port beside one partition of a run."""

    def __init__(
        self, controller: Controller, brokers: Sequence[Broker], offset: int, rules: Rules = BUILT
    ) -> None:
        self.actions: Final[dict[str, int]] = {}
        """How often each action was taken."""
        self.controller = controller
        self.brokers: Final = {broker.id: broker for broker in brokers}
        self.history = History()
        self.rules: Final = rules
        # How long the product's log is with each record of the port's.
        self._offsets: Final = [offset]
        # What was asked and what was answered, by broker and by number.
        self._registering: Final[set[RegisterRequest]] = set()
        self._registered: Final[dict[tuple[int, int], RegisterAnswer]] = {}
        self._asked: Final[dict[int, FetchRequest]] = {}
        self._answers: Final[dict[int, FetchAnswer]] = {}
        # What was proposed, and how each proposal was ever answered.
        self._proposed: Final[dict[AlterRequest, list[Partition | Refusal]]] = {}

    def take(self, event: Event) -> Mismatch | None:
        """Take the port through one event; tell what is not as it should be."""
        try:
            match event:
                case BrokerHeartbeat() | CtlFailover():
                    self._count("stutter")
                case CtlRegister() | CtlFence() | CtlUnfence() | CtlAlter() | CtlReassign():
                    self._decide(event)
                case FetchSend() | FetchServe() | FetchApply() | FetchLost():
                    self._fetch(event)
                case PartApply() | PartAlterSend() | PartAlterDone() | PartAppend():
                    self._replicate(event)
                case BrokerStart() | BrokerRegistered() | BrokerStop() | BrokerCrash():
                    self._live(event)
        except Mismatch as found:
            return found
        return None

    # --- brokers and their lives -----------------------------------------------------------------

    def _live(self, event: BrokerStart | BrokerRegistered | BrokerStop | BrokerCrash) -> None:
        broker = self.brokers[event.broker]
        match event:
            case BrokerStart(_, incarnation, length, hwm):
                due = broker.log.end, broker.hwm
                lost = broker.phase is Phase.LOST and length < due[0]
                holds = (lost or length == due[0]) and hwm <= min(length, due[1])
                why = f"it comes back at {length}, {hwm}, and had {due}"
                self._require("start", "state", holds, why)
                woken = replace(broker, log=broker.log.cut(length), hwm=hwm)
                said = self._do("start", start(woken, incarnation, self.rules))
                assert isinstance(said, RegisterRequest), f"{said} is said at the start"
                self._registering.add(said)
            case BrokerRegistered(_, incarnation, epoch):
                answer = self._registered.get((broker.id, incarnation))
                told = None if answer is None else answer.epoch
                self._require("registered", "said", told == epoch, f"it was told {told}")
                assert answer is not None, "it was told something"
                self._do("registered", registered(broker, answer, self.rules))
            case BrokerStop():
                self._do("stop", end(broker, None, True, self.rules))
                self._disconnect(broker.id)
            case BrokerCrash(_, power):
                kept = broker.log.end if power else None
                self._do("crash", end(broker, kept, rules=self.rules))
                self._disconnect(broker.id)

    def _disconnect(self, gone: int) -> None:
        """Forget what nobody will get: answers to a broker and of it."""
        for broker in self.brokers.values():
            self.brokers[broker.id] = disconnect(broker, gone)
        for number, request in list(self._asked.items()):
            if request.leader == gone:
                del self._asked[number]
        for number, answer in list(self._answers.items()):
            if gone in (answer.leader, answer.follower):
                del self._answers[number]

    # --- the controller --------------------------------------------------------------------------

    def _decide(self, event: CtlRegister | CtlFence | CtlUnfence | CtlAlter | CtlReassign) -> None:
        the, rules = self.controller, self.rules
        match event:
            case CtlRegister(broker, incarnation, marked, epoch, offset, partition):
                asked = RegisterRequest(broker, incarnation, marked)
                known = asked in self._registering
                self._require("register", "said", known, f"nobody asked for {asked}")
                decisions = register(the, asked, rules, epoch)
                self._choose("register", decisions, partition, offset)
            case CtlFence(broker, offset, partition):
                self._choose("fence", fence(the, broker, rules), partition, offset)
            case CtlUnfence(broker, epoch, applied, offset, partition):
                seen = self._index(applied)
                self._choose("unfence", unfence(the, broker, epoch, seen, rules), partition, offset)
            case CtlAlter(request, offset, outcome):
                outcomes = self._proposed.get(request)
                self._require("alter", "said", outcomes is not None, f"nobody proposed {request}")
                assert outcomes is not None, "it was proposed"
                outcomes.append(outcome)
                self._choose("alter", alter(the, request, rules), outcome, offset)
            case CtlReassign(adding, removing, offset, partition):
                self._choose("reassign", reassign(the, adding, removing, rules), partition, offset)

    def _choose(
        self, action: str, decisions: Decisions | Blocked, outcome: object, offset: int
    ) -> None:
        """Go on with the decision that was taken, which must be one that may be."""
        if isinstance(decisions, Blocked):
            raise Mismatch(action, decisions.guard.name, f"{outcome}: {decisions}; {self._story()}")
        for decision in decisions:
            said = decision.said
            due = said.outcome if isinstance(said, AlterAnswer) else decision.controller.partition
            if due == outcome:
                break
        else:
            may = [decision.controller.partition for decision in decisions]
            raise Mismatch(action, "said", f"{outcome} is decided, not one of {may}")
        self._count(action)
        if len(decision.controller.log) > len(self.controller.log):
            self._offsets.append(offset)
        self.controller = decision.controller
        if isinstance(said, RegisterAnswer):
            self._registered[said.broker, said.incarnation] = said
        self._tell(decision.told)
        self._hold(action, of_controller(self.controller, self.rules))

    def _index(self, offset: int) -> int:
        """Return how many decisions there are up to an offset of the product's log."""
        return bisect_right(self._offsets, offset)

    # --- the partition ---------------------------------------------------------------------------

    def _replicate(self, event: PartApply | PartAlterSend | PartAlterDone | PartAppend) -> None:
        broker, rules = self.brokers[event.broker], self.rules
        match event:
            case PartApply(_, offset, kind, after):
                index = self._index(offset)
                if index == broker.applied:
                    # Nothing that this walk knows of: other partitions have changed.
                    self._count("stutter")
                else:
                    record = self.controller.log[index - 1]
                    due = kind_of(broker, record.partition, rules)
                    self._require("apply", "said", kind == due, f"{kind} is told, not {due}")
                    self._do("apply", apply(broker, record, index, rules, after.hwm))
                self._compare("apply", broker.id, after)
            case PartAlterSend(_, request) if broker.waits_for_answer:
                said = self._do("repeat", repeat(broker, rules))
                self._says("repeat", request, said)
            case PartAlterSend(_, request):
                said = self._do("propose", propose(broker, NONE, rules, request))
                self._says("propose", request, said)
                self._proposed.setdefault(request, [])
            case PartAlterDone(_, request, outcome, after):
                known = outcome in self._proposed.get(request, ())
                self._require("answered", "said", known, f"nobody said {outcome}")
                answer = AlterAnswer(request, outcome)
                self._do("answered", answered(broker, answer, rules, after.hwm))
                self._compare("answered", broker.id, after)
            case PartAppend(_, count, after):
                self._do("append", append(broker, PLAIN, count, rules, after.hwm))
                self._compare("append", broker.id, after)

    def _fetch(self, event: FetchSend | FetchServe | FetchApply | FetchLost) -> None:
        broker, rules = self.brokers[event.broker], self.rules
        match event:
            case FetchSend(_, leader, number, epoch, offset, last_epoch):
                said = self._do("ask", ask(broker, leader, rules))
                life = broker.epoch
                request = FetchRequest(broker.id, leader, life, epoch, offset, last_epoch)
                self._says("ask", request, said)
                self._asked[number] = request
            case FetchServe(_, number, content, after):
                request = self._known(self._asked, "serve", number)
                count = content if isinstance(content, int) else 0
                said = self._do("serve", serve(broker, request, rules, count, after.hwm))
                assert isinstance(said, FetchAnswer), f"{said} answers a fetch"
                self._says("serve", content, summary(said))
                self._compare("serve", broker.id, after)
                if self.brokers[request.follower].epoch == request.broker_epoch:
                    self._answers[number] = said
            case FetchApply(_, number, after):
                answer = self._known(self._answers, "take", number)
                self._do("take", take(broker, answer, rules))
                self._compare("take", broker.id, after)
            case FetchLost(_, number):
                self._answers.pop(number, None)
                lost = self._asked.pop(number, None)
                if lost is not None:
                    self.brokers[broker.id] = disconnect(broker, lost.leader)
                self._count("disconnect")

    def _known(self, of: dict[int, M], action: str, number: int) -> M:
        found = of.pop(number, None)
        self._require(action, "said", found is not None, f"nobody knows of fetch {number}")
        assert found is not None, "it is known"
        return found

    # --- taking and comparing --------------------------------------------------------------------

    def _do(self, action: str, step: Step | Blocked) -> Message | None:
        """Take an action, which must be enabled; return what is said."""
        if isinstance(step, Blocked):
            raise Mismatch(action, step.guard.name, f"{step}; {self._story()}")
        self._count(action)
        broker = step.broker
        self.brokers[broker.id] = broker
        self._tell(step.told)
        self._hold(action, of_broker(broker))
        self._hold(action, of_standing(self.controller, broker, self.rules))
        self._hold(action, of_history(self.controller, broker, self.history))
        return step.said

    def _tell(self, told: Sequence[Told]) -> None:
        for each in told:
            if isinstance(each, Elected):
                self.history = self.history.cut(self.brokers[each.leader].log)
            else:
                self.history = self.history.after(each)

    def _hold(self, action: str, broken: Iterator[str]) -> None:
        for name in broken:
            raise Mismatch(action, name, f"{name} is broken; {self._story()}")

    def _compare(self, action: str, broker: int, after: Facts) -> None:
        due = facts_of(self.brokers[broker])
        named = [
            (each.name, getattr(after, each.name), getattr(due, each.name)) for each in fields(due)
        ]
        wrong = [
            f"{name} is {seen}, not {is_due}" for name, seen, is_due in named if seen != is_due
        ]
        self._require(action, "state", not wrong, f"broker {broker}: {', '.join(wrong)}")

    def _says(self, action: str, said: object, due: object) -> None:
        self._require(action, "said", said == due, f"{said} is said, not {due}")

    def _require(self, action: str, place: str, holds: bool, why: str) -> None:
        if not holds:
            raise Mismatch(action, place, f"{why}; {self._story()}")

    def _count(self, action: str) -> None:
        self.actions[action] = self.actions.get(action, 0) + 1

    def _story(self) -> str:
        """Return the port as it is."""
        brokers = "; ".join(str(broker) for broker in self.brokers.values())
        return f"the port has {self.controller.partition}, {self.controller.brokers}; {brokers}"
