"""The planted bugs of the quorum: each a mistake that some quorum really made.

A mutant is code put in the place of the product's for the runs of one plan, so the product has no
switch for it.  ``plant`` first puts everything back, and so a run without a mutant is always the
product.  The budgets are those of the oracle book: A is 20 seeds, B 200, C 2,000.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.log.checkpoints import Checkpoint
from barnabas.log.names import TEMPORARY
from barnabas.model.errors import ErrorCode
from barnabas.raft import changes, elections, following, leading, progress, quorum_state
from barnabas.raft import replica as replicas
from barnabas.raft.effects import AppendVoters, Effect, Reply, Truncate
from barnabas.raft.events import Alarm
from barnabas.raft.listener import Listener
from barnabas.raft.messages import Fetch, Vote, VoterAnswer
from barnabas.raft.outline import Diverges, Outline, SnapshotId
from barnabas.raft.progress import Leadership
from barnabas.raft.replica import Replica
from barnabas.raft.shell import FEED_BYTES_MAX, Feed, Quorum
from barnabas.raft.snapshot_files import SnapshotFiles, SnapshotPart
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    State,
    Unattached,
)
from barnabas.raft.storage import Storage
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.records.opened import OpenedBatch, opened
from barnabas.sim.profile import Mutant
from barnabas.sim.profiles.planting import Bed, Patch
from barnabas.sim.profiles.raft.drive import Keeper, PoisonedError

A: Final = 20
B: Final = 200
C: Final = 2_000


# --- committing ------------------------------------------------------------------------------


def commit_what_came_before(
    ends: Mapping[int, int], voters: VoterSet, epoch_start_offset: int
) -> int | None:
    """MR-01: what a majority has of earlier epochs is committed without a record of this one."""
    known = sorted((ends.get(node_id, -1) for node_id in voters.ids), reverse=True)
    reached = known[voters.majority - 1] if known else -1
    return reached if reached >= epoch_start_offset and reached > 0 else None


def ask_before_the_flush(replica: Replica) -> bool:
    """MR-02: a follower asks for more, and so acknowledges, before its disk has what it has."""
    busy = replica.asking(Fetch) or replica.is_set(Alarm.RETRY)
    return not (busy or replica.is_installing or replica.is_stopping)


def count_oneself(
    self: Leadership, voters: VoterSet, own: ReplicaKey, own_offset: int
) -> int | None:
    """MR-12: a leader that is no voter any more counts like one."""
    ends = [own_offset]
    for voter in voters.voters:
        known = self.of(voter)
        if not voter.key.matches(own):
            ends.append(-1 if known is None else known.end_offset)
    ends.sort(reverse=True)
    reached = ends[voters.majority - 1] if len(ends) >= voters.majority else -1
    return reached if reached > self.start_offset else None


def any_directory(self: ReplicaKey, other: ReplicaKey) -> bool:
    """MR-17: a replica is known by its id alone."""
    return self.id == other.id


# --- votes -----------------------------------------------------------------------------------


async def replace_without_sync(self: Checkpoint, content: bytes) -> None:
    """MR-03: the vote is written and not synced."""
    temporary = f"{self.path}{TEMPORARY}"
    if self._disk.exists(temporary):
        self._disk.remove(temporary)
    file = self._disk.open(temporary, "exclusive")
    file.write(0, [content])
    file.close()
    self._disk.rename(temporary, self.path)


def lose_and_forget(replica: Replica) -> list[Effect]:
    """MR-04: who has lost a round forgets whom it has voted for."""
    state = replica.state
    assert isinstance(state, Prospective)
    if state.leader_id is not None and replica.address(state.endpoints) is not None:
        after = Follower(state.epoch, state.leader_id, state.endpoints, state.voted)
        return replica.become(after)
    return replica.become(Unattached(state.epoch, state.leader_id, None))


def check_nothing(*_: object) -> None:
    """Believe that whatever is done is right."""


def grant_any_pre_vote(replica: Replica, state: State, vote: Vote) -> bool:
    """MR-14: a follower grants pre-votes while its leader lives."""
    if vote.pre_vote and isinstance(state, Follower):
        return vote.last.rank >= replica.outline.last.rank
    return bool(BED.product(elections, "_may_grant")(replica, state, vote))


def votes_if_it_can(self: Replica) -> bool:
    """MR-10: whoever could vote takes itself for a voter."""
    return self.config.can_vote and len(self.voters.current) > 0


def introduce_nobody(replica: Replica) -> list[Effect]:
    """MR-10, MR-17: and does not say who it is, since others would wonder."""
    return []


def wait_for_nobody(replica: Replica) -> list[Effect]:
    """MR-05: a leader does not care whether anybody fetches."""
    return []


# --- restarts --------------------------------------------------------------------------------


def go_on_leading(self: Replica, election: Election) -> State:
    """MR-23: who led the epoch of its disk has itself elected in it once more."""
    if election.leader_id == self.config.key.id and self.outline.last_epoch <= election.epoch:
        return Candidate(election.epoch, self.config.key)
    state: State = BED.product(Replica, "_first_state")(self, election)
    return state


async def persist_later(self: Storage, election: Election) -> None:
    """MR-24: an epoch that is somebody else's is written when the log is flushed next."""
    if election.voted is not None:
        await BED.product(Storage, "persist")(self, election)
        return
    LATE[self] = election
    self._state.election = election


