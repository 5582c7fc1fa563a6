"""Records: a leader appends them, others fetch them, and what a majority has flushed is committed.

    leader                                     follower
    append ──▶ log                             ask_fetch  (everything below is on its disk)
    accept ◀────────────── FetchRequest ─────────┘   │
      │ progress, then commit                        │
      └─ records | diverging | snapshot ─FetchAnswer─▶ take | cut | (load it and) install
    flush                                      flush

In KIP-996's specification: HandleClientRequest (``append``), SendFetchRequest (``ask_fetch``),
AcceptFetchRequest (``accept``, ``commit``, ``send_records``), DivergingFetchRequest
(``send_diverging``), HandleFetchResponse (``take``, ``cut``).  A rejected fetch changes nobody and
is ``refuse_fetch``.  ``flush`` and the snapshots are additions: there the disk is perfect.
"""

from dataclasses import replace

from barnabas.sim.specs.raft.elections import become
from barnabas.sim.specs.raft.guards import ALL, Guard
from barnabas.sim.specs.raft.log import PLAIN, Content, Key, Log, Voters
from barnabas.sim.specs.raft.node import (
    Asked,
    Diverging,
    FetchAnswer,
    FetchRequest,
    Node,
    Records,
    Role,
    Snapshot,
    Step,
)
from barnabas.sim.specs.rules import Blocked, Rules

# --- A leader's log --------------------------------------------------------------------------


def append(
    node: Node, content: Content = PLAIN, count: int = 1, rules: Rules = ALL
) -> Step | Blocked:
    """Append records to the log that one leads."""
    blocked = rules.blocked((Guard.LEADS, node.role is Role.LEADER))
    if blocked is not None:
        return blocked
    return Step(replace(node, log=node.log.append(node.epoch, content, count)))


def flush(node: Node, end: int) -> Step:
    """Learn that the log is on the disk up to an offset; what was cut meanwhile is not there."""
    flushed = max(node.flushed, min(end, node.log.end))
    return Step(replace(node, flushed=flushed, on_disk=max(node.on_disk, flushed)))


def change_voters(node: Node, voters: Voters, rules: Rules = ALL) -> Step | Blocked:
    """Append a record of the voters, which are in force from here on (R-20).

    In KIP-996's specification: AcceptAddVoterRequest, AcceptRemoveVoterRequest.  The same voters
    again are an UpdateVoter.
    """
    blocked = rules.blocked(
        (Guard.LEADS, node.role is Role.LEADER),
        (Guard.READY, node.is_ready),
        (Guard.SETTLED, node.log.voters_offset < node.hwm),
        (Guard.ONE_AT_A_TIME, len(voters - node.voters) + len(node.voters - voters) <= 1),
    )
    return append(node, voters, 1, rules) if blocked is None else blocked


def reached(node: Node, end: int, rules: Rules = ALL) -> bool:
    """Tell whether a majority of the voters is known to have everything below an offset."""
    own = node.flushed if rules.demand(Guard.OWN_FLUSHED) else node.log.end
    counted = 0
    for voter in node.voters:
        if voter.names(node.key):
            counted += own >= end
        else:
            counted += any(have >= end for key, have in node.progress if is_of(key, voter, rules))
    if not node.is_voter and not rules.demand(Guard.COUNTS_ITSELF):
        counted += own >= end
    if not rules.demand(Guard.ONLY_VOTERS):
        counted += sum(
            have >= end
            for key, have in node.progress
            if not any(is_of(key, voter, rules) for voter in node.voters)
        )
    return counted >= node.majority


def is_of(key: Key, voter: Key, rules: Rules) -> bool:
    """Tell whether a replica that fetches is a voter (R-23)."""
    return voter.names(key) or (voter.id == key.id and not rules.demand(Guard.BY_DIRECTORY))


def commit(node: Node, end: int, rules: Rules = ALL) -> Step | Blocked:
    """Move a leader's high watermark (R-11)."""
    blocked = rules.blocked(
        (Guard.LEADS, node.role is Role.LEADER),
        (Guard.HWM_RISES, end > node.hwm),
        (Guard.HWM_WITHIN, end <= node.log.end),
        (Guard.MAJORITY, reached(node, end, rules)),
        (Guard.OWN_EPOCH, end > node.epoch_start),
    )
    return Step(replace(node, hwm=end)) if blocked is None else blocked


# --- Fetching --------------------------------------------------------------------------------


def ask_fetch(node: Node, number: int = 0, rules: Rules = ALL) -> Step | Blocked:
    """Ask for what follows: a leader takes it as the word that everything before is on the disk.

    Whoever knows no leader asks somebody, who may lead this very epoch.
    """
    blocked = rules.blocked(
        (Guard.RIGHT_ROLE, node.role in (Role.FOLLOWER, Role.UNATTACHED)),
        (Guard.FETCHES_FLUSHED, node.flushed == node.log.end),
    )
    if blocked is not None:
        return blocked
    request = FetchRequest(node.key, node.epoch, node.log.end, node.log.last_epoch)
    return Step(node.ask(Asked(number, request)), request)


