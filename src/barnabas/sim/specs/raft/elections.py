"""Roles and votes: how a replica comes to lead an epoch, and how it stops.

              stand              win_pre_vote           lead
    Unattached ──▶ Prospective ──────────────▶ Candidate ──▶ Leader ── resign ──▶ Resigned
        ▲  ▲             │  ▲                      │                                 │
        │  └─ lose_pre_vote └──────── stand ───────┘            give_up (epoch + 1)  │
        └────────────────────────────────────────────────────────────────────────────┘
    anybody ── follow, detach ──▶ Follower, Unattached, of a higher epoch or a leader just learned

In KIP-996's specification: VoterFetchTimeout and VoterElectionTimeout (``stand``), ConcludePreVote
(``win_pre_vote``, ``lose_pre_vote``), BecomeLeader (``lead``), CheckQuorumResign (``resign``),
ResignedElectionTimeout (``give_up``), HandleVoteRequest (``detach``, then ``grant`` or ``refuse``),
HandleVoteResponse (``count``), AcceptBeginQuorumRequest and MaybeHandleCommonResponse (``follow``,
``detach``, ``stay``), RestartWithState (``restart``).  What is one action there and several things
in turn is several actions here, for the product does them one after another and says so.
"""

from dataclasses import replace

from barnabas.sim.specs.raft.guards import ALL, Guard
from barnabas.sim.specs.raft.log import LEADER_CHANGE, PLAIN, Content, Key
from barnabas.sim.specs.raft.node import (
    Asked,
    Election,
    Node,
    Role,
    Step,
    VoteAnswer,
    VoteRequest,
)
from barnabas.sim.specs.rules import Blocked, Rules

# --- Changing role or epoch ------------------------------------------------------------------


def become(
    node: Node, role: Role, epoch: int, leader: int | None, voted: Key | None, rules: Rules = ALL
) -> Node:
    """Return a node of another role or epoch, which has forgotten what belonged to the old one.

    Epoch, leader and vote are on its disk before anything else happens.
    """
    after = replace(
        node,
        role=role,
        epoch=epoch,
        leader=leader,
        voted=voted,
        asked=frozenset(),
        granted=frozenset(),
        has_fetched=False,
        epoch_start=0,
        progress=frozenset(),
    )
    return saved(after, rules)


def saved(node: Node, rules: Rules) -> Node:
    """Return the node with its election on its disk."""
    if rules.demand(Guard.PERSISTS):
        return replace(node, saved=node.election)
    # The epoch alone, as a careless product might.
    forgetful = Election(node.epoch, node.leader, node.saved.voted)
    return replace(node, saved=forgetful if node.epoch == node.saved.epoch else node.saved)


def kept_vote(node: Node, epoch: int, rules: Rules) -> Key | None:
    """Return the vote that a node has in an epoch that it enters or stays in (R-04)."""
    if epoch == node.epoch and rules.demand(Guard.KEEPS_VOTE):
        return node.voted
    return None


def stand(node: Node, rules: Rules = ALL) -> Step | Blocked:
    """Wait no longer: ask whether an election would be won."""
    blocked = rules.blocked(
        (Guard.IS_VOTER, node.is_voter),
        (Guard.RIGHT_ROLE, node.role in (Role.UNATTACHED, Role.FOLLOWER, Role.CANDIDATE)),
    )
    if blocked is not None:
        return blocked
    after = become(node, Role.PROSPECTIVE, node.epoch, node.leader, node.voted, rules)
    return Step(replace(after, granted=frozenset({node.key.id})))


def miss_leader(node: Node, rules: Rules = ALL) -> Step | Blocked:
    """Wait no longer, and do not vote: believe no more that the leader lives."""
    blocked = rules.blocked((Guard.RIGHT_ROLE, node.role is Role.FOLLOWER and not node.is_voter))
    return Step(replace(node, has_fetched=False)) if blocked is None else blocked


def win_pre_vote(node: Node, rules: Rules = ALL, is_known: bool = True) -> Step | Blocked:
    """Begin an election in the next epoch; at once if somebody does not know pre-votes."""
    blocked = rules.blocked(
        (Guard.IS_VOTER, node.is_voter),
        (Guard.RIGHT_ROLE, node.role is Role.PROSPECTIVE),
        (Guard.PRE_VOTED, not is_known or has_majority(node)),
    )
    if blocked is not None:
        return blocked
    after = become(node, Role.CANDIDATE, node.epoch + 1, None, node.key, rules)
    return Step(replace(after, granted=frozenset({node.key.id})))