async def flush_and_then_persist(self: Storage) -> int:
    """MR-24: and then comes second."""
    end_offset = await BED.product(Storage, "flush")(self)
    late = LATE.pop(self, None)
    if late is not None:
        self._state.election = None
        await BED.product(Storage, "persist")(self, late)
    return int(end_offset)


LATE: Final[dict[Storage, Election]] = {}


# --- logs ------------------------------------------------------------------------------------


def cut_an_epoch_too_much(replica: Replica, diverges: Diverges) -> list[Effect]:
    """MR-08: a log that diverges is cut where its last epoch begins, committed or not."""
    outline = replica.outline
    offset = max(outline.start_offset, min(outline.epochs[-1][1], outline.end_offset - 1))
    outline.truncate(offset)
    replica.voters.truncate(offset)
    replica.flushed_offset = min(replica.flushed_offset, offset)
    replica.cuts += 1
    return [Truncate(offset)]


async def remove_the_snapshot_too(self: Storage, first: SnapshotId) -> None:
    """MR-16: the snapshot where the log begins goes with the log before it."""
    await BED.product(Storage, "clean")(self, first)
    self._snapshots.known.remove(first)
    self._disk.remove(self._snapshots.path(first))
    await self._disk.sync_directory(self._snapshots._directory)


async def publish_without_sync(self: SnapshotFiles, part: SnapshotPart) -> bool:
    """MR-19: a snapshot has its name before its bytes are on the disk."""
    part._file.close()
    part.rename()
    self.known.append(part.snapshot)
    return True


# --- voters ----------------------------------------------------------------------------------


def change_at_any_time(replica: Replica) -> VoterAnswer | None:
    """MR-11: voters are changed before the leader has committed anything."""
    if replica.leadership.change is not None:
        return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, "")
    return None


def append_voters_at_any_time(replica: Replica, voters: VoterSet) -> list[Effect]:
    """MR-11: and appended."""
    base = replica.outline.end_offset
    replica.outline.append(base + 1, replica.epoch)
    replica.voters.add_voters(base, voters)
    effects: list[Effect] = [AppendVoters(base, replica.epoch, voters), *replica.flush()]
    return effects + leading.serve_parked(replica)


