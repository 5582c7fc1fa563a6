"""Single machines for tests by example: in a role, with a log, without a world."""

from collections.abc import Sequence
from typing import TypedDict, TypeVar, Unpack

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.raft.config import RaftConfig
from barnabas.raft.effects import Ask, Effect, Flush, Reply
from barnabas.raft.events import Alarm, Answered, Asked, Flushed, Started, TimerFired
from barnabas.raft.messages import (
    Answer,
    Batches,
    BeginQuorumEpoch,
    Fetch,
    FetchAnswer,
    Question,
    Standing,
    Vote,
    VoteAnswer,
)
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Diverges, NeedsSnapshot, Outline, SnapshotId
from barnabas.raft.states import Election, Follower, Leader, State
from barnabas.raft.voters import (
    RECONFIGURABLE,
    STATIC,
    Endpoint,
    Endpoints,
    History,
    ReplicaKey,
    Voter,
    VoterSet,
)

EffectT = TypeVar("EffectT")
AnswerT = TypeVar("AnswerT")

VERSIONS = (STATIC, RECONFIGURABLE)
TOKEN = 7_000


def directory(number: int) -> Uuid:
    """Return a directory's id."""
    return Uuid(number.to_bytes(16, "big"))


def key(node_id: int, disk: int | None = None) -> ReplicaKey:
    """Return a replica; by default with the disk it always had."""
    return ReplicaKey(node_id, directory(node_id if disk is None else disk))


def at(node_id: int) -> Endpoints:
    """Return where a node listens."""
    return (Endpoint("CONTROLLER", f"node{node_id}", 9093),)


def voter(node_id: int, disk: int | None = None) -> Voter:
    """Return a voter."""
    return Voter(key(node_id, disk), at(node_id), VERSIONS)


def voters(*ids: int) -> VoterSet:
    """Return voters."""
    return VoterSet.of(voter(node_id) for node_id in ids)


def configured(*ids: int) -> VoterSet:
    """Return voters of whom only the ids are known."""
    return VoterSet.of(Voter(ReplicaKey(each, ZERO_UUID), at(each)) for each in ids)


def history(*ids: int) -> History:
    """Return voters that are in a log, at its very beginning."""
    found = History()
    found.add_version(0, RECONFIGURABLE)
    found.add_voters(1, voters(*ids))
    return found


def outline(
    *epochs: tuple[int, int], start: int = 0, snapshots: Sequence[SnapshotId] = ()
) -> Outline:
    """Return a log of epochs and where each one ends."""
    found = Outline(start, start, snapshots=snapshots)
    for epoch, end_offset in epochs:
        found.append(end_offset, epoch)
    return found


class Made(TypedDict, total=False):
    """How a machine is made, where it is not as usual."""

    history_: History
    log: Outline
    election: Election
    config: RaftConfig


def config(own: int = 1) -> RaftConfig:
    """Return what a node is told about itself."""
    return RaftConfig(key(own), "cluster", at(own))


def node(**made: Unpack[Made]) -> RaftNode:
    """Return a machine that has begun, and has flushed what it found; 1 of three voters."""
    raft = RaftNode(
        made.get("config", config()),
        made.get("election"),
        made.get("log", outline((1, 4))),
        made.get("history_", history(1, 2, 3)),
    )
    flush(raft, raft.step(Started(), 0))
    return raft


def flush(raft: RaftNode, effects: Sequence[Effect]) -> list[Effect]:
    """Let what was asked to be made durable be so."""
    after: list[Effect] = []
    for effect in only(effects, Flush):
        after += raft.step(Flushed(effect.cuts, raft.outline.end_offset), 0)
    return after


def only(effects: Sequence[Effect], kind: type[EffectT]) -> list[EffectT]:
    """Return the effects of a kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def questions(effects: Sequence[Effect]) -> list[Question]:
    """Return what is asked."""
    return [effect.question for effect in only(effects, Ask)]


def ask(raft: RaftNode, question: Question, kind: type[AnswerT], now_ms: int = 0) -> AnswerT:
    """Ask a machine; return the answer that it gives at once."""
    answers = [r.answer for r in only(raft.step(Asked(TOKEN, question), now_ms), Reply)]
    assert len(answers) == 1, answers
    assert isinstance(answers[0], kind), answers
    return answers[0]


def answer(
    raft: RaftNode, effects: Sequence[Effect], said: Answer, now_ms: int = 0
) -> list[Effect]:
    """Answer the last question among some effects."""
    return raft.step(Answered(only(effects, Ask)[-1].request, said), now_ms)


def standing(
    epoch: int, leader_id: int | None = None, error: ErrorCode = ErrorCode.NONE
) -> Standing:
    """Return how somebody stands."""
    return Standing(error, epoch, leader_id, () if leader_id is None else at(leader_id))


def now(raft: RaftNode) -> State:
    """Return what a machine is now, whatever was known of it before."""
    return raft.state


# --- roles -----------------------------------------------------------------------------------


def follower(
    epoch: int = 2, leader_id: int = 2, **made: Unpack[Made]
) -> tuple[RaftNode, list[Effect]]:
    """Return a follower, and what it did to begin: it asks for records."""
    raft = node(**made)
    effects = raft.step(
        Asked(TOKEN, BeginQuorumEpoch(leader_id, epoch, at(leader_id), raft.config.key)), 0
    )
    assert isinstance(raft.state, Follower), raft.state
    return raft, effects


def fetched(
    epoch: int,
    content: Batches | Diverges | NeedsSnapshot,
    *,
    leader_id: int = 2,
    committed: int = -1,
) -> FetchAnswer:
    """Return what a leader answers to a fetch."""
    return FetchAnswer(standing(epoch, leader_id), committed, content)


def records(end_offset: int, epoch: int) -> Batches:
    """Return records of one epoch."""
    return Batches(b"records", end_offset, ((epoch, end_offset),), (), ())


def leader(**made: Unpack[Made]) -> RaftNode:
    """Return a leader that has committed the first record of its epoch, with the help of 2."""
    raft = fresh_leader(**made)
    flush(raft, [Flush(raft.cuts)])
    fetch(raft, 2, raft.outline.end_offset)
    assert raft.promised_offset is not None, "nothing is committed"
    return raft


def fresh_leader(**made: Unpack[Made]) -> RaftNode:
    """Return a leader that has just been elected by 2, and has flushed nothing yet."""
    raft = node(**made)
    effects = raft.step(TimerFired(Alarm.ELECTION), 0)
    for _ in range(2):
        asked = next(
            each
            for each in only(effects, Ask)
            if isinstance(each.question, Vote) and each.question.voter.id == 2
        )
        effects = raft.step(Answered(asked.request, VoteAnswer(standing(raft.epoch), True)), 0)
    assert isinstance(raft.state, Leader), raft.state
    return raft


def fetch(
    raft: RaftNode,
    node_id: int,
    offset: int,
    *,
    last_epoch: int | None = None,
    disk: int | None = None,
    now_ms: int = 0,
    wait_ms: int = 0,
    committed: int = 2**63 - 1,
    epoch: int | None = None,
) -> FetchAnswer:
    """Let a replica fetch from a leader; return the answer."""
    last = raft.outline.epoch_of(offset - 1) if last_epoch is None else last_epoch
    question = Fetch(
        key(node_id, disk),
        raft.epoch if epoch is None else epoch,
        offset,
        0 if last is None else last,
        committed,
        wait_ms,
        1_000,
    )
    return ask(raft, question, FetchAnswer, now_ms)
