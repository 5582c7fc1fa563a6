"""The closed model: a controller, a few brokers, what is under way, and what may happen next.

    (controller, brokers, messages, asked, history, spent) ── one deed ──▶ ...

A message is under way until somebody does something about it; it may come late or never, and what
was sent twice is under way once.  What disturbs is limited by a ``Scope``, what repairs is not.

As in the specification, and for nothing but a smaller model:

- a broker that an update does not concern does not move on (``concerns``);
- a fetch that would bring nothing is not sent (``is_even``);
- what was proposed before and would be refused is not proposed (``asked``); where a leader backs
  off (``BACKS_OFF``), that is not needed.

Beyond it: values are appended in their order, and what nobody can ever react to is forgotten,
unless ``exact``.

A state is a tuple of numbers.  Controllers, brokers, messages and histories are kept once, in
tables, and what somebody does is worked out once: it depends on nobody else.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from barnabas.model.value import value
from barnabas.sim.specs.exploration import Move
from barnabas.sim.specs.replication.cluster import (
    AlterAnswer,
    AlterRequest,
    Broker,
    Controller,
    Elected,
    FetchAnswer,
    FetchRequest,
    Message,
    RegisterAnswer,
    Told,
)
from barnabas.sim.specs.replication.controlling import refusal
from barnabas.sim.specs.replication.deeds import (
    FREE,
    LOSSES,
    REPEATS,
    START,
    STOPS,
    Choice,
    Scope,
    Tried,
    about,
    first_broker,
    first_controller,
    is_even,
    may_react,
    notices,
    own_choices,
    own_deeds,
    reaction,
    receiver,
    responses,
    updates,
)
from barnabas.sim.specs.replication.guards import BUILT, Difference, Guard, Rules
from barnabas.sim.specs.replication.lifecycle import disconnect
from barnabas.sim.specs.replication.properties import (
    NOTHING_LOST,
    History,
    is_kept,
    of_broker,
    of_controller,
    of_history,
    of_logs,
    of_standing,
)
from barnabas.sim.specs.rules import Blocked

T = TypeVar("T")

# The controller, the brokers, what is under way, what was ever proposed, what clients were told,
# how often what is limited has happened and how many lives have begun.
World: TypeAlias = tuple[int, tuple[int, ...], int, int, int, tuple[int, ...]]


class Table(Generic[T]):
    """Values by number, each of them once."""

    def __init__(self) -> None:
        self.values: Final[list[T]] = []
        self._numbers: Final[dict[T, int]] = {}

    def number(self, value: T) -> int:
        """Return the number of a value, a new one if it is new."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def __getitem__(self, number: int) -> T:
        return self.values[number]

    def __len__(self) -> int:
        return len(self.values)


@value
class Done:
    """A deed or a choice, worked out: who is how after it, what is said, what clients are told."""

    name: str
    cost: int
    fair: str
    after: int
    said: int
    told: tuple[Told, ...]