def refuse_the_removed(replica: Replica, token: int, fetch: Fetch, now_ms: int) -> list[Effect]:
    """MR-13: who is no voter any more is not told so."""
    voters = replica.voters
    removed = [each for each in voters._sets[:-1] if each.contains(fetch.replica)]
    if replica.leading is not None and removed and not voters.current.contains(fetch.replica):
        refused = leading._no_records(replica, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return [Reply(token, refused)]
    effects: list[Effect] = BED.product(leading, "fetch_asked")(replica, token, fetch, now_ms)
    return effects


# --- listeners -------------------------------------------------------------------------------


def tell_it_leads(self: Feed, leader_id: int | None) -> None:
    """Tell the listener, if that is news."""
    node = self._quorum.node
    if self.told != (leader_id, node.epoch):
        self.told = leader_id, node.epoch
        self._listener.leader_changed(leader_id, node.epoch)


def tell_the_resigned(self: Feed) -> None:
    """MR-06: who has resigned is told that it leads."""
    node = self._quorum.node
    if isinstance(node.state, Leader) and self.next_offset <= node.state.start_offset:
        tell_it_leads(self, None)
    else:
        tell_it_leads(self, node.leader_id)


def tell_at_once(self: Feed) -> None:
    """MR-07: who leads is told before it has everything."""
    node = self._quorum.node
    early = isinstance(node.state, Leader)
    tell_it_leads(self, node.leader_id if early else self.told[0] if self.told else None)


def tell_what_changes(self: Feed, quorum: Quorum, listener: Listener) -> None:
    """MR-09: a listener that comes late is told who leads when that changes."""
    BED.product(Feed, "__init__")(self, quorum, listener)
    self.told = quorum.node.leader_id, quorum.node.epoch


async def hand_over_everything(self: Feed) -> bool:
    """MR-22: a listener is handed whatever is in the log."""
    quorum = self._quorum
    node, end = quorum.node, quorum.storage.end_offset
    snapshot = node.outline.latest_snapshot
    if self.next_offset < node.outline.start_offset or (
        self.next_offset == 0 and snapshot is not None and snapshot.end_offset > 0
    ):
        return bool(await BED.product(Feed, "_hand_over")(self))
    if self.next_offset >= end:
        return False
    batches = tuple(opened(quorum.storage.read(self.next_offset, end, FEED_BYTES_MAX)))
    await self._listener.commit(batches)
    self.next_offset = batches[-1].end_offset
    return True


# --- the state machine on the log ------------------------------------------------------------


def snapshot_inside(self: Keeper, batch: OpenedBatch) -> None:
    """MR-15: a snapshot ends with the last record but one of a batch."""
    if len(batch.values) > 1:
        batch = OpenedBatch(
            batch.base_offset,
            batch.end_offset - 1,
            batch.epoch,
            batch.append_ms,
            batch.size_bytes,
            batch.values[:-1],
        )
    BED.product(Keeper, "consider_snapshot")(self, batch)


def any_end_will_do(self: Outline, snapshot: SnapshotId) -> bool:
    """MR-15: and nobody minds."""
    return True


def resign_to_a_record(self: Keeper) -> None:
    """MR-18: what was pending goes back to a state that only records of the table make."""
    at_offset = {batch.end_offset: None for batch in self.handed if batch.values}
    at_offset[self.offset]
    BED.product(Keeper, "resigned")(self)


def skip_what_fails(self: Keeper, batch: OpenedBatch) -> None:
    """MR-20: what cannot be replayed is left out."""
    try:
        BED.product(Keeper, "replay")(self, batch)
    except PoisonedError:
        return


def count_anew(self: Keeper, leader_id: int | None, epoch: int) -> None:
    """MR-21: a new leader means that the next snapshot is far away."""
    self.bytes_since_snapshot = 0
    BED.product(Keeper, "leader_changed")(self, leader_id, epoch)


PATCHES: Final[Mapping[str, Sequence[Patch]]] = {
    "MR-01": [(progress, "high_watermark", commit_what_came_before)],
    "MR-02": [(following, "_may_ask", ask_before_the_flush)],
    "MR-03": [(Checkpoint, "replace", replace_without_sync)],
    "MR-04": [
        (elections, "lose", lose_and_forget),
        (replicas, "check", check_nothing),
        (quorum_state, "check_promises", check_nothing),
    ],
    "MR-05": [(leading, "await_quorum", wait_for_nobody)],
    "MR-06": [(Feed, "_tell_leader", tell_the_resigned)],
    "MR-07": [(Feed, "_tell_leader", tell_at_once)],
    "MR-08": [(following, "_cut", cut_an_epoch_too_much)],
    "MR-09": [(Feed, "__init__", tell_what_changes)],
    "MR-10": [
        (Replica, "is_voter", property(votes_if_it_can)),
        (changes, "introduce", introduce_nobody),
    ],
    "MR-11": [
        (changes, "_not_now", change_at_any_time),
        (leading, "append_voters", append_voters_at_any_time),
    ],
    "MR-12": [(Leadership, "reached", count_oneself)],
    "MR-13": [(leading, "fetch_asked", refuse_the_removed)],
    "MR-14": [(elections, "_may_grant", grant_any_pre_vote)],
    "MR-15": [
        (Keeper, "consider_snapshot", snapshot_inside),
        (Storage, "_check_boundary", check_nothing),
        (Outline, "sums_up", any_end_will_do),
    ],
    "MR-16": [(Storage, "clean", remove_the_snapshot_too)],
    "MR-17": [(ReplicaKey, "matches", any_directory), (changes, "introduce", introduce_nobody)],
    "MR-18": [(Keeper, "resigned", resign_to_a_record)],
    "MR-19": [(SnapshotFiles, "publish", publish_without_sync)],
    "MR-20": [(Keeper, "replay", skip_what_fails)],
    "MR-21": [(Keeper, "leader_changed", count_anew)],
    "MR-22": [(Feed, "_hand_over", hand_over_everything)],
    "MR-23": [(Replica, "_first_state", go_on_leading)],
    "MR-24": [(Storage, "persist", persist_later), (Storage, "flush", flush_and_then_persist)],
}

MUTANTS: Final[Sequence[Mutant]] = (
    Mutant("MR-01", "a new leader commits what came before it without a record of its own", B),
    Mutant("MR-02", "a follower fetches before its disk has what it has", A),
    Mutant("MR-03", "a vote is told before it is on the disk", B),
    Mutant("MR-04", "a vote is forgotten in its epoch", C),
    Mutant("MR-05", "a leader goes on though nobody fetches", A),
    Mutant("MR-06", "a leader that has resigned is told that it leads", A),
    Mutant("MR-07", "leadership is told before the listener has everything", A),
    Mutant("MR-08", "a log is cut below what is committed", B),
    Mutant("MR-09", "a listener that comes late never learns who leads", A),
    Mutant("MR-10", "an observer stands for election", A),
    Mutant("MR-11", "voters are changed before the leader has committed anything", C),
    Mutant("MR-12", "a departing leader counts itself", B),
    Mutant("MR-13", "a leader refuses the fetches of who was removed", B),
    Mutant("MR-14", "a pre-vote is granted against a live leader", A),
    Mutant("MR-15", "a snapshot ends inside a batch", B),
    Mutant("MR-16", "the snapshot where the log begins is removed", A),
    Mutant("MR-17", "a replica is known by its id alone", B),
    Mutant("MR-18", "resigning needs a state that control records do not make", A),
    Mutant("MR-19", "a snapshot is seen before it is durable", B),
    Mutant("MR-20", "what cannot be replayed is left out", A),
    Mutant("MR-21", "bytes are counted anew with every leader, so no snapshot is due", B),
    Mutant("MR-22", "a listener is handed what is not committed", A),
    Mutant("MR-23", "a leader that restarts goes on in its epoch", B),
    Mutant("MR-24", "a log is flushed before the epoch it is of", B),
)

BED: Final = Bed(PATCHES)


def plant(mutant: str) -> None:
    """Put the product back as it is, and then a mutant's code in its place, if one is named."""
    LATE.clear()
    BED.plant(mutant)