def accept(node: Node, request: FetchRequest, rules: Rules = ALL) -> Step | Blocked:
    """Take a fetch as the word of what is on a replica's disk."""
    blocked = for_leader(node, request, rules) or rules.blocked(
        (Guard.FETCH_POSITION, has_beginning(node.log, request)),
    )
    if blocked is not None:
        return blocked
    others = {pair for pair in node.progress if pair[0] != request.replica}
    return Step(replace(node, progress=frozenset({*others, (request.replica, request.offset)})))


def for_leader(node: Node, request: FetchRequest, rules: Rules) -> Blocked | None:
    """Return why a fetch is not for this replica to answer with content, if so (R-16)."""
    return rules.blocked(
        (Guard.LEADS, node.role is Role.LEADER),
        (Guard.FETCH_EPOCH, request.epoch == node.epoch),
    )


def has_beginning(log: Log, request: FetchRequest) -> bool:
    """Tell whether who fetches has a beginning of this log."""
    offset, epoch = request.offset, request.last_epoch
    return not log.is_behind(offset, epoch) and log.is_continuation_of(offset, epoch)


def send_records(
    node: Node, request: FetchRequest, end: int | None = None, rules: Rules = ALL
) -> Step | Blocked:
    """Send what follows, up to some offset; the high watermark is told once it is this epoch's."""
    blocked = for_leader(node, request, rules) or rules.blocked(
        (Guard.FETCH_POSITION, has_beginning(node.log, request)),
        (Guard.HWM_WITHIN, end is None or request.offset <= end <= node.log.end),
    )
    if blocked is not None:
        return blocked
    runs = tuple(run for _, run in node.log.pieces(request.offset, end))
    return Step(node, FetchAnswer(request, node.epoch, exposed(node), Records(runs)))


def exposed(node: Node) -> int:
    """Return the high watermark that a leader tells: none before it is of its own epoch (R-12)."""
    return node.hwm if node.is_ready else -1


def send_diverging(node: Node, request: FetchRequest, rules: Rules = ALL) -> Step | Blocked:
    """Say where an epoch of the replica's, or an older one, ends here."""
    behind = node.log.is_behind(request.offset, request.last_epoch)
    blocked = for_leader(node, request, rules) or rules.blocked(
        (Guard.DIVERGES, not behind and not has_beginning(node.log, request)),
    )
    if blocked is not None:
        return blocked
    epoch, end = node.log.end_of_epoch(request.last_epoch)
    return Step(node, FetchAnswer(request, node.epoch, exposed(node), Diverging(epoch, end)))


def send_snapshot(node: Node, request: FetchRequest, rules: Rules = ALL) -> Step | Blocked:
    """Say which snapshot holds what the log has no more.

    It may be sent in the place of records, too, to who has nothing, or nothing of its epoch.
    """
    latest, epoch = node.latest, request.last_epoch
    wanted = request.offset == 0 or node.log.is_behind(request.offset, epoch)
    wanted = wanted or (latest is not None and epoch < latest.epoch)
    blocked = for_leader(node, request, rules) or rules.blocked(
        (Guard.SNAPSHOT_THERE, wanted and latest is not None),
    )
    if blocked is not None:
        return blocked
    assert latest is not None, "a snapshot is there, or the guard was lifted in vain"
    return Step(node, FetchAnswer(request, node.epoch, exposed(node), latest))


def refuse_fetch(node: Node, request: FetchRequest, rules: Rules = ALL) -> Step | Blocked:
    """Send no content to who is in another epoch, or asks one that does not lead."""
    reason = for_leader(node, request, ALL)
    blocked = rules.blocked((Guard.REASON_TO_REFUSE, reason is not None))
    return Step(node) if blocked is None else blocked


# --- Following -------------------------------------------------------------------------------


def hear_leader(
    node: Node, asked: Asked, answer: FetchAnswer, rules: Rules = ALL
) -> Step | Blocked:
    """Take it that the leader has answered, whatever it says (R-16)."""
    blocked = rules.blocked(
        (Guard.OUTSTANDING, node.stands(asked)),
        (Guard.RIGHT_ROLE, node.role is Role.FOLLOWER),
        (Guard.LEADER_ANSWERS, answer.epoch == node.epoch),
        (Guard.SAME_POSITION, answer.request.offset == node.log.end),
    )
    if blocked is not None:
        return blocked
    return Step(replace(node.answered(asked), has_fetched=True))


