"""A way through the closed model, told as a run would tell it.

    Closed ── a way: move, move, move ──▶ Teller ── events ──▶ Walk, which must accept them all

So the walk is shown to forbid nothing that the port allows, and a profile can see in ``retold``
what a run has to say.  One way is one run: which of all is drawn from a number.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.sim.specs.replication.applying import Kind
from barnabas.sim.specs.replication.closed import Closed, World, bits
from barnabas.sim.specs.replication.cluster import (
    AlterAnswer,
    AlterRequest,
    Broker,
    FetchAnswer,
    FetchRequest,
    Ids,
    Message,
    Partition,
    Refusal,
    RegisterRequest,
    Step,
)
from barnabas.sim.specs.replication.controlling import alter
from barnabas.sim.specs.replication.fetching import ask, serve
from barnabas.sim.specs.replication.trace import (
    BrokerCrash,
    BrokerRegistered,
    BrokerStart,
    BrokerStop,
    CtlAlter,
    CtlFence,
    CtlReassign,
    CtlRegister,
    CtlUnfence,
    Event,
    FetchApply,
    FetchSend,
    FetchServe,
    PartAlterDone,
    PartAlterSend,
    PartAppend,
    PartApply,
    facts_of,
    summary,
)

# Two primes: ways with neighbouring numbers part early, and each is the same every time.
STRIDE: Final = 7_919
TURN: Final = 104_729


def drawn(model: Closed, number: int, moves_max: int) -> Iterator[tuple[World, str, World]]:
    """Yield the steps of one way, which depends on its number."""
    world = model.initial()
    for step in range(moves_max):
        moves = list(model.moves(world))
        if not moves:
            return
        move = moves[(number * STRIDE + step * TURN + number // 7 * step) % len(moves)]
        yield world, move.name, move.state
        world = move.state


class Teller:
    """Tells the steps of one way; offsets are those of the port's own log."""

    def __init__(self, model: Closed) -> None:
        self._model: Final = model
        self._fetches = 0
        # The last fetch of a follower from a leader, and which number a request has.
        self._last: Final[dict[tuple[int, int], int]] = {}
        self._numbers: Final[dict[FetchRequest, int]] = {}

    def tell(self, before: World, name: str, after: World) -> Event:
        """Return what a run would say of a step."""
        who, _, what = name.partition(" ")
        heard = self._heard(before, after)
        if who == "controller":
            return self._decided(before, what, after, heard)
        number = int(who)
        was, is_ = self._broker(before, number), self._broker(after, number)
        return self._done(was, is_, what, heard)

    def _broker(self, world: World, number: int) -> Broker:
        return self._model.brokers[world[1][number - 1]]

    def _heard(self, before: World, after: World) -> list[Message]:
        """Return what was under way and is no more."""
        gone = before[2] & ~after[2]
        return [self._model.messages[bit.bit_length() - 1] for bit in bits(gone)]

    # --- the controller --------------------------------------------------------------------------

    def _decided(self, before: World, what: str, after: World, heard: list[Message]) -> Event:
        the = self._model.controllers[after[0]]
        offset, partition = len(the.log), the.partition
        verb, rest = what.split(maxsplit=1)[0], what.split()[1]
        match verb:
            case "fences" | "misses":
                return CtlFence(int(rest.rstrip(",")), offset, partition)
            case "unfences":
                broker = self._broker(before, int(rest.rstrip(",")))
                return CtlUnfence(broker.id, broker.epoch, broker.applied, offset, partition)
            case "registers":
                (asked,) = (each for each in heard if isinstance(each, RegisterRequest))
                known = the.registration(asked.broker)
                life = asked.broker, asked.incarnation, asked.epoch
                return CtlRegister(*life, known.epoch, offset, partition)
            case "moves":
                adding, removing = (ids_in(each) for each in what.split()[1:3])
                return CtlReassign(adding, removing, offset, partition)
            case _:
                assert verb in ("accepts", "refuses"), f"{what} is not told"
                (request,) = (each for each in heard if isinstance(each, AlterRequest))
                return CtlAlter(request, offset, self._outcome(before, request, after))

    def _outcome(self, before: World, request: AlterRequest, after: World) -> Partition | Refusal:
        the, then = self._model.controllers[before[0]], self._model.controllers[after[0]]
        said = (
            decision.said
            for decision in alter(the, request, self._model.rules)
            if decision.controller == then
        )
        answer = next(said)
        assert isinstance(answer, AlterAnswer), f"{answer} is said to a proposal"
        return answer.outcome

    # --- brokers ---------------------------------------------------------------------------------

    def _done(self, was: Broker, is_: Broker, what: str, heard: list[Message]) -> Event:
        number, facts = was.id, facts_of(is_)
        verb = what.partition(" ")[0].rstrip(",")
        match verb:
            case "starts":
                return BrokerStart(number, is_.incarnation, is_.log.end, is_.hwm)
            case "ends" if what.endswith("cleanly"):
                return BrokerStop(number)
            case "ends" | "is" if not what.startswith("is registered"):
                return BrokerCrash(number, power=verb == "ends")
            case "is":
                return BrokerRegistered(number, is_.incarnation, is_.epoch)
            case "applies":
                offset, _, kind = what.removeprefix("applies ").partition(": ")
                return PartApply(number, int(offset), Kind(kind), facts)
            case "appends":
                return PartAppend(number, 1, facts)
            case "proposes":
                assert is_.pending is not None, f"{is_} has proposed"
                return PartAlterSend(number, is_.pending.request)
            case "hears":
                (answer,) = (each for each in heard if isinstance(each, AlterAnswer))
                return PartAlterDone(number, answer.request, answer.outcome, facts)
            case _:
                return self._fetched(was, is_, what, heard)

    def _fetched(self, was: Broker, is_: Broker, what: str, heard: list[Message]) -> Event:
        facts = facts_of(is_)
        match what.partition(" ")[0]:
            case "asks":
                step = ask(was, int(what.split()[1]), self._model.rules)
                assert isinstance(step, Step), f"{was} asks"
                request = step.said
                assert isinstance(request, FetchRequest), f"{request} is asked"
                self._fetches += 1
                self._numbers[request] = self._fetches
                self._last[was.id, request.leader] = self._fetches
                at = request.leader_epoch, request.offset, request.last_epoch
                return FetchSend(was.id, request.leader, self._fetches, *at)
            case "serves":
                (request,) = (each for each in heard if isinstance(each, FetchRequest))
                served = serve(was, request, self._model.rules)
                assert isinstance(served, Step), f"{was} serves"
                assert isinstance(served.said, FetchAnswer), f"{served.said} is answered"
                content = summary(served.said)
                return FetchServe(was.id, self._numbers[request], content, facts)
            case _:
                (answer,) = (each for each in heard if isinstance(each, FetchAnswer))
                return FetchApply(was.id, self._last[was.id, answer.leader], facts)


def ids_in(text: str) -> Ids:
    """Return the brokers that a name tells of, as ``deeds.told`` does."""
    inside = text[text.index("{") + 1 : text.index("}")]
    return frozenset(int(each) for each in inside.split(",") if each)


def retold(model: Closed, number: int, moves_max: int) -> Iterator[tuple[str, Event]]:
    """Yield the names of the steps of one way, and what a run would say of each."""
    teller = Teller(model)
    for before, name, after in drawn(model, number, moves_max):
        yield name, teller.tell(before, name, after)
