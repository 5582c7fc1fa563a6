"""Leading an epoch: its first record, its followers' fetches, what is committed, and its end.

    begin ── LeaderChange, flushed ──▶ fetches of a majority reach it ──▶ committed: decisions begin
      │                                     ▲ every fetch says what is on a disk
      └─ BeginQuorumEpoch, now and then, to voters that do not fetch

A leader hands out what it has not flushed itself, but counts itself only as far as it has (R-11):
a majority of disks decides, with or without its own.  It leads no longer when it meets a higher
epoch, when too few voters fetch (check-quorum, R-27), when the set of voters that is committed
does not hold it (R-22), and when its process or its state machine ends.

Fixed by Kafka's KafkaRaftClient and LeaderState.java; of its flushes docs/decisions tell.
"""

from barnabas.model.errors import ErrorCode
from barnabas.raft import news
from barnabas.raft.effects import (
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    CancelTimer,
    Effect,
    Note,
    Reply,
    SetTimer,
)
from barnabas.raft.events import Alarm, Patience
from barnabas.raft.messages import (
    NO_BATCHES,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    SnapshotAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import BOOTSTRAP, Agrees
from barnabas.raft.replica import NO_OFFSET, Replica
from barnabas.raft.states import Leader, Resigned
from barnabas.raft.voters import ReplicaKey, VoterSet


def begin(replica: Replica, now_ms: int) -> list[Effect]:
    """Begin an epoch with its first record, and tell the others."""
    return [
        *_append_leader_change(replica),
        *replica.flush(),
        *await_quorum(replica),
        *announce(replica, now_ms),
    ]


def _append_leader_change(replica: Replica) -> list[Effect]:
    """Append the first batch of an epoch.

    Voters that came with a formatted directory are in nobody's log yet; the first leader puts
    them there, and the version that they need.  So does one that is reached in another way now.
    """
    voters, outline, epoch = replica.voters, replica.outline, replica.epoch
    base, ids, granting = outline.end_offset, voters.current.ids, replica.leadership.granting
    known = voters.current.by_id(replica.config.key.id)
    assert known is not None, f"{replica.state} is none of {ids}"
    outdated = voters.current_offset < 0 or not known.describes(replica.config.voter)
    if not (voters.reconfigurable and outdated):
        outline.append(base + 1, epoch)
        return [AppendLeaderChange(base, epoch, ids, granting, None, None)]
    updated = voters.current.with_voter(replica.config.voter)
    outline.append(base + 3, epoch)
    voters.add_version(base + 1, voters.version)
    voters.add_voters(base + 2, updated)
    return [AppendLeaderChange(base, epoch, ids, granting, voters.version, updated)]


def announce(replica: Replica, now_ms: int) -> list[Effect]:
    """Tell the voters that do not fetch who leads, now and then again."""
    period_ms = replica.config.fetch_timeout_ms // 2
    effects = replica.set(Alarm.BEGIN_EPOCH, period_ms)
    asked = [begin.voter for begin in replica.asking(BeginQuorumEpoch)]
    own = replica.config
    for voter in replica.others:
        progress = replica.leadership.of(voter)
        idle = progress is None or now_ms - progress.fetched_ms >= period_ms
        if idle and voter.key not in asked:
            begin_epoch = BeginQuorumEpoch(own.key.id, replica.epoch, own.endpoints, voter.key)
            effects += replica.ask(voter.endpoints, begin_epoch)
    return effects


def await_quorum(replica: Replica) -> list[Effect]:
    """Wait for a majority's fetches, unless nobody else is needed (R-27)."""
    if replica.is_only_voter:
        return replica.cancel(Alarm.CHECK_QUORUM)
    return replica.set(Alarm.CHECK_QUORUM, replica.config.check_quorum_ms)


def hear(replica: Replica, key: ReplicaKey) -> list[Effect]:
    """Take note that a replica is there."""
    if replica.leadership.hear(key, replica.voters.current, replica.config.key):
        return await_quorum(replica)
    return []


# --- the log ---------------------------------------------------------------------------------


def append(replica: Replica, records: int) -> list[Effect]:
    """Append what the state machine wants committed."""
    leading = replica.leadership
    assert leading.high_watermark is not None, f"{replica.state} decides before its first commit"
    assert records > 0, "an append of nothing"
    base = replica.outline.end_offset
    replica.outline.append(base + records, leading.epoch)
    return [AppendRecords(base, leading.epoch), *replica.flush(), *serve_parked(replica)]


def append_voters(replica: Replica, voters: VoterSet) -> list[Effect]:
    """Append a voters record; it is in force at once (R-21), so nobody may be between two."""
    leading, history = replica.leadership, replica.voters
    known = leading.high_watermark
    assert known is not None, f"{replica.state} changes voters before its first commit (R-20)"
    assert history.current_offset < known, f"voters at {history.current_offset} of {known} (R-20)"
    differ = {v.key for v in voters.voters} ^ {v.key for v in history.current.voters}
    assert len(differ) <= 1, f"voters change by more than one: {differ}"
    base = replica.outline.end_offset
    replica.outline.append(base + 1, leading.epoch)
    history.add_voters(base, voters)
    effects = [AppendVoters(base, leading.epoch, voters), *replica.flush()]
    if replica.is_only_voter or not replica.is_set(Alarm.CHECK_QUORUM):
        effects += await_quorum(replica)
    return effects + serve_parked(replica)


def commit(replica: Replica) -> list[Effect]:
    """Move the high watermark as far as a majority's disks allow."""
    leading, voters = replica.leadership, replica.voters
    reached = leading.reached(voters.current, replica.config.key, replica.flushed_offset)
    if reached is None or reached <= (leading.high_watermark or 0):
        return []
    leading.high_watermark = reached
    effects = replica.raise_high_watermark(reached)
    change = leading.change
    if change is not None and change.record_offset is not None and change.record_offset < reached:
        effects += settle(replica, VoterAnswer(ErrorCode.NONE))
    if not replica.is_voter and voters.current_offset < reached:
        return effects + resign(replica, "it is no voter any more")
    return effects + serve_parked(replica)


def settle(replica: Replica, answer: VoterAnswer) -> list[Effect]:
    """Be done with the change of the voters that is under way, and answer who waits for it."""
    change, replica.leadership.change = replica.leadership.change, None
    assert change is not None, f"{replica.state} settles a change, and there is none"
    reply: list[Effect] = [] if change.is_answered else [Reply(change.token, answer)]
    return replica.cancel(Alarm.CHANGE) + reply


# --- being fetched from ----------------------------------------------------------------------


def leader_only(replica: Replica, epoch: int) -> ErrorCode:
    """Say why a question to the leader of an epoch is refused, if it is."""
    if epoch < replica.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > replica.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(replica.state, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def fetch_asked(replica: Replica, token: int, fetch: Fetch, now_ms: int) -> list[Effect]:
    """Learn how far a replica is, and send what comes next, at once or when there is some."""
    sound = (
        fetch.max_wait_ms >= 0
        and fetch.offset >= 0
        and 0 <= fetch.last_epoch <= fetch.epoch
        and fetch.replica.id != replica.config.key.id
    )
    error = leader_only(replica, fetch.epoch) if sound else ErrorCode.INVALID_REQUEST
    if error is not ErrorCode.NONE:
        return [Reply(token, _no_records(replica, error))]
    comparison = replica.outline.compare(fetch.offset, fetch.last_epoch)
    if not isinstance(comparison, Agrees):
        answer = FetchAnswer(replica.standing(), exposed(replica), comparison)
        return [Reply(token, answer)]
    effects = _note_fetch(replica, fetch, now_ms)
    if replica.leading is None:
        # This very fetch has committed that it is no voter.
        return [*effects, Reply(token, _no_records(replica, ErrorCode.NOT_LEADER_OR_FOLLOWER))]
    if _has_news(replica, fetch) or not fetch.max_wait_ms:
        return [*effects, Reply(token, _lent(replica, fetch))]
    replica.leadership.parked[token] = fetch
    return [*effects, SetTimer(Patience(token), fetch.max_wait_ms)]


def _note_fetch(replica: Replica, fetch: Fetch, now_ms: int) -> list[Effect]:
    """Learn of a sound fetch; one without an id is of nobody that could be counted."""
    if fetch.replica.id < 0:
        return []
    leading, end = replica.leadership, replica.outline.end_offset
    leading.fetched(fetch.replica, fetch.offset, end, now_ms)
    leading.forget_idle(replica.voters.current, now_ms)
    return hear(replica, fetch.replica) + commit(replica)


def exposed(replica: Replica) -> int:
    """Return the high watermark that this leader tells; none before it is one of its own."""
    reached = replica.leadership.high_watermark
    return NO_OFFSET if reached is None else reached


def _no_records(replica: Replica, error: ErrorCode) -> FetchAnswer:
    return FetchAnswer(replica.standing(error), NO_OFFSET, NO_BATCHES)


def _has_news(replica: Replica, fetch: Fetch) -> bool:
    behind = fetch.offset < replica.outline.end_offset
    return behind or fetch.high_watermark < exposed(replica)


def _lent(replica: Replica, fetch: Fetch) -> FetchAnswer:
    content = Lent(fetch.offset, replica.outline.end_offset, fetch.max_bytes)
    return FetchAnswer(replica.standing(), exposed(replica), content)


def serve_parked(replica: Replica) -> list[Effect]:
    """Answer the fetches for which there is something now."""
    parked = replica.leadership.parked
    effects: list[Effect] = []
    for token, fetch in list(parked.items()):
        if _has_news(replica, fetch):
            del parked[token]
            effects += [CancelTimer(Patience(token)), Reply(token, _lent(replica, fetch))]
    return effects


def lose_patience(replica: Replica, token: int) -> list[Effect]:
    """Answer a fetch for which there is still nothing."""
    leading = replica.leading
    if leading is None or token not in leading.parked:
        return []
    return [Reply(token, _lent(replica, leading.parked.pop(token)))]


def snapshot_asked(replica: Replica, token: int, fetch: FetchSnapshot) -> list[Effect]:
    """Send a part of a snapshot; the one that a directory was formatted with is nobody's."""
    error = leader_only(replica, fetch.epoch)
    known = fetch.snapshot in replica.outline.snapshots and fetch.snapshot != BOOTSTRAP
    if fetch.replica.id == replica.config.key.id:
        error = ErrorCode.INVALID_REQUEST
    elif error is ErrorCode.NONE and not known:
        error = ErrorCode.SNAPSHOT_NOT_FOUND
    elif error is ErrorCode.NONE and fetch.position < 0:
        error = ErrorCode.POSITION_OUT_OF_RANGE
    standing = replica.standing(error)
    if error is not ErrorCode.NONE:
        answer = SnapshotAnswer(standing, fetch.snapshot, 0, fetch.position, b"")
        return [Reply(token, answer)]
    # How large it is, and whether the position is in it, is known to who reads it.
    lent = Lent(fetch.position, fetch.position, fetch.max_bytes)
    answer = SnapshotAnswer(standing, fetch.snapshot, 0, fetch.position, lent)
    return [*hear(replica, fetch.replica), Reply(token, answer)]


# --- leading no longer -----------------------------------------------------------------------


def resign(replica: Replica, why: str) -> list[Effect]:
    """Lead no longer; who may follow is told when the role begins."""
    note = Note(f"resigns epoch {replica.epoch}: {why}")
    return [note, *replica.become(Resigned(replica.epoch))]


def tell_end(replica: Replica) -> list[Effect]:
    """Tell the voters that have not heard it that this epoch has ended."""
    own, farewell = replica.config, replica.farewell
    asked = [end.voter for end in replica.asking(EndQuorumEpoch)]
    effects: list[Effect] = []
    for voter in replica.others:
        if voter.key.id not in farewell.told and voter.key not in asked:
            end = EndQuorumEpoch(
                own.key.id, replica.epoch, own.endpoints, farewell.successors, voter.key
            )
            effects += replica.ask(voter.endpoints, end)
    return effects


def end_answered(replica: Replica, asked: EndQuorumEpoch, answer: EpochAnswer) -> list[Effect]:
    """Take note of who has heard it."""
    effects, counts = news.heed(replica, answer.standing)
    if not counts:
        return effects + replica.retry()
    replica.farewell.told[asked.voter.id] = None
    return effects
