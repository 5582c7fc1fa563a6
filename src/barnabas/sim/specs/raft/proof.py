"""What shows that the port is one: scopes in which nothing falls, and what falls without a guard.

    SCOPES    worlds that are explored whole, under all the rules: every property holds
    FALLS     for each guard, a world in which a property falls as soon as the guard is lifted
    SPARE     the guards that no property of these rests on, and why they are there

A guard that only a second one backs up is lifted with it, and each of the two alone is not enough;
a guard that is a second line behind a property is shown with that property not asked for.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from barnabas.model.value import value
from barnabas.sim.specs.exploration import Explored, Trial, explore
from barnabas.sim.specs.raft.closed import Closed
from barnabas.sim.specs.raft.deeds import Scope
from barnabas.sim.specs.raft.guards import ALL, Guard, without
from barnabas.sim.specs.raft.properties import (
    COMMITTED_PREFIX,
    DURABILITY,
    ELECTION_SAFETY,
    EPOCH_MONOTONIC,
    HWM_IN_LOG,
    HWM_MONOTONIC,
    LEADER_COMPLETENESS,
    LEADER_KEPT,
    LEGAL_TRANSITION,
    LOG_MATCHING,
    NO_AMNESIA,
    NO_CUT_BELOW_HWM,
    ONE_CHANGE,
    RECORD_IDENTITY,
    VALID_ROLES,
    VOTE_ONCE,
)

# --- Ways to begin ---------------------------------------------------------------------------

# Replica 1 leads epoch 1; replica 2 has its first record, which is committed.
LEADS: Final = ("1 runs", "2 votes for 1 in 1", "1 counts the vote of 2", "1 leads")
COMMITS: Final = (
    "2 follows 1 in 1",
    "1 accepts the fetch of 2 at 0",
    "2 takes up to 1, -1 committed",
    "1 accepts the fetch of 2 at 1",
)
ASKED_FIRST: Final = (
    "1 stands",
    "2 would vote for 1 in 0",
    "1 counts the vote of 2",
    "1 wins the pre-vote",
)
# The same with disks that are slow; it is replica 3 that has the record.
SLOWLY: Final = (
    "1 flushes",
    "3 follows 1 in 1",
    "1 accepts the fetch of 3 at 0",
    "3 takes up to 1, -1 committed",
    "3 flushes",
    "1 accepts the fetch of 3 at 1",
)
# Figure 8 of the Raft paper: 1 leads epoch 3 with a record of epoch 1 that nobody else has, after
# 2 has led epoch 2 with one that nobody else has either.
FIGURE_8: Final = (
    *LEADS,
    "2 runs",
    "3 votes for 2 in 2",
    "2 counts the vote of 3",
    "2 leads",
    "1 hears that 2 runs for 2",
    "1 runs",
    "3 votes for 1 in 3",
    "1 counts the vote of 3",
    "1 leads",
)
# The erratum of Raft's reconfiguration: 1 has added 5, which only 5 knows; 2 leads the next epoch
# with the votes of 3 and 4, that have not heard of it.
ERRATUM: Final = (
    "1 runs",
    "2 votes for 1 in 1",
    "3 votes for 1 in 1",
    "1 counts the vote of 2",
    "1 counts the vote of 3",
    "1 leads",
    "2 follows 1 in 1",
    "3 follows 1 in 1",
    "1 accepts the fetch of 2 at 0",
    "1 accepts the fetch of 3 at 0",
    "2 takes up to 1, -1 committed",
    "3 takes up to 1, -1 committed",
    "1 accepts the fetch of 2 at 1",
    "1 accepts the fetch of 3 at 1",
    "1 adds 5",
    "5 follows 1 in 1",
    "1 accepts the fetch of 5 at 0",
    "5 takes up to 2, 1 committed",
    "2 runs",
    "3 votes for 2 in 2",
    "4 votes for 2 in 2",
    "2 counts the vote of 3",
    "2 counts the vote of 4",
    "2 leads",
)

REMOVES: Final = (
    "2 removes 1",
    "3 follows 2 in 2",
    "2 accepts the fetch of 3 at 1",
    "3 takes up to 3, -1 committed",
    "2 accepts the fetch of 3 at 3",
    "1 hears that 2 runs for 2",
    "1 runs",
)

# --- Worlds ----------------------------------------------------------------------------------

PAIR: Final = Scope(2, epochs=2, values=1)
PAIR_CRASHES: Final = Scope(2, epochs=2, values=1, restarts=1)
PAIR_DISKS: Final = Scope(2, epochs=1, values=2, restarts=1, disks=True)
PAIR_RESIGNS: Final = Scope(2, epochs=2, values=1, resignations=1)
# Who knows no leader asks somebody, who may lead its very epoch.
PAIR_DISCOVERS: Final = Scope(2, epochs=2, values=0, restarts=1, disks=True, discoveries=1)
PAIR_SNAPSHOTS: Final = Scope(2, epochs=2, values=1, snapshots=1)
PAIR_AND_OBSERVER: Final = Scope(2, 1, epochs=1, values=0)
ONE_EPOCH: Final = Scope(3, epochs=1, values=0)
ONE_EPOCH_CRASH: Final = Scope(3, epochs=1, values=0, restarts=1, disks=True)
TWO_EPOCHS: Final = Scope(3, epochs=2, values=0)
PRE_VOTES: Final = Scope(3, epochs=1, values=0, pre_votes=True)
STABLE: Final = Scope(
    3,
    epochs=2,
    values=0,
    pre_votes=True,
    quiet=frozenset({1, 2}),
    stands=3,
    stable=1,
    script=(*ASKED_FIRST, *LEADS[1:], *COMMITS),
)
SINGLY: Final = Scope(3, epochs=1, values=1, singly=True)
LATE_CRASH: Final = Scope(3, epochs=2, values=0, restarts=1, disks=True, script=(*LEADS, *SLOWLY))
FOUR_EPOCHS: Final = Scope(3, epochs=4, values=0, singly=True, script=FIGURE_8)
WIPES: Final = Scope(3, epochs=1, values=0, wipes=1)
CHANGES: Final = Scope(3, epochs=1, values=0, changes=1)
TWO_CHANGES: Final = Scope(3, epochs=2, values=0, changes=2, script=(*LEADS, *COMMITS))
FIVE: Final = Scope(4, 1, epochs=3, values=0, changes=2, script=ERRATUM)
SNAPSHOTS: Final = Scope(2, 1, epochs=1, values=1, snapshots=2)

SCOPES: Final[dict[str, Scope]] = {
    "pair": PAIR,
    "pair, crashes": PAIR_CRASHES,
    "pair, disks": PAIR_DISKS,
    "pair, resignation": PAIR_RESIGNS,
    "pair, discovery": PAIR_DISCOVERS,
    "pair, snapshots": PAIR_SNAPSHOTS,
    "pair and observer": PAIR_AND_OBSERVER,
    "one epoch": ONE_EPOCH,
    "one epoch, crash": ONE_EPOCH_CRASH,
    "two epochs": TWO_EPOCHS,
    "pre-votes": PRE_VOTES,
    "stable": STABLE,
    "one record at a time": SINGLY,
    "late crash": LATE_CRASH,
    "figure 8": FOUR_EPOCHS,
    "lost disk": WIPES,
    "changed voters": CHANGES,
    "snapshots": SNAPSHOTS,
}
"""Explored whole."""

QUICK: Final = (
    "pair",
    "pair, crashes",
    "pair, disks",
    "pair, resignation",
    "pair, discovery",
    "pair, snapshots",
    "pair and observer",
    "one epoch",
    "stable",
)
"""Those that take no more than a second or two."""

DEEP: Final[dict[str, Scope]] = {
    "three, two epochs, a value": Scope(3, epochs=2, values=1),
    "three, two epochs, a crash": Scope(3, epochs=2, values=0, restarts=1),
    "three, two epochs, a lost disk": Scope(3, epochs=2, values=0, wipes=1),
    "three, two epochs, a change": Scope(3, epochs=2, values=0, changes=1),
    "three, two epochs, a snapshot": Scope(3, epochs=2, values=0, snapshots=1),
    "two changes": TWO_CHANGES,
    "five replicas": FIVE,
}
"""As far as there is room."""


@value
class Fall:
    """Guards, and the property that falls when they are lifted."""

    guards: tuple[Guard, ...]
    broken: str
    scope: Scope
    then: tuple[str, ...] = ()
    """What happens first that the guards forbid or not."""
    ignored: tuple[str, ...] = ()
    """Properties that fall sooner, and are not asked for."""


FALLS: Final = (
    # Elections.
    Fall((Guard.IS_VOTER,), VALID_ROLES, PAIR_AND_OBSERVER),
    Fall((Guard.RIGHT_ROLE,), LEGAL_TRANSITION, PAIR),
    Fall((Guard.PRE_VOTED,), LEADER_KEPT, STABLE),
    Fall((Guard.LEADER_IS_SILENT,), LEADER_KEPT, STABLE),
    Fall((Guard.ELECTED,), ELECTION_SAFETY, PAIR),
    Fall((Guard.VOTE_EPOCH,), VOTE_ONCE, TWO_EPOCHS),
    Fall((Guard.FREE_TO_VOTE,), VOTE_ONCE, ONE_EPOCH_CRASH),
    Fall((Guard.VOTES_ONCE,), VOTE_ONCE, ONE_EPOCH, ignored=(NO_AMNESIA,)),
    Fall((Guard.LOG_COMPLETE,), LEADER_COMPLETENESS, TWO_EPOCHS),
    Fall((Guard.ADDRESSEE,), ELECTION_SAFETY, WIPES),
    Fall((Guard.OUTSTANDING, Guard.VOTE_COUNTS), ELECTION_SAFETY, TWO_EPOCHS),
    Fall((Guard.KEEPS_VOTE,), VOTE_ONCE, PRE_VOTES, ignored=(NO_AMNESIA,)),
    Fall((Guard.PERSISTS,), VOTE_ONCE, ONE_EPOCH_CRASH),
    Fall((Guard.KEEPS_CLAIM,), LEADER_COMPLETENESS, LATE_CRASH),
    Fall((Guard.KEEPS_FLUSHED,), DURABILITY, PAIR_CRASHES),
    Fall((Guard.LEADS_NO_MORE,), RECORD_IDENTITY, PAIR_DISKS),
    Fall((Guard.GOES_FORWARD,), EPOCH_MONOTONIC, PAIR),
    Fall(
        (Guard.ONE_LEADER, Guard.VOTES_ONCE),
        LEGAL_TRANSITION,
        ONE_EPOCH,
        ignored=(VOTE_ONCE, ELECTION_SAFETY, NO_AMNESIA),
    ),
    # Replication.
    Fall((Guard.LEADS,), LOG_MATCHING, PAIR),
    Fall((Guard.FETCH_EPOCH, Guard.LEADER_ANSWERS), LEADER_COMPLETENESS, TWO_EPOCHS),
    Fall((Guard.FETCH_POSITION,), DURABILITY, TWO_EPOCHS),
    Fall((Guard.FETCHES_FLUSHED,), DURABILITY, PAIR_DISKS),
    Fall((Guard.SAME_POSITION, Guard.OUTSTANDING), LOG_MATCHING, PAIR),
    Fall(
        (Guard.KEEPS_COMMITTED, Guard.OWN_EPOCH),
        NO_CUT_BELOW_HWM,
        FOUR_EPOCHS,
        ignored=(LEADER_COMPLETENESS, COMMITTED_PREFIX, DURABILITY, HWM_IN_LOG),
    ),
    Fall((Guard.HWM_RISES,), HWM_MONOTONIC, PAIR),
    Fall((Guard.HWM_WITHIN,), HWM_IN_LOG, SINGLY),
    Fall((Guard.MAJORITY,), DURABILITY, PAIR),
    Fall((Guard.ONLY_VOTERS,), DURABILITY, PAIR_AND_OBSERVER),
    Fall((Guard.BY_DIRECTORY,), DURABILITY, WIPES),
    Fall((Guard.OWN_FLUSHED,), DURABILITY, PAIR_DISKS),
    Fall((Guard.COUNTS_ITSELF,), DURABILITY, CHANGES),
    Fall((Guard.OWN_EPOCH,), LEADER_COMPLETENESS, FOUR_EPOCHS),
    # Voters and snapshots.
    Fall((Guard.READY,), LEADER_COMPLETENESS, FIVE, then=REMOVES),
    Fall((Guard.SETTLED,), LEADER_COMPLETENESS, TWO_CHANGES),
    Fall((Guard.ONE_AT_A_TIME,), LEADER_COMPLETENESS, TWO_CHANGES, ignored=(ONE_CHANGE,)),
    Fall((Guard.COMMITTED,), HWM_IN_LOG, PAIR_SNAPSHOTS),
)

SPARE: Final[dict[Guard, str]] = {
    Guard.REASON_TO_REFUSE: "who refuses without a reason endangers nothing, and elects nobody",
    Guard.NOTHING_NEW: "who does not heed news is late, not wrong",
    Guard.IS_TOLD: "in the closed model nobody can hear what was not said",
    Guard.AS_ISSUED: "in the closed model messages carry what leaders have appended",
    Guard.DIVERGES: "who is told to cut where nothing differs cuts nothing",
    Guard.CUTS_WHERE_TOLD: "who cuts too little is told again; it is for getting anywhere",
    Guard.SNAPSHOT_THERE: "without a snapshot there is nothing to send",
    Guard.NOT_LEADING: "only a follower fetches snapshots; for the product that is two moments",
}


def trials(deep: bool) -> Iterator[Trial]:
    """Yield everything that is to be shown."""
    for name, scope in SCOPES.items():
        yield Trial(name, partial(explored, scope))
    for name, scope in DEEP.items() if deep else ():
        yield Trial(name, partial(explored, scope), is_whole=False)
    for fall in FALLS:
        name = ", ".join(guard.name for guard in fall.guards)
        yield Trial(name, partial(shown, fall), fall.broken)


def shown(fall: Fall, states_max: int = 200_000) -> Explored:
    """Explore a world without some guards."""
    model = Closed(fall.scope, without(*fall.guards), frozenset(fall.ignored), fall.then)
    return explore(model, states_max)


def explored(scope: Scope, states_max: int) -> Explored:
    """Explore a world under all the rules."""
    return explore(Closed(scope, ALL), states_max)