def lose_pre_vote(node: Node, follows: bool, rules: Rules = ALL) -> Step | Blocked:
    """Go back to the leader that was, or wait."""
    blocked = rules.blocked(
        (Guard.RIGHT_ROLE, node.role is Role.PROSPECTIVE),
        (Guard.ONE_LEADER, not follows or node.leader not in (None, node.key.id)),
    )
    if blocked is not None:
        return blocked
    role = Role.FOLLOWER if follows else Role.UNATTACHED
    vote = kept_vote(node, node.epoch, rules)
    return Step(become(node, role, node.epoch, node.leader, vote, rules))


def lead(node: Node, more: tuple[Content, ...] = (), rules: Rules = ALL) -> Step | Blocked:
    """Begin to lead, with the first record of the epoch; ``more`` come with it in one batch."""
    blocked = rules.blocked(
        (Guard.RIGHT_ROLE, node.role is Role.CANDIDATE),
        (Guard.ELECTED, has_majority(node)),
        # A leader may put the voters that are in no log yet into its own.
        (Guard.ONE_AT_A_TIME, all(content in (PLAIN, node.voters) for content in more)),
    )
    if blocked is not None:
        return blocked
    after = become(node, Role.LEADER, node.epoch, node.key.id, None, rules)
    log = after.log
    for content in (LEADER_CHANGE, *more):
        log = log.append(node.epoch, content)
    return Step(replace(after, log=log, epoch_start=node.log.end))


def resign(node: Node, rules: Rules = ALL) -> Step | Blocked:
    """Lead no longer."""
    blocked = rules.blocked((Guard.LEADS, node.role is Role.LEADER))
    if blocked is not None:
        return blocked
    return Step(become(node, Role.RESIGNED, node.epoch, node.key.id, None, rules))


def give_up(node: Node, rules: Rules = ALL) -> Step | Blocked:
    """Leave an epoch that one has led."""
    blocked = rules.blocked((Guard.RIGHT_ROLE, node.role is Role.RESIGNED))
    if blocked is not None:
        return blocked
    return Step(become(node, Role.UNATTACHED, node.epoch + 1, None, None, rules))


def restart(
    node: Node, kept: int, role: Role, flushed: int | None = None, rules: Rules = ALL
) -> Step | Blocked:
    """Come back with what is on the disk: the last election, the log up to somewhere.

    A replica may believe in less of it than is there, until it has flushed.
    """
    election, latest = node.saved, node.latest
    log = node.log.cut(kept)
    own_vote = election.voted == node.key and any(voter.names(node.key) for voter in log.voters)
    has_led = election.leader == node.key.id
    blocked = rules.blocked(
        (Guard.KEEPS_FLUSHED, node.on_disk <= kept <= node.log.end),
        (Guard.KEEPS_FLUSHED, flushed is None or flushed <= kept),
        (Guard.LEADS_NO_MORE, role is Role.RESIGNED or not has_led),
        (Guard.RIGHT_ROLE, has_led or role not in (Role.LEADER, Role.RESIGNED)),
        (Guard.RIGHT_ROLE, role is not Role.PROSPECTIVE),
        (Guard.RIGHT_ROLE, role is not Role.CANDIDATE or own_vote),
        (Guard.RIGHT_ROLE, role is not Role.FOLLOWER or election.leader is not None),
        # Whoever has voted for it may do so again without another look at its log.
        (Guard.KEEPS_CLAIM, role is not Role.CANDIDATE or kept == node.log.end),
    )
    if blocked is not None:
        return blocked
    hwm = 0 if latest is None else latest.end
    if flushed is None:
        woken = replace(node, log=log, flushed=kept, on_disk=kept, hwm=hwm)
    else:
        woken = replace(node, log=log, flushed=flushed, hwm=hwm)
    after = become(woken, role, election.epoch, election.leader, election.voted, rules)
    if role is Role.CANDIDATE:
        after = replace(after, granted=frozenset({node.key.id}))
    if role is Role.LEADER:
        after = replace(after, epoch_start=dict(log.epochs).get(election.epoch, log.end))
    return Step(after)


# --- What is heard of others -----------------------------------------------------------------


def follow(node: Node, leader: int, epoch: int, rules: Rules = ALL) -> Step | Blocked:
    """Follow the leader of this epoch or of a higher one."""
    same = epoch == node.epoch
    knows = node.role is Role.FOLLOWER or node.leader is not None
    blocked = rules.blocked(
        (Guard.GOES_FORWARD, epoch >= node.epoch),
        (
            Guard.ONE_LEADER,
            leader != node.key.id and not (same and knows and leader != node.leader),
        ),
        (Guard.RIGHT_ROLE, not same or node.role not in (Role.LEADER, Role.RESIGNED)),
    )
    if blocked is not None:
        return blocked
    return Step(become(node, Role.FOLLOWER, epoch, leader, kept_vote(node, epoch, rules), rules))