def hear_part(node: Node, epoch: int, rules: Rules = ALL) -> Step | Blocked:
    """Take it that the leader has sent a part of a snapshot, or said that it has a newer one."""
    blocked = rules.blocked(
        (Guard.RIGHT_ROLE, node.role is Role.FOLLOWER),
        (Guard.LEADER_ANSWERS, epoch == node.epoch),
    )
    return Step(replace(node, has_fetched=True)) if blocked is None else blocked


def take(node: Node, answer: FetchAnswer, rules: Rules = ALL) -> Step | Blocked:
    """Append what the leader sent, and learn from it what is committed."""
    assert isinstance(answer.content, Records), f"{answer} is taken"
    log, hwm = node.log.extend(answer.content.runs), node.hwm
    if answer.hwm >= 0:
        told = min(answer.hwm, log.end) if rules.demand(Guard.HWM_WITHIN) else answer.hwm
        hwm = max(hwm, told) if rules.demand(Guard.HWM_RISES) else told
    return Step(replace(node, log=log, hwm=hwm))


def cut(node: Node, answer: FetchAnswer, rules: Rules = ALL) -> Step | Blocked:
    """Cut the log where it may still be like the leader's."""
    assert isinstance(answer.content, Diverging), f"{answer} cuts"
    epoch, end = answer.content.epoch, answer.content.end
    end = node.log.shared_with(epoch, end) if rules.demand(Guard.CUTS_WHERE_TOLD) else end
    blocked = rules.blocked(
        (Guard.KEEPS_COMMITTED, max(node.hwm, node.log.start) <= end),
        (Guard.CUTS_WHERE_TOLD, end < node.log.end),
    )
    if blocked is not None:
        return blocked
    flushed, on_disk = min(node.flushed, end), min(node.on_disk, end)
    return Step(replace(node, log=node.log.cut(end), flushed=flushed, on_disk=on_disk))


# --- Snapshots -------------------------------------------------------------------------------


def take_snapshot(node: Node, end: int, epoch: int, rules: Rules = ALL) -> Step | Blocked:
    """Sum up the beginning of the log (R-28)."""
    log = node.log
    blocked = rules.blocked(
        (Guard.COMMITTED, end <= node.hwm),
        (Guard.SNAPSHOT_THERE, log.start < end <= log.end and epoch == log.epoch_below(end)),
    )
    if blocked is not None:
        return blocked
    others = (each for each in node.snapshots if each.end != end)
    snapshots = sorted((*others, Snapshot(end, epoch, log.cut(end).voters)), key=end_of)
    return Step(replace(node, snapshots=tuple(snapshots)))


def end_of(snapshot: Snapshot) -> int:
    """Return where a snapshot ends."""
    return snapshot.end


def clean(node: Node, end: int, rules: Rules = ALL) -> Step | Blocked:
    """Let the log begin where a snapshot ends; older snapshots go (R-29)."""
    kept = tuple(snapshot for snapshot in node.snapshots if snapshot.end >= end)
    blocked = rules.blocked(
        (Guard.SNAPSHOT_THERE, bool(kept) and kept[0].end == end and end >= node.log.start),
    )
    if blocked is not None:
        return blocked
    return Step(replace(node, log=node.log.begin_at(end), snapshots=kept))


def install(node: Node, snapshot: Snapshot, rules: Rules = ALL) -> Step | Blocked:
    """Let a snapshot of the leader take the place of the log (R-30)."""
    blocked = rules.blocked(
        (Guard.NOT_LEADING, node.role is not Role.LEADER),
        (Guard.HWM_RISES, snapshot.end >= node.hwm),
    )
    if blocked is not None:
        return blocked
    return Step(began_at(node, snapshot))


def fall_back(node: Node, snapshot: Snapshot, rules: Rules = ALL) -> Step | Blocked:
    """Begin with a snapshot after a restart, when the log has lost what it sums up.

    What is committed need not be flushed here, so a snapshot may be ahead of the log on the disk.
    """
    blocked = rules.blocked(
        (Guard.SNAPSHOT_THERE, snapshot in node.snapshots),
        (Guard.KEEPS_FLUSHED, node.on_disk <= snapshot.end),
    )
    return Step(began_at(node, snapshot)) if blocked is None else blocked


def began_at(node: Node, snapshot: Snapshot) -> Node:
    """Return a replica that has a snapshot and nothing else."""
    return replace(
        node,
        log=Log(snapshot.end, snapshot.epoch, snapshot.voters),
        flushed=snapshot.end,
        on_disk=snapshot.end,
        hwm=snapshot.end,
        snapshots=(snapshot,),
    )


def began(key: Key, voters: Voters) -> Node:
    """Return a replica with an empty disk that knows these voters, or none."""
    return become(Node(key, log=Log(start_voters=voters)), Role.UNATTACHED, 0, None, None)
