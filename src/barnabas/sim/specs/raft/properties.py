"""What must hold of every replica, of every step, of every two logs and of everything ever said.

Whatever spans time is a fact that is said once and never taken back: who led an epoch and with
which log, who voted for whom, what was shown as committed, what was appended first.  Then every
property of a history is a contradiction between two facts, and none needs to remember the past:

    Led(e, 1, …) and Led(e, 2, …)                  ElectionSafety        R-01
    Voted(e, 3, for 1) and Voted(e, 3, for 2)      VoteOnce              R-02
    Shown(prefix) and Shown(another)               CommittedPrefix       R-08
    Led(e, log) and Shown(prefix, before e)        LeaderCompleteness    R-09
    Issued(offset, e, x) and Issued(offset, e, y)  RecordIdentity        R-33
"""

from collections.abc import Iterator, Sequence
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
NO_AMNESIA: Final = "NoVoteAmnesia"
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


def of_node(node: Node) -> Iterator[str]:
    """Yield the properties that a replica breaks as it is (R-06, R-12)."""
    if not node.log.start <= node.hwm <= node.log.end or node.flushed > node.log.end:
        yield HWM_IN_LOG
    asks = node.role in (Role.PROSPECTIVE, Role.CANDIDATE)
    leads = node.role in (Role.LEADER, Role.RESIGNED)
    # Whoever is removed leads until that is committed, and not a moment longer.
    stays = node.role is Role.LEADER and not node.is_voter and node.log.voters_offset < node.hwm
    unknown = leads and node.leader != node.key.id
    if (asks and not node.is_voter) or (node.granted and not asks) or stays or unknown:
        yield VALID_ROLES


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


def of_step(before: Node, after: Node) -> Iterator[str]:
    """Yield the properties that a step within one life breaks."""
    if after.epoch < before.epoch or after.saved.epoch < before.saved.epoch:
        yield EPOCH_MONOTONIC
    if not is_legal(before, after):
        yield LEGAL_TRANSITION
    votes = before.voted is not None and after.role not in (Role.LEADER, Role.RESIGNED)
    if votes and after.epoch == before.epoch and after.voted != before.voted:
        yield NO_AMNESIA
    if after.hwm < before.hwm:
        yield HWM_MONOTONIC
    if after.log.end < before.hwm or not after.log.agrees_with(before.log, before.hwm):
        yield NO_CUT_BELOW_HWM
    leads = before.role is after.role is Role.LEADER
    if leads and not (after.log.end >= before.log.end and after.log.agrees_with(before.log)):
        yield APPEND_ONLY
    if leads and len(after.voters ^ before.voters) > 1:
        yield ONE_CHANGE


def is_legal(before: Node, after: Node) -> bool:
    """Tell whether a role may follow another (R-05)."""
    if after.epoch == before.epoch:
        both_follow = before.role is after.role is Role.FOLLOWER
        turns = both_follow and before.leader != after.leader
        return after.role in SAME[before.role] and not turns
    # Where nobody knows pre-votes, to stand and to run is one step.
    stands = before.role not in (Role.LEADER, Role.RESIGNED)
    runs = stands and after.role is Role.CANDIDATE and after.epoch == before.epoch + 1
    return after.role in HIGHER or runs


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
