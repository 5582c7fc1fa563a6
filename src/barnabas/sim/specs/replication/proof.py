"""What shows that the port is one: worlds in which nothing falls, and what falls without a guard.

    WORLDS    explored whole, as specified and as built: every property holds
    AWAITED   small enough to ask of every fair way what must happen in the end
    RETOLD    ways through them are told as runs, and the walk accepts them
    FALLS     for each guard, a world in which a property falls as soon as the guard is lifted
    SPARE     the guards that no property of these rests on, and why they are there

The ten guards that the specification itself marks as to be checked are the ``CHECKED`` ones.

A guard that only a second one backs up is lifted with it, and each of the two alone is not enough;
where something else falls sooner, that is not asked for.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from barnabas.model.value import value
from barnabas.sim.specs.exploration import Explored, Trial, explore
from barnabas.sim.specs.replication.closed import Closed
from barnabas.sim.specs.replication.deeds import Scope
from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.replication.liveness import starving
from barnabas.sim.specs.replication.properties import (
    CANDIDATE_COMPLETENESS,
    CONSISTENT_READ,
    EPOCH_DISCIPLINE,
    LOG_MATCHING,
    NOTHING_LOST,
    RECORD_IDENTITY,
    RECOVERY_QUORUM,
    SUPERSET,
    VALID_CONTROLLER,
    VALID_FETCHER,
    VALID_REPLICA,
    VALID_SETS,
)
from barnabas.sim.specs.replication.telling import retold
from barnabas.sim.specs.replication.walk import Walk

# --- Ways to begin ---------------------------------------------------------------------------

# 2 has the record that 1 has appended, and 1 knows: it is committed.
COMMITS: Final = (
    "1 appends 1",
    "2 asks 1",
    "1 serves 2 at 0",
    "2 takes of 1 1 from 0, 0 committed",
    "2 asks 1",
    "1 serves 2 at 1",
)
# 3 has it, too, and has asked for more.
ASKS_FOR_MORE: Final = (
    *COMMITS,
    "3 asks 1",
    "1 serves 3 at 0",
    "3 takes of 1 1 from 0, 0 committed",
    "3 asks 1",
)
# Then it is to be no replica any more.
REMOVES: Final = "controller moves +{} -{3}"
# 1 has a record that nobody else has and asks 2, which leads after it, and answers that it must
# cut.  That answer is late: 3 leads by then, 1 has cut and fetched, all are in sync again.
CUTS_LATE: Final = (
    "1 appends 1",
    "controller fences 1, 2 leads",
    "1 applies 2: becomes follower",
    "1 asks 2",
    "2 applies 2: becomes leader",
    "2 serves 1 at 1",
    "controller fences 2",
    "1 applies 3: becomes follower",
    "3 applies 3: becomes leader",
    "3 appends 2",
    "1 asks 3",
    "3 serves 1 at 1",
    "1 takes of 3 that epoch 1 ends at 0",
    "1 asks 3",
    "3 serves 1 at 0",
    "1 takes of 3 1 from 0, 1 committed",
    "1 asks 3",
    "3 serves 1 at 1",
    "controller unfences 1",
    "2 applies 3: becomes follower",
    "2 asks 3",
    "3 serves 2 at 0",
    "2 takes of 3 1 from 0, 1 committed",
    "2 asks 3",
    "3 serves 2 at 1",
    "controller unfences 2",
    "3 proposes {1,2,3}",
    "controller accepts {1,2,3} of 3",
)
# 2 asks 1, and is fenced before it has the answer; 1 leads again when 2 has led.
RETURNS: Final = (
    "1 appends 1",
    "2 asks 1",
    "1 serves 2 at 0",
    "controller fences 1",
    "1 applies 2: becomes follower",
    "1 asks 2",
    "2 applies 2: becomes leader",
    "2 serves 1 at 1",
    "1 takes of 2 that epoch 1 ends at 0",
)
# A fetch of 2 is under way that tells of the record, when 2 loses its log and comes back.
LINGERS: Final = (
    *COMMITS[:-1],
    "2 ends, its log lost",
    "2 starts",
    "controller misses 2",
    "controller registers 2",
    "2 is registered as 3",
    "2 applies 3: becomes follower",
)

# --- Worlds ----------------------------------------------------------------------------------


@value
class World:
    """A scope and its rules."""

    scope: Scope
    rules: Rules = SPECIFIED
    exact: bool = False
    """Whether nothing is forgotten, so that its states are those of the specification."""
    ignored: tuple[str, ...] = ()
    """Properties that are not asked for."""


ONE_IS_ENOUGH: Final = replace(SPECIFIED, min_isr=1)
THREE_ARE_NEEDED: Final = replace(SPECIFIED, min_isr=3)
# What is refused may be asked again; leaders do not know yet whom not to ask for.
STANDING: Final = replace(SPECIFIED, differs=frozenset({Difference.PROPOSALS_STAND}))
BUILT_FOR_ONE: Final = replace(BUILT, min_isr=1)

PAIR: Final = Scope(2, 2, 2)
PAIR_FENCED: Final = Scope(2, 2, 2, fences=1)
PAIR_LOSES: Final = Scope(2, 2, 2, losses=1)
PAIR_STOPS: Final = Scope(2, 2, 2, stops=1)
PAIR_TAKES_TURNS: Final = Scope(2, 2, 2, values=2, fences=2)
PAIR_LOSES_TWO: Final = Scope(2, 2, 2, values=2, losses=1)
PAIR_ENDS_TWICE: Final = Scope(2, 2, 2, stops=1, losses=1, script=COMMITS)
LATECOMER: Final = Scope(3, 3, 2)
LATECOMER_REPEATS: Final = Scope(3, 3, 2, repeats=1)
THREE_SHRINK: Final = Scope(3, 3, 3, shrinks=1)
THREE_FENCED: Final = Scope(3, 3, 3, fences=1)
THREE_CHANGE: Final = Scope(3, 3, 3, shrinks=1, fences=1, script=COMMITS)
SPARE_BROKER: Final = Scope(3, 2, 2, moves=1)
THREE_REMOVE: Final = Scope(3, 3, 3, moves=2, script=(*ASKS_FOR_MORE, "1 serves 3 at 1", REMOVES))
THREE_REMOVE_EARLY: Final = Scope(3, 3, 3, moves=2, script=(*ASKS_FOR_MORE, REMOVES))
TWO_SPARE_BROKERS: Final = Scope(4, 2, 2, moves=1, script=COMMITS)
THREE_CUT_LATE: Final = Scope(3, 3, 3, values=2, fences=3, script=CUTS_LATE)
PAIR_RETURNS: Final = Scope(2, 2, 2, values=2, fences=2, script=RETURNS)
PAIR_LINGERS: Final = Scope(2, 2, 2, losses=1, script=LINGERS)

WORLDS: Final[dict[str, World]] = {
    "specified: pair": World(PAIR, exact=True),
    "specified: pair, fenced": World(PAIR_FENCED, exact=True),
    "specified: pair, loses": World(PAIR_LOSES, exact=True),
    "specified: pair, stops": World(PAIR_STOPS, exact=True),
    "specified: latecomer": World(LATECOMER, exact=True),
    "specified: three, shrink": World(THREE_SHRINK, exact=True),
    "specified: three, fenced": World(THREE_FENCED, exact=True),
    "specified: three needed, fenced": World(THREE_FENCED, THREE_ARE_NEEDED, exact=True),
    "specified: spare broker": World(SPARE_BROKER, exact=True),
    "specified: one is enough": World(PAIR_FENCED, ONE_IS_ENOUGH),
    "built: pair, fenced": World(PAIR_FENCED, BUILT),
    "built: pair, loses": World(PAIR_LOSES, BUILT),
    "built: pair, stops": World(PAIR_STOPS, BUILT),
    "built: pair, loses and fenced": World(replace(PAIR_LOSES, fences=1), BUILT),
    "built: latecomer, repeats": World(LATECOMER_REPEATS, BUILT),
    "built: three, shrink, repeat": World(replace(THREE_SHRINK, repeats=1), BUILT),
    "built: spare broker": World(SPARE_BROKER, BUILT),
    "built: one is enough": World(PAIR_LOSES, BUILT_FOR_ONE),
    # More than can be borne; who led last leads again, and what it lacks is said to be lost.
    "built: both lose": World(replace(PAIR_LOSES, losses=2), BUILT, ignored=(NOTHING_LOST,)),
}
"""Explored whole."""

QUICK: Final = (
    "specified: pair",
    "specified: pair, fenced",
    "specified: pair, loses",
    "specified: pair, stops",
    "specified: latecomer",
    "specified: three, shrink",
    "specified: spare broker",
    "built: pair, fenced",
    "built: pair, loses",
    "built: pair, stops",
    "built: latecomer, repeats",
    "built: spare broker",
    "built: one is enough",
)
"""Those that take no more than a second or two."""

DEEP: Final[dict[str, World]] = {
    "specified: pair, loses, fenced": World(replace(PAIR_LOSES, fences=1), exact=True),
    "specified: pair, loses, stops": World(replace(PAIR_LOSES, stops=1), exact=True),
    # As its author has left it.
    "specified: latecomer, loses, fenced": World(replace(LATECOMER, losses=1, fences=1)),
    "built: latecomer, loses, fenced": World(replace(LATECOMER, losses=1, fences=1), BUILT),
    "built: pair, loses and stops": World(replace(PAIR_LOSES, stops=1), BUILT),
    "built: three, moved twice": World(Scope(3, 3, 3, moves=2), BUILT),
}
"""As far as there is room."""

AWAITED: Final[dict[str, World]] = {
    "awaited: specified, pair, fenced": World(PAIR_FENCED),
    "awaited: specified, pair, loses": World(PAIR_LOSES),
    "awaited: specified, pair, stops": World(PAIR_STOPS),
    "awaited: specified, latecomer": World(LATECOMER),
    "awaited: specified, spare broker": World(SPARE_BROKER),
    "awaited: specified, three, shrink": World(THREE_SHRINK),
    "awaited: built, pair, fenced": World(PAIR_FENCED, BUILT),
    "awaited: built, pair, loses": World(PAIR_LOSES, BUILT),
    "awaited: built, pair, stops": World(PAIR_STOPS, BUILT),
    "awaited: built, latecomer": World(LATECOMER, BUILT),
    "awaited: built, spare broker": World(SPARE_BROKER, BUILT),
}
"""Every fair way of them is asked what must happen in the end."""


RETOLD: Final[dict[str, World]] = {
    "retold: pair, loses": World(PAIR_LOSES, BUILT),
    "retold: pair, ends twice": World(replace(PAIR_ENDS_TWICE, script=()), BUILT),
    "retold: latecomer, repeats": World(replace(LATECOMER_REPEATS, fences=1), BUILT),
    "retold: three, moved": World(Scope(4, 3, 3, moves=2, fences=1), BUILT),
}
"""Some ways through them are told as runs, which the walk must accept."""

WAYS: Final = 60
MOVES_MAX: Final = 60


@value
class Fall:
    """Guards, and the property that falls when they are lifted."""

    guards: tuple[Guard, ...]
    broken: str
    world: World


CHECKED: Final = frozenset(
    {
        Guard.HAS_FETCHED,
        Guard.REACHED_HWM,
        Guard.REACHED_START,
        Guard.LEADS_ANEW,
        Guard.FETCHES_ANEW,
        Guard.SAME_POSITION,
        Guard.SAME_EPOCH,
        Guard.MEMBERS_LIVES,
        Guard.PARTITION_EPOCH,
        Guard.SAME_LIFE,
    }
)
"""What the specification marks: without it something must fall."""

FALLS: Final = (
    # The lives of a broker.
    Fall(
        (Guard.IS_DOWN,),
        NOTHING_LOST,
        World(PAIR_LOSES_TWO, BUILT_FOR_ONE, ignored=(VALID_FETCHER,)),
    ),
    Fall(
        (Guard.IS_REGISTERED,),
        CONSISTENT_READ,
        World(PAIR_ENDS_TWICE, BUILT, ignored=(VALID_FETCHER,)),
    ),
    Fall((Guard.SESSION_OVER,), VALID_CONTROLLER, World(PAIR_STOPS, BUILT)),
    Fall((Guard.SAME_LIFE,), CANDIDATE_COMPLETENESS, World(PAIR_ENDS_TWICE)),
    Fall((Guard.EXCLUDES_UNCLEAN,), CANDIDATE_COMPLETENESS, World(PAIR_LOSES)),
    Fall((Guard.SEES_ITSELF,), CANDIDATE_COMPLETENESS, World(PAIR_ENDS_TWICE, BUILT)),
    # The controller's partition.
    Fall((Guard.LEAVES_ISR,), VALID_CONTROLLER, World(PAIR_FENCED)),
    Fall((Guard.KEEPS_CANDIDATES,), RECOVERY_QUORUM, World(PAIR_TAKES_TURNS, ONE_IS_ENOUGH)),
    Fall((Guard.ELECTS_CANDIDATE,), CANDIDATE_COMPLETENESS, World(PAIR_ENDS_TWICE)),
    Fall((Guard.EPOCH_RISES,), EPOCH_DISCIPLINE, World(PAIR_FENCED)),
    Fall((Guard.PARTITION_EPOCH,), SUPERSET, World(THREE_CHANGE)),
    Fall((Guard.MEMBERS_UNFENCED,), VALID_CONTROLLER, World(PAIR_FENCED)),
    Fall((Guard.MEMBERS_LIVES,), CANDIDATE_COMPLETENESS, World(PAIR_LOSES)),
    Fall((Guard.TARGET_IN_SYNC,), VALID_SETS, World(TWO_SPARE_BROKERS)),
    # What a replica learns, and a leader's ISR.
    Fall((Guard.LEARNS_MORE,), SUPERSET, World(THREE_CHANGE)),
    Fall((Guard.LEADS_ANEW,), CANDIDATE_COMPLETENESS, World(THREE_REMOVE)),
    Fall(
        (Guard.LEADS,),
        RECORD_IDENTITY,
        World(PAIR_TAKES_TURNS, ONE_IS_ENOUGH, ignored=(VALID_FETCHER,)),
    ),
    Fall((Guard.NONE_PENDING,), SUPERSET, World(PAIR_TAKES_TURNS, ONE_IS_ENOUGH)),
    Fall((Guard.HAS_FETCHED,), CANDIDATE_COMPLETENESS, World(PAIR_LOSES)),
    Fall((Guard.REACHED_HWM,), CANDIDATE_COMPLETENESS, World(PAIR_LOSES_TWO, ONE_IS_ENOUGH)),
    Fall((Guard.REACHED_START,), CANDIDATE_COMPLETENESS, World(PAIR_LOSES)),
    Fall((Guard.EAGER_MAXIMAL,), CANDIDATE_COMPLETENESS, World(PAIR_LOSES_TWO, ONE_IS_ENOUGH)),
    Fall((Guard.LAST_ATTEMPT,), SUPERSET, World(LATECOMER_REPEATS, STANDING)),
    Fall((Guard.NEWER_CHANGE,), VALID_REPLICA, World(SPARE_BROKER)),
    Fall((Guard.KEEPS_PROPOSAL,), SUPERSET, World(LATECOMER_REPEATS, BUILT)),
    Fall((Guard.ENOUGH_IN_SYNC,), CANDIDATE_COMPLETENESS, World(PAIR_FENCED)),
    Fall((Guard.MAXIMAL_HAS_IT,), CANDIDATE_COMPLETENESS, World(PAIR_FENCED)),
    # Fetching.
    Fall((Guard.FETCH_EPOCH,), CANDIDATE_COMPLETENESS, World(THREE_REMOVE_EARLY)),
    Fall((Guard.FETCH_POSITION,), LOG_MATCHING, World(PAIR_TAKES_TURNS, ONE_IS_ENOUGH)),
    Fall((Guard.HWM_IN_LOG,), VALID_REPLICA, World(PAIR_TAKES_TURNS, ONE_IS_ENOUGH)),
    Fall((Guard.LIFE_THAT_FETCHES,), CANDIDATE_COMPLETENESS, World(PAIR_LINGERS, BUILT)),
    Fall(
        (Guard.SAME_POSITION, Guard.SAME_EPOCH), VALID_REPLICA, World(PAIR_RETURNS, ONE_IS_ENOUGH)
    ),
    Fall((Guard.SAME_EPOCH,), CANDIDATE_COMPLETENESS, World(THREE_CUT_LATE, ONE_IS_ENOUGH)),
)

SPARE: Final[dict[Guard, str]] = {
    Guard.IS_UP: "nothing is left of a life that could act: its role and its fetchers end with it",
    Guard.NEW_EPOCH: "the port gives the next epoch itself; a trace tells which",
    Guard.THIS_LIFE: "in the closed model a heartbeat is heard in the moment it is sent",
    Guard.IS_FENCED: "to unfence who is not fenced changes nothing",
    Guard.IS_UNFENCED: "to fence who is fenced changes nothing",
    Guard.FROM_LEADER: "who asks and leads no more knows an older partition epoch",
    Guard.LEADERS_LIFE: "the life before was fenced, and the partition epoch has risen by that",
    Guard.NONE_UNDERWAY: "to change one's mind endangers nothing; an operator cancels first",
    Guard.HAS_IN_SYNC: "who leads is decided by who is in sync; without anybody, nobody does",
    Guard.GOES_ON: "the closed model reads the log forwards",
    Guard.LEADS_KNOWING_NOTHING: "who stops leading forgets the others at once",
    Guard.FETCHES_ANEW: "a fetcher is at the end of the log anyway: no world has a state more",
    Guard.WAITS: "who asks again too soon is refused again; it is for getting anywhere",
    Guard.IS_CHANGE: "to propose what is so changes nothing",
    Guard.IS_ELIGIBLE: "the controller refuses who is not; it is for not asking in vain",
    Guard.ANSWERS_PROPOSAL: "an answer to an older proposal is of an older partition epoch",
    Guard.ENOUGH_TO_WRITE: "what too few have is not committed; it is for telling clients early",
    Guard.HWM_RISES: "the port raises it itself; a trace tells to where",
    Guard.FOLLOWS: "whom it does not follow would not serve it",
    Guard.ONE_OUTSTANDING: "a second answer is about a position that is left by then",
    Guard.CUTS_WHERE_TOLD: "who cuts too little is told again; it is for getting anywhere",
    Guard.POSSIBLE_TARGET: "the closed model asks for no other; an operator may",
    Guard.OUTSTANDING: "an answer that nobody waits for is about a position that is left",
}


def trials(deep: bool) -> Iterator[Trial]:
    """Yield everything that is to be shown."""
    for name, world in WORLDS.items():
        yield Trial(name, partial(explored, world))
    for name, world in DEEP.items() if deep else ():
        yield Trial(name, partial(explored, world), is_whole=False)
    for name, world in AWAITED.items():
        yield Trial(name, partial(waited, world))
    for name, world in RETOLD.items():
        yield Trial(name, partial(walked, world))
    for fall in FALLS:
        name = ", ".join(guard.name for guard in fall.guards)
        yield Trial(name, partial(shown, fall), fall.broken)


def explored(world: World, states_max: int) -> Explored:
    """Explore a world under all its rules."""
    model = Closed(world.scope, world.rules, frozenset(world.ignored), exact=world.exact)
    return explore(model, states_max)


def waited(world: World, states_max: int) -> Explored:
    """Ask every fair way through a world what must happen in the end."""
    states, name, found = starving(Closed(world.scope, world.rules), states_max)
    way = () if found is None else tuple(str(found).splitlines())
    return Explored(states, 0, 0, name, way)


def walked(world: World, states_max: int) -> Explored:
    """Tell some ways through a world as runs, and walk along them."""
    steps = 0
    for number in range(WAYS):
        model = Closed(world.scope, world.rules, exact=True)
        controller, brokers = model.initial()[:2]
        first = [model.brokers[each] for each in brokers]
        walk = Walk(model.controllers[controller], first, 1, world.rules)
        names: list[str] = []
        for name, event in retold(model, number, min(MOVES_MAX, states_max)):
            names.append(name)
            steps += 1
            found = walk.take(event)
            if found is not None:
                return Explored(steps, steps, len(names), found.place, (*names, str(found)))
    return Explored(steps, steps, MOVES_MAX)


def shown(fall: Fall, states_max: int = 200_000) -> Explored:
    """Explore a world without some guards."""
    rules = replace(fall.world.rules, lifted=frozenset(fall.guards))
    return explore(Closed(fall.world.scope, rules, frozenset(fall.world.ignored)), states_max)
