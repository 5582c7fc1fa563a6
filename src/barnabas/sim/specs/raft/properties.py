"""What must hold of every replica, of every step, of every two logs and of everything ever said.

Whatever spans time is a fact that is said once and never taken back: who led an epoch and with
which log, who voted for whom, what was shown as committed, what was appended first.  Then every
property of a history is a contradiction between two facts, and none needs to remember the past:

    Led(e, 1, …) × Led(e, 2, …)                  ElectionSafety        R-01
    Voted(e, 3, for 1) × Voted(e, 3, for 2)      VoteOnce              R-02
    Shown(prefix) × Shown(another)               CommittedPrefix       R-08
    Led(e, log) × Shown(prefix, before e)        LeaderCompleteness    R-09
    Issued(offset, e, x) × Issued(offset, e, y)  RecordIdentity        R-33
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.raft.log import Content, Key, Log
from barnabas.sim.specs.raft.node import Message, Node, Role

ELECTION_SAFETY: Final = "ElectionSafety"
VOTE_ONCE: Final = "VoteOnce"
COMMITTED_PREFIX: Final = "CommittedPrefix"
LEADER_COMPLETENESS: Final = "LeaderCompleteness"
RECORD_IDENTITY: Final = "RecordIdentity"
LOG_MATCHING: Final = "LogMatching"
DURABILITY: Final = "Durability"
EPOCH_MONOTONIC: Final = "EpochMonotonic"
LEGAL_TRANSITION: Final = "LegalTransition"
HWM_MONOTONIC: Final = "HwmMonotonic"
HWM_IN_LOG: Final = "HwmInLog"
NO_CUT_BELOW_HWM: Final = "NoTruncateBelowHwm"
APPEND_ONLY: Final = "LeaderAppendOnly"
VALID_ROLES: Final = "ValidRolesAndStates"
ONE_CHANGE: Final = "OneReconfigAtATime"
LEADER_KEPT: Final = "StableLeaderKept"


@value
class Voted:
    """A replica gave its vote in an epoch."""

    epoch: int
    voter: Key
    candidate: Key


@value
class Led:
    """A replica began to lead an epoch with this log."""

    epoch: int
    key: Key
    log: Log


@value
class Shown:
    """In an epoch, these records were taken for committed by a leader or by who follows it."""

    epoch: int
    prefix: Log


@value
class Issued:
    """A leader was the first to append this."""

    epoch: int
    offset: int
    content: Content


Fact: TypeAlias = Message | Voted | Led | Shown | Issued


def contradiction(one: Fact, other: Fact) -> str:
    """Return the property that two facts break together; empty if they may both be."""
    match one, other:
        case Led(epoch=a), Led(epoch=b) if a == b and one.key != other.key:
            return ELECTION_SAFETY
        case Voted(), Voted() if (one.epoch, one.voter) == (other.epoch, other.voter):
            return VOTE_ONCE if one.candidate != other.candidate else ""
        case Shown(), Shown():
            return "" if one.prefix.agrees_with(other.prefix) else COMMITTED_PREFIX
        case (Led() as led, Shown() as shown) | (Shown() as shown, Led() as led):
            lacks = led.log.end < shown.prefix.end or not led.log.agrees_with(shown.prefix)
            return LEADER_COMPLETENESS if shown.epoch < led.epoch and lacks else ""
        case Issued(), Issued() if (one.epoch, one.offset) == (other.epoch, other.offset):
            return RECORD_IDENTITY if one.content != other.content else ""
        case _:
            return ""


def of_node(node: Node) -> str:
    """Return the property that a replica breaks as it is; empty if none (R-06, R-12)."""
    if not node.log.start <= node.hwm <= node.log.end or node.flushed > node.log.end:
        return HWM_IN_LOG
    if node.role in (Role.PROSPECTIVE, Role.CANDIDATE) and not node.is_voter:
        return VALID_ROLES
    if node.granted and node.role not in (Role.PROSPECTIVE, Role.CANDIDATE):
        return VALID_ROLES
    removed = node.role is Role.LEADER and not node.is_voter
    if removed and node.log.voters_offset < node.hwm:
        return VALID_ROLES
    leads = node.role in (Role.LEADER, Role.RESIGNED)
    return VALID_ROLES if leads and node.leader != node.key.id else ""


# What may follow what in one epoch, and in a higher one (invariants, table 1.3).
SAME: Final[dict[Role, frozenset[Role]]] = {
    Role.UNATTACHED: frozenset({Role.UNATTACHED, Role.PROSPECTIVE, Role.FOLLOWER}),
    Role.FOLLOWER: frozenset({Role.FOLLOWER, Role.PROSPECTIVE}),
    Role.PROSPECTIVE: frozenset({Role.PROSPECTIVE, Role.FOLLOWER, Role.UNATTACHED}),
    Role.CANDIDATE: frozenset({Role.CANDIDATE, Role.PROSPECTIVE, Role.FOLLOWER, Role.LEADER}),
    Role.LEADER: frozenset({Role.LEADER, Role.RESIGNED}),
    Role.RESIGNED: frozenset({Role.RESIGNED}),
}
HIGHER: Final = frozenset({Role.UNATTACHED, Role.FOLLOWER})


def of_step(before: Node, after: Node) -> str:
    """Return the property that a step within one life breaks; empty if none (R-03 to R-05, R-12)."""
    if after.epoch < before.epoch or after.saved.epoch < before.saved.epoch:
        return EPOCH_MONOTONIC
    if after.epoch == before.epoch:
        is_legal = after.role in SAME[before.role]
        both_know = before.role is after.role is Role.FOLLOWER
        is_legal = is_legal and not (both_know and before.leader != after.leader)
    else:
        # Where nobody knows pre-votes, to stand and to run is one step.
        stands = before.role not in (Role.LEADER, Role.RESIGNED)
        runs = stands and after.role is Role.CANDIDATE and after.epoch == before.epoch + 1
        is_legal = after.role in HIGHER or runs
    if not is_legal:
        return LEGAL_TRANSITION
    if after.hwm < before.hwm:
        return HWM_MONOTONIC
    if after.log.end < before.hwm or not after.log.agrees_with(before.log, before.hwm):
        return NO_CUT_BELOW_HWM
    leads = before.role is after.role is Role.LEADER
    if leads and not (after.log.end >= before.log.end and after.log.agrees_with(before.log)):
        return APPEND_ONLY
    change = len(after.voters - before.voters) + len(before.voters - after.voters)
    return ONE_CHANGE if leads and change > 1 else ""


def of_logs(one: Log, other: Log) -> str:
    """Return the property that two logs break: alike at a record, alike below it (R-07)."""
    ends = dict(one.epochs)
    for epoch, _ in other.epochs:
        if epoch in ends:
            end = min(one.end_of_epoch(epoch)[1], other.end_of_epoch(epoch)[1])
            holds = epoch_at(one, end) == epoch_at(other, end) == epoch
            if holds and not one.agrees_with(other, end):
                return LOG_MATCHING
    return ""


def epoch_at(log: Log, end: int) -> int:
    """Return the epoch of the record before an offset; -1 if it is not in the log."""
    return log.epoch_below(end) if log.start < end <= log.end else -1


def is_durable(leader: Node, nodes: Sequence[Node]) -> bool:
    """Tell whether what a leader has committed is on the disks of a majority of voters (R-10).

    A voter whose disk was lost since has kept its word if it ever gave it.
    """
    holders = 0
    for voter in leader.voters:
        living = [node for node in nodes if voter.names(node.key)]
        if living:
            log, flushed = living[0].log, living[0].flushed
            holders += flushed >= leader.hwm and log.agrees_with(leader.log, leader.hwm)
        else:
            told = (end for key, end in leader.progress if voter.names(key))
            holders += max(told, default=-1) >= leader.hwm
    return holders >= leader.majority