class Closed:
    """The model of one scope under some rules."""

    def __init__(
        self,
        scope: Scope,
        rules: Rules = BUILT,
        ignored: frozenset[str] = frozenset(),
        then: tuple[str, ...] = (),
        exact: bool = False,
    ) -> None:
        self.scope: Final = scope
        self.rules: Final = rules
        self.ignored: Final = ignored
        """Properties that are not asked for, to see what falls behind them."""
        self.script: Final = (*scope.script, *then)
        self._forgets: Final = not exact and not rules.lifted
        self._remembers: Final = not rules.has(Difference.BACKS_OFF)
        self.controllers: Final[Table[Controller]] = Table()
        self.brokers: Final[Table[Broker]] = Table()
        self.histories: Final[Table[History]] = Table()
        self.messages: Final[Table[Message]] = Table()
        # Which messages are for the controller and for each broker, and which end with a
        # connection of a broker.
        self._heard: Final = [0] * (scope.brokers + 1)
        self._connected: Final = [0] * (scope.brokers + 1)
        # What may be received after its sender has ended.
        self._lingers: Final = [0] * (scope.brokers + 1)
        self._proposals = 0
        self._answers = 0
        self._answers_to: Final[dict[int, int]] = {}
        self.blocks: Final[dict[StrEnum, int]] = {}
        """How often each guard has blocked what was tried."""
        self._known: Final[dict[tuple[object, ...], list[Done]]] = {}
        self._wrong: Final[dict[tuple[object, ...], str]] = {}
        self._found: Final[dict[tuple[object, ...], tuple[str, ...]]] = {}
        self._facts: Final[dict[tuple[object, ...], bool]] = {}

    # --- the model -------------------------------------------------------------------------------

    def initial(self) -> World:
        """Return the world after the script."""
        controller = first_controller(self.scope, self.rules)
        brokers = (first_broker(each, self.scope, controller) for each in self.scope.ids)
        numbers = tuple(self.brokers.number(each) for each in brokers)
        spent = (0,) * len(self.scope.limits)
        first = self.controllers.number(controller), numbers
        world: World = (
            *first,
            0,
            0,
            self.histories.number(History()),
            (*spent, self.scope.brokers),
        )
        for name in self.script:
            world = self._play(world, name)
        return world

    def _play(self, world: World, name: str) -> World:
        names = []
        for move in self.moves(world):
            if move.name == name:
                assert not move.broken, f"the script breaks {move.broken} at {name!r}"
                return move.state
            names.append(move.name)
        raise AssertionError(f"{name!r} cannot happen; what can: {', '.join(names)}")

    def moves(self, state: World) -> Iterator[Move[World]]:
        """Return everything that may happen next."""
        for place in range(self.scope.brokers):
            yield from self._of_broker(state, place)
        yield from self._of_controller(state)

    # --- brokers ---------------------------------------------------------------------------------

    def _of_broker(self, state: World, place: int) -> Iterator[Move[World]]:
        controller, brokers, messages, _, history, spent = state
        number, lives = brokers[place], spent[-1]
        sent = len(self.histories[history].sent)
        for done in self._own(number, lives, sent):
            if done.cost in (LOSSES, STOPS):
                if spent[done.cost] < self.scope.limits[done.cost]:
                    yield from self._ends(state, place, done)
            elif self._is_possible(state, place, done):
                yield self._step(state, place, done, 0)
        for done in self._updates(number, controller):
            yield self._step(state, place, done, 0)
        for bit in bits(messages & self._heard[place + 1]):
            for done in self._reaction(number, bit):
                yield self._step(state, place, done, bit)

    def _is_possible(self, state: World, place: int, done: Done) -> bool:
        """Tell what depends on more than the broker."""
        controller, brokers, _, asked, _, spent = state
        if done.cost != FREE and spent[done.cost] >= self.scope.limits[done.cost]:
            return False
        message = self.messages[done.said.bit_length() - 1] if done.said else None
        if isinstance(message, FetchRequest):
            return not self._even(brokers[message.leader - 1], brokers[place])
        if isinstance(message, AlterRequest) and self._remembers and done.cost != REPEATS:
            return not asked & done.said or not self._refused(controller, done.said)
        return True

    def _even(self, leader: int, follower: int) -> bool:
        key = leader, follower
        known = self._facts.get(key)
        if known is None:
            known = self._facts[key] = is_even(self.brokers[leader], self.brokers[follower])
        return known

    def _refused(self, controller: int, bit: int) -> bool:
        key = "refused", controller, bit
        known = self._facts.get(key)
        if known is None:
            request = self.messages[bit.bit_length() - 1]
            assert isinstance(request, AlterRequest), f"{request} is no proposal"
            found = refusal(self.controllers[controller], request, self.rules)
            known = self._facts[key] = found is not None
        return known

    def _step(self, state: World, place: int, done: Done, heard: int) -> Move[World]:
        controller, brokers, messages, asked, history, spent = state
        after = (*brokers[:place], done.after, *brokers[place + 1 :])
        for told in done.told:
            history = self._told(history, told, after)
        if done.cost != FREE:
            spent = raise_one(spent, done.cost)
        if done.fair == START:
            spent = raise_one(spent, len(spent) - 1)
        if self._remembers:
            asked |= done.said & self._proposals
        if done.cost == REPEATS and self.rules.demand(Guard.LAST_ATTEMPT):
            # Whoever asks again waits for nothing that was said before.
            messages &= ~self._answers_to.get(done.said, 0)
        said = done.said if self._is_awaited(brokers, heard) else 0
        world = controller, after, (messages & ~heard) | said, asked, history, spent
        fair = f"{place + 1} {done.fair}" if done.fair else ""
        return self._move(f"{place + 1} {done.name}", world, fair, controller)

    def _is_awaited(self, brokers: tuple[int, ...], heard: int) -> bool:
        """Tell whether who has asked, if somebody has, is still in the same life."""
        message = self.messages[heard.bit_length() - 1] if heard else None
        if isinstance(message, FetchRequest):
            return self.brokers[brokers[message.follower - 1]].epoch == message.broker_epoch
        return True

    def _ends(self, state: World, place: int, done: Done) -> Iterator[Move[World]]:
        """A broker ends: connections end with it, and the controller may see it."""
        controller, brokers, messages, asked, history, spent = state
        after = tuple(
            done.after if each == place else self._disconnected(number, place + 1)
            for each, number in enumerate(brokers)
        )
        for told in done.told:
            history = self._told(history, told, after)
        spent = raise_one(spent, done.cost)
        messages &= ~(self._connected[place + 1] & ~self._lingers[place + 1])
        for choice in self._notices(controller, place + 1):
            world = choice.after, after, messages, asked, history, spent
            yield self._move(f"{place + 1} {done.name}{choice.name}", world, "", controller)

    def _disconnected(self, number: int, other: int) -> int:
        return self.brokers.number(disconnect(self.brokers[number], other))

    # --- the controller --------------------------------------------------------------------------

    def _of_controller(self, state: World) -> Iterator[Move[World]]:
        controller, brokers, messages, _, _, spent = state
        the, scope, rules = self.controllers[controller], self.scope, self.rules
        for done in self._choices(("may", controller), lambda: own_choices(the, scope, rules)):
            if done.cost == FREE or spent[done.cost] < scope.limits[done.cost]:
                yield self._chosen(state, done, 0)
        for number in brokers:
            broker = self.brokers[number]
            key = "about", controller, number
            for done in self._choices(key, partial(about, the, broker, rules)):
                yield self._chosen(state, done, 0)
        for bit in bits(messages & self._heard[0]):
            message = self.messages[bit.bit_length() - 1]
            key = "responds", controller, bit
            for done in self._choices(key, partial(responses, the, message, rules)):
                yield self._chosen(state, done, bit)

    def _chosen(self, state: World, done: Done, heard: int) -> Move[World]:
        controller, brokers, messages, asked, history, spent = state
        for told in done.told:
            history = self._told(history, told, brokers)
        if done.cost != FREE:
            spent = raise_one(spent, done.cost)
        world = done.after, brokers, (messages & ~heard) | done.said, asked, history, spent
        return self._move(f"controller {done.name}", world, done.fair, controller)

    # --- what is wrong, and what is forgotten ----------------------------------------------------

    def _move(self, name: str, world: World, fair: str, before: int) -> Move[World]:
        controller, brokers, messages, asked, history, spent = world
        broken = self._broken(controller, brokers, history)
        if self._forgets:
            messages = self._alive(brokers, messages)
        state = controller, brokers, messages, asked, history, spent
        return Move(name, state, broken, fair)

    def _broken(self, controller: int, brokers: tuple[int, ...], history: int) -> str:
        whole = controller, brokers, history
        known = self._wrong.get(whole)
        if known is None:
            found = (name for name in self._falls(*whole) if name not in self.ignored)
            known = self._wrong[whole] = next(found, "")
        return known

    def _falls(self, controller: int, brokers: tuple[int, ...], history: int) -> Iterator[str]:
        """Yield what is broken; whatever concerns few of all is asked once."""
        the = self.controllers[controller]
        told = self.histories[history]
        yield from self._once(("c", controller), of_controller, the, self.rules)
        for number in brokers:
            broker = self.brokers[number]
            yield from self._once(("b", number), of_broker, broker)
            pair = "s", controller, number
            yield from self._once(pair, of_standing, the, broker, self.rules)
            three = "h", controller, number, history
            yield from self._once(three, of_history, the, broker, told)
            for other in brokers:
                yield from self._once(("l", number, other), of_logs, broker, self.brokers[other])
        if not is_kept([self.brokers[number].log for number in brokers], told):
            yield NOTHING_LOST

    def _once(
        self, key: tuple[object, ...], names: Callable[..., Iterator[str]], *about: object
    ) -> tuple[str, ...]:
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = tuple(names(*about))
        return known

    def _alive(self, brokers: tuple[int, ...], messages: int) -> int:
        for bit in bits(messages & self._answers):
            message = self.messages[bit.bit_length() - 1]
            number = brokers[receiver(message) - 1]
            key = "alive", number, bit
            known = self._facts.get(key)
            if known is None:
                known = self._facts[key] = may_react(self.brokers[number], message)
            if not known:
                messages ^= bit
        return messages

    # --- tables ----------------------------------------------------------------------------------

    def _message(self, message: Message | None) -> int:
        """Return a message as a bit."""
        if message is None:
            return 0
        known = len(self.messages)
        number = self.messages.number(message)
        if number == known:
            self._heard[receiver(message)] |= 1 << number
            match message:
                case FetchRequest() | FetchAnswer():
                    for end in (message.leader, message.follower):
                        self._connected[end] |= 1 << number
                    if isinstance(message, FetchRequest) and self.rules.has(Difference.LINGERS):
                        self._lingers[message.follower] |= 1 << number
                case AlterRequest():
                    self._proposals |= 1 << number
                case RegisterAnswer():
                    self._answers |= 1 << number
                case AlterAnswer(request=request):
                    self._answers |= 1 << number
                    asked = self._message(request)
                    self._answers_to[asked] = self._answers_to.get(asked, 0) | 1 << number
                case _:
                    pass
        return 1 << number

    def _told(self, history: int, told: Told, brokers: tuple[int, ...]) -> int:
        before = self.histories[history]
        if isinstance(told, Elected):
            return self.histories.number(before.cut(self.brokers[brokers[told.leader - 1]].log))
        return self.histories.number(before.after(told))

    def _own(self, number: int, lives: int, sent: int) -> list[Done]:
        key = "own", number, lives, sent
        known = self._known.get(key)
        if known is None:
            broker = self.brokers[number]
            deeds = own_deeds(broker, self.scope, self.rules, lives, sent)
            known = self._known[key] = self._worked_out(broker, deeds)
        return known

    def _updates(self, number: int, controller: int) -> list[Done]:
        key = "updates", number, controller
        known = self._known.get(key)
        if known is None:
            broker = self.brokers[number]
            deeds = updates(broker, self.controllers[controller], self.rules)
            known = self._known[key] = self._worked_out(broker, deeds)
        return known

    def _reaction(self, number: int, bit: int) -> list[Done]:
        key = "reaction", number, bit
        known = self._known.get(key)
        if known is None:
            broker, message = self.brokers[number], self.messages[bit.bit_length() - 1]
            deeds = iter((reaction(broker, message, self.rules),))
            # What is heard is gone, so it is a deed even if nothing else comes of it.
            known = self._known[key] = self._worked_out(None, deeds)
        return known

    def _worked_out(self, before: Broker | None, deeds: Tried) -> list[Done]:
        """Keep what is not blocked and changes something."""
        found = []
        for deed in deeds:
            if isinstance(deed, Blocked):
                self.blocks[deed.guard] = self.blocks.get(deed.guard, 0) + 1
                continue
            step = deed.step
            if step.said is not None or step.told or step.broker != before:
                after, said = self.brokers.number(step.broker), self._message(step.said)
                found.append(Done(deed.name, deed.cost, deed.fair, after, said, step.told))
        return found

    def _choices(
        self, key: tuple[object, ...], tried: Callable[[], Iterator[Choice]]
    ) -> list[Done]:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = []
            for choice in tried():
                decision = choice.decision
                after, said = (
                    self.controllers.number(decision.controller),
                    self._message(decision.said),
                )
                known.append(
                    Done(choice.name, choice.cost, choice.fair, after, said, decision.told)
                )
        return known

    def _notices(self, controller: int, broker: int) -> list[Done]:
        the = self.controllers[controller]
        key = "notices", controller, broker
        return self._choices(key, lambda: notices(the, broker, self.rules))


def bits(number: int) -> Iterator[int]:
    """Yield the bits of a number, the lowest first."""
    while number:
        lowest = number & -number
        number ^= lowest
        yield lowest


def raise_one(counts: tuple[int, ...], place: int) -> tuple[int, ...]:
    """Return counts, one of them larger by one."""
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])
