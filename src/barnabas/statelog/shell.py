"""One writer, one log, one state: decide, append, wait for the commit, reply.

    submit ─▶ decide(pending) ─▶ append ─▶ pending runs ahead ─▶ committed ─▶ reply
                                     │
    the log ── committed batches ────┴─▶ committed

``committed`` is what the log guarantees, on every node.  ``pending`` is the newest state of the
node that leads: it runs ahead by what was appended and is not committed yet.  It is dropped whole
when the node stops leading, which is all the rollback there is.

A leader decides nothing before the log's first record of its own epoch is committed and everything
before it is folded here: the log tells of leadership only then.  So a decision always rests on
everything that any leader before has decided (C-02).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, Protocol, TypeVar

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.value import value
from barnabas.statelog.decision import Decision, State

RecordT = TypeVar("RecordT")
ReplyT = TypeVar("ReplyT")
StateT = TypeVar("StateT", bound=State[Any])


class Log(Protocol):
    """A replicated log as its leader sees it: raft's, or a partition's."""

    @property
    def end_offset(self) -> int:
        """Where the next record lands, if this node appends it."""
        ...

    def append(self, epoch: int, values: Sequence[bytes]) -> int:
        """Append one batch and return its end offset; ``Refused`` if this node may not."""
        ...

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Return when all below an offset is committed; ``Refused`` if leadership is lost first."""


@value
class Decided(Generic[ReplyT]):
    """A decision that is appended, and the reply to it, which has to wait."""

    epoch: int
    end_offset: int
    reply: ReplyT


@contextmanager
def led() -> Iterator[None]:
    """Say as a controller says it that this node does not lead any more."""
    try:
        yield
    except Refused as refused:
        if refused.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
            raise
        raise Refused(ErrorCode.NOT_CONTROLLER, refused.why) from refused


class StateLog(Generic[StateT, RecordT]):
    """The state of one log."""

    def __init__(self, log: Log, state: StateT, encode: Callable[[RecordT], bytes]) -> None:
        self.committed = state
        """What everybody will agree to."""
        self.pending = state
        """What the leader decides on."""
        self.epoch: int | None = None
        """The epoch that this node leads, if it does."""
        self._log: Final = log
        self._encode: Final = encode
        # Where the log ends, as far as decisions of this epoch have moved it.
        self._end_offset = 0

    async def submit(self, decide: Callable[[StateT, int], Decision[RecordT, ReplyT]]) -> ReplyT:
        """Decide on the newest state; reply when all that the decision rests on is committed.

        What decides is also told the offset at which its first record will stand.  ``Refused`` with
        NOT_CONTROLLER if this node does not lead, or stops before: in that case
        the records may or may not become true.
        """
        return await self.replied(self.decided(decide))

    def decided(
        self, decide: Callable[[StateT, int], Decision[RecordT, ReplyT]]
    ) -> Decided[ReplyT]:
        """Decide on the newest state at once, and append what it takes; ``replied`` is the rest."""
        epoch = self.epoch
        if epoch is None:
            raise Refused(ErrorCode.NOT_CONTROLLER, "this node does not lead")
        decision = decide(self.pending, self._log.end_offset)
        if decision.records:
            values = [self._encode(record) for record in decision.records]
            with led():
                self._end_offset = self._log.append(epoch, values)
            self.pending = self.pending.apply(decision.records)
        return Decided(epoch, self._end_offset, decision.reply)

    async def replied(self, decided: Decided[ReplyT]) -> ReplyT:
        """Return a reply when all that it rests on is committed."""
        with led():
            # Even a refusal waits: it may rest on a record that is not committed yet.
            await self._log.committed(decided.epoch, decided.end_offset)
        return decided.reply

    def on_committed(self, records: Sequence[RecordT]) -> None:
        """Take records that the log has committed, whoever wrote them."""
        self.on_folded(self.committed.apply(records))

    def on_folded(self, state: StateT) -> None:
        """Take the state that the committed log has come to, if somebody else folds it."""
        self.committed = state
        if self.epoch is None:
            self.pending = state

    def on_loaded(self, state: StateT) -> None:
        """Take the state of a snapshot in place of everything before."""
        assert self.epoch is None, f"a leader of {self.epoch} was handed a snapshot"
        self.on_folded(state)

    def on_claimed(self, epoch: int) -> None:
        """Begin to decide: everything before this epoch is folded."""
        assert self.epoch is None, f"leads {self.epoch} already, and {epoch} now"
        self.epoch, self.pending, self._end_offset = epoch, self.committed, 0

    def on_resigned(self) -> None:
        """Decide no more, and forget what was never committed."""
        self.epoch, self.pending = None, self.committed
