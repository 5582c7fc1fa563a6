"""Having what the leader has: ask for what comes next, append it, cut what it denies.

    Follower ── Fetch(offset, last epoch) ──▶ leader
             ◀── records ──────────── append, flush, and only then ask for more
             ◀── diverging epoch ──── cut the log there, ask again
             ◀── snapshot id ──────── FetchSnapshot part by part, let it take the log's place

A question tells that everything below its offset is on the disk, so none is asked before that is
so: not of the leader, and not of others that are asked who it is, for they may be it (R-11).
Who knows of no leader asks everybody in turn; so does every other time who gets no answer from
its leader, for an observer stays a follower whatever its leader does.

Fixed by Kafka's KafkaRaftClient: handleFetchResponse, handleFetchSnapshotResponse, pollFollower.
"""

from barnabas.model.errors import ErrorCode
from barnabas.raft import news
from barnabas.raft.effects import (
    AppendFetched,
    Effect,
    InstallSnapshot,
    Note,
    OpenSnapshot,
    StorePart,
    Truncate,
)
from barnabas.raft.events import Alarm
from barnabas.raft.messages import (
    Batches,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    SnapshotAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.replica import Contradiction, Replica
from barnabas.raft.states import Follower
from barnabas.raft.voters import VoterSet


def begin(replica: Replica) -> list[Effect]:
    """Begin to follow."""
    effects: list[Effect] = []
    if not replica.is_set(Alarm.FETCH):
        # A leader that says goodbye has set it to something shorter.
        effects += await_leader(replica)
    if replica.config.can_vote:
        effects += replica.set(Alarm.UPDATE_VOTER, replica.config.fetch_timeout_ms)
    return effects + fetch(replica)


def await_leader(replica: Replica) -> list[Effect]:
    """Give the leader time; who can never vote has no use for a timeout."""
    if not replica.config.can_vote or replica.is_stopping:
        return replica.cancel(Alarm.FETCH)
    return replica.set(Alarm.FETCH, replica.config.fetch_timeout_ms)


def miss_leader(replica: Replica) -> list[Effect]:
    """Stay a follower, and stand in nobody's way: by others' logs this replica may be a voter.

    1. the leader adds this replica to voters 1, 2 and 3, and the record reaches those alone;
    2. the leader is lost, and the two that are left need one vote more, which is this one's;
    3. this one knows of no vote that it has, and so never stands for election itself: if it went
       on refusing for a leader that has answered once, nobody would be elected ever again.
    """
    assert not replica.is_voter, f"{replica.state} misses its leader and does not stand"
    replica.following.has_fetched = False
    return []


# --- asking ----------------------------------------------------------------------------------


def discover(replica: Replica) -> list[Effect]:
    """Ask somebody who leads, by asking for records."""
    if not _may_ask(replica):
        return []
    to = replica.somebody()
    return [] if to is None else replica.ask_at(to, _fetch_of(replica, 0))


def fetch(replica: Replica) -> list[Effect]:
    """Ask the leader for what comes next, when everything before is on the disk."""
    state, following = replica.state, replica.following
    assert isinstance(state, Follower), f"{state} fetches"
    if not _may_ask(replica):
        return []
    if following.failures % 2:
        elsewhere = replica.somebody(but=replica.address(state.endpoints))
        if elsewhere is not None:
            return replica.ask_at(elsewhere, _fetch_of(replica, 0))
    if following.receiving is None:
        return replica.ask(state.endpoints, _fetch_of(replica, replica.config.fetch_wait_ms))
    part = FetchSnapshot(
        replica.config.key,
        replica.epoch,
        following.receiving,
        following.received_bytes,
        replica.config.fetch_snapshot_bytes_max,
    )
    return replica.ask(state.endpoints, part)


def _may_ask(replica: Replica) -> bool:
    busy = replica.asking(Fetch, FetchSnapshot) or replica.is_set(Alarm.RETRY)
    held = not replica.is_flushed or replica.is_installing or replica.is_stopping
    return not busy and not held


def _fetch_of(replica: Replica, max_wait_ms: int) -> Fetch:
    outline = replica.outline
    return Fetch(
        replica.config.key,
        replica.epoch,
        outline.end_offset,
        outline.last_epoch,
        replica.high_watermark,
        max_wait_ms,
        replica.config.fetch_bytes_max,
    )


def failed(replica: Replica, complaint: str = "") -> list[Effect]:
    """Ask again a little later, and perhaps somebody else; tell once what was wrong."""
    effects: list[Effect] = []
    if isinstance(replica.state, Follower) and not replica.is_new:
        following = replica.following
        following.failures += 1
        if complaint and complaint != following.complaint:
            following.complaint = complaint
            effects.append(Note(complaint))
    return effects + replica.retry()


# --- being answered --------------------------------------------------------------------------


def fetch_answered(replica: Replica, asked: Fetch, answer: FetchAnswer) -> list[Effect]:
    """Do what the leader says: append, cut, or fetch a snapshot first."""
    effects = _estranged(replica, answer.standing.error)
    heard, counts = news.heed(replica, answer.standing)
    effects += heard
    if replica.is_new:
        return effects
    if not counts or not isinstance(replica.state, Follower):
        return effects + failed(replica)
    assert asked.offset == replica.outline.end_offset, f"the log moved since {asked} was asked"
    done = _obey(replica, answer.content)
    if isinstance(done, str):
        return effects + failed(replica, f"the leader of epoch {replica.epoch} {done}")
    effects += done + _succeeded(replica)
    if isinstance(answer.content, Batches):
        # Only now it is certain that both logs agree as far as this one goes.
        known = min(answer.high_watermark, replica.outline.end_offset)
        effects += replica.raise_high_watermark(known)
    return effects + fetch(replica)


def _estranged(replica: Replica, error: ErrorCode) -> list[Effect]:
    """Note whether those that are asked are of another cluster, and tell it once."""
    was, replica.is_foreign = replica.is_foreign, error is ErrorCode.INCONSISTENT_CLUSTER_ID
    if was or not replica.is_foreign:
        return []
    own = replica.config.cluster_id
    return [Note(f"not of the cluster of those that it asks: its own is {own}")]


def _obey(
    replica: Replica, content: Lent | Batches | Diverges | NeedsSnapshot
) -> list[Effect] | str:
    """Do what a leader says; or say what is wrong with it."""
    match content:
        case Diverges():
            return _cut(replica, content)
        case NeedsSnapshot(snapshot):
            return _receive(replica, snapshot)
        case Batches():
            return _take(replica, content)
        case Lent():
            raise AssertionError("records that were lent came from the wire")


def _succeeded(replica: Replica) -> list[Effect]:
    """Take note that the leader lives; what it sent may have made a voter of this replica."""
    following = replica.following
    following.failures, following.has_fetched, following.complaint = 0, True, ""
    return await_leader(replica)


def _take(replica: Replica, batches: Batches) -> list[Effect] | str:
    """Append; or say what is wrong with the records."""
    if not batches.data:
        return []
    end, last_epoch = replica.outline.end_offset, replica.outline.last_epoch
    for epoch, end_offset in batches.epochs:
        if end_offset <= end or not last_epoch <= epoch <= replica.epoch:
            return f"sent records to {end_offset} of epoch {epoch} after {end} of {last_epoch}"
        end, last_epoch = end_offset, epoch
    if end != batches.end_offset:
        return f"sent records to {end}, said to end at {batches.end_offset}"
    for epoch, end_offset in batches.epochs:
        replica.outline.append(end_offset, epoch)
    for offset, version in batches.versions:
        replica.voters.add_version(offset, version)
    for offset, voters in batches.voters:
        replica.voters.add_voters(offset, voters)
    return [AppendFetched(batches.data, end, replica.epoch), *replica.flush()]


def _cut(replica: Replica, diverges: Diverges) -> list[Effect] | str:
    """Cut the log to what it may share with the leader's; or say why that leads nowhere."""
    outline = replica.outline
    offset = outline.cut_for(diverges)
    if offset >= outline.end_offset:
        return f"ends epoch {diverges.epoch} at {diverges.end_offset}, behind {outline.last}"
    if offset < replica.high_watermark:
        raise Contradiction(
            f"the leader of epoch {replica.epoch} wants the log cut at {offset}, but everything "
            f"below {replica.high_watermark} was committed: a majority of the voters has lost it"
        )
    assert replica.is_flushed, "asked for records before what came before was on the disk"
    outline.truncate(offset)
    replica.voters.truncate(offset)
    replica.flushed_offset = offset
    replica.cuts += 1
    return [Truncate(offset)]


# --- receiving a snapshot --------------------------------------------------------------------


def _receive(replica: Replica, snapshot: SnapshotId) -> list[Effect] | str:
    """Begin to fetch a snapshot; or say why it is of no use."""
    if snapshot.end_offset < replica.high_watermark:
        raise Contradiction(
            f"the leader of epoch {replica.epoch} offers snapshot {snapshot}, but everything "
            f"below {replica.high_watermark} was committed: a majority of the voters has lost it"
        )
    if snapshot in replica.outline.snapshots:
        return f"offers snapshot {snapshot}, which is here"
    following = replica.following
    following.receiving, following.received_bytes = snapshot, 0
    return [OpenSnapshot(snapshot)]


def part_answered(replica: Replica, asked: FetchSnapshot, answer: SnapshotAnswer) -> list[Effect]:
    """Keep a part of a snapshot, and ask for the next, or put it in the log's place."""
    effects, counts = news.heed(replica, answer.standing)
    if replica.is_new:
        return effects
    following = replica.following
    if answer.standing.error in (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE):
        # The leader lives, and has a newer one: begin again by asking for records.
        following.receiving = None
        return effects + _succeeded(replica) + fetch(replica)
    if answer.standing.error is ErrorCode.UNKNOWN_SERVER_ERROR:
        # All that Kafka 4.3 can say when it refuses a part, that the snapshot is gone included.
        following.receiving = None
    if not counts:
        return effects + failed(replica)
    assert isinstance(answer.data, bytes), "a part that was lent came from the wire"
    end = asked.position + len(answer.data)
    here = answer.snapshot == asked.snapshot and answer.position == asked.position
    if not here or not answer.data or end > answer.size_bytes:
        following.receiving = None
        wrong = f"sent {answer.snapshot} at {answer.position}, {len(answer.data)} of "
        wrong += f"{answer.size_bytes} bytes, for {asked.snapshot} at {asked.position}"
        return effects + failed(replica, f"the leader of epoch {replica.epoch} {wrong}")
    following.received_bytes = end
    effects += [*_succeeded(replica), StorePart(asked.snapshot, asked.position, answer.data)]
    if end < answer.size_bytes:
        return effects + fetch(replica)
    following.receiving, replica.is_installing = None, True
    return [*effects, InstallSnapshot(asked.snapshot)]


def installed(
    replica: Replica, snapshot: SnapshotId, voters: VoterSet | None, version: int
) -> list[Effect]:
    """Go on behind a snapshot that has taken the place of the log."""
    replica.is_installing = False
    replica.outline.restart(snapshot)
    replica.voters.restart(snapshot.end_offset, voters, version)
    replica.flushed_offset = snapshot.end_offset
    replica.cuts += 1
    effects = replica.raise_high_watermark(snapshot.end_offset)
    return effects + await_leader(replica) + fetch(replica)


def refused(replica: Replica, snapshot: SnapshotId, why: str) -> list[Effect]:
    """Begin again after a snapshot that is none."""
    replica.is_installing = False
    return failed(replica, f"snapshot {snapshot} of the leader is of no use: {why}")