def detach(node: Node, epoch: int, leader: int | None = None, rules: Rules = ALL) -> Step | Blocked:
    """Learn of a higher epoch without being able to follow its leader."""
    blocked = rules.blocked((Guard.GOES_FORWARD, epoch > node.epoch))
    if blocked is not None:
        return blocked
    return Step(become(node, Role.UNATTACHED, epoch, leader, None, rules))


def stay(node: Node, epoch: int, leader: int | None, rules: Rules = ALL) -> Step | Blocked:
    """Learn nothing from what was heard."""
    known = leader in (None, node.key.id) or node.leader is not None
    old = epoch < node.epoch or (epoch == node.epoch and known)
    blocked = rules.blocked((Guard.NOTHING_NEW, old))
    return Step(node) if blocked is None else blocked


# --- Voting ----------------------------------------------------------------------------------


def ask_vote(node: Node, voter: Key, number: int = 0, rules: Rules = ALL) -> Step | Blocked:
    """Ask a voter for its vote, or whether it would give it."""
    is_candidate = node.role is Role.CANDIDATE
    blocked = rules.blocked(
        (Guard.RIGHT_ROLE, is_candidate or node.role is Role.PROSPECTIVE),
        (Guard.IS_VOTER, voter in node.others),
    )
    if blocked is not None:
        return blocked
    request = VoteRequest(node.key, voter, node.epoch, node.log.rank, not is_candidate)
    return Step(node.ask(Asked(number, request)), request)


def grant(node: Node, request: VoteRequest, rules: Rules = ALL) -> Step | Blocked:
    """Vote for a candidate, or say that one would."""
    if request.pre_vote:
        return grant_pre_vote(node, request, rules)
    has_voted = node.voted is not None
    mine = has_voted and node.voted is not None and node.voted.names(request.candidate)
    blocked = rules.blocked(
        (Guard.ADDRESSEE, request.voter.names(node.key)),
        (Guard.VOTE_EPOCH, request.epoch == node.epoch),
        (
            Guard.FREE_TO_VOTE,
            node.role in (Role.UNATTACHED, Role.PROSPECTIVE) and (mine or node.leader is None),
        ),
        (Guard.VOTES_ONCE, mine or not has_voted),
        (Guard.LOG_COMPLETE, mine or request.rank >= node.log.rank),
    )
    if blocked is not None:
        return blocked
    after = saved(replace(node, voted=request.candidate), rules)
    return Step(after, VoteAnswer(request, request.epoch, True))


def grant_pre_vote(node: Node, request: VoteRequest, rules: Rules = ALL) -> Step | Blocked:
    """Say that one would vote for somebody: nothing of this replica changes (R-19)."""
    follows = node.role is Role.FOLLOWER and node.has_fetched
    blocked = rules.blocked(
        (Guard.ADDRESSEE, request.voter.names(node.key)),
        (Guard.VOTE_EPOCH, request.epoch == node.epoch),
        (Guard.LEADER_IS_SILENT, node.role is not Role.LEADER and not follows),
        (Guard.LOG_COMPLETE, request.rank >= node.log.rank),
    )
    return Step(node, VoteAnswer(request, node.epoch, True)) if blocked is None else blocked


def refuse(node: Node, request: VoteRequest, rules: Rules = ALL) -> Step | Blocked:
    """Do not vote for a candidate, for a reason."""
    would = grant(node, request)
    blocked = rules.blocked((Guard.REASON_TO_REFUSE, isinstance(would, Blocked)))
    return Step(node, VoteAnswer(request, node.epoch, False)) if blocked is None else blocked


def count(node: Node, asked: Asked, answer: VoteAnswer, rules: Rules = ALL) -> Step | Blocked:
    """Take the answer to a vote; a yes is counted."""
    request = answer.request
    wanted = Role.PROSPECTIVE if request.pre_vote else Role.CANDIDATE
    blocked = rules.blocked(
        (Guard.OUTSTANDING, node.stands(asked)),
        (Guard.RIGHT_ROLE, node.role is wanted),
        (Guard.VOTE_COUNTS, answer.epoch == node.epoch == request.epoch),
    )
    if blocked is not None:
        return blocked
    yes = {request.voter.id} if answer.granted else frozenset[int]()
    return Step(replace(node.answered(asked), granted=node.granted | yes))


def has_majority(node: Node) -> bool:
    """Tell whether a majority of the voters has said yes."""
    return sum(voter.id in node.granted for voter in node.voters) >= node.majority
