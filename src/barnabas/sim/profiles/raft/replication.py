"""One log in many places: R-07 to R-09, R-12 to R-17, R-31 to R-33."""

from collections.abc import Sequence
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import (
    AppendFetched,
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    Became,
    HighWatermark,
    InstallSnapshot,
    OpenSnapshot,
    Reply,
    StorePart,
    Truncate,
)
from barnabas.raft.events import Answered, Asked
from barnabas.raft.messages import (
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    SnapshotAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot
from barnabas.raft.states import Follower, Leader
from barnabas.records.batch import header_at
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import records
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.profiles.raft.ghost import Elected, Ghost
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step, has_seat
from barnabas.sim.world import Violation
from barnabas.wire import codec
from barnabas.wire.messages.stored.leader_change_message import LeaderChangeMessage


class LogMatching(Oracle):
    """R-07, R-33: an offset and an epoch name one batch, and everything before it, in all logs.

    Also in those that were cut since: a leader that gave an offset out twice would be seen by
    nobody who compares epochs and ends.
    """

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        for batch in new:
            self._ghost.write(batch, f"{life}")


class LeaderChangeFirst(Oracle):
    """R-31: every epoch begins, in any log, with the control record that names its leader."""

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        for batch in new:
            if batch.before is None or batch.before == batch.epoch:
                continue
            leader = leader_named(life.log.bytes_of(batch)) if batch.is_control else None
            if leader is None:
                story = f"{life}: epoch {batch.epoch} begins with {batch}"
                raise Violation("R-31", story, "an epoch without a beginning")
            self._ghost.lead(batch.epoch, leader, f"the log of {life}")


def leader_named(data: bytes) -> int | None:
    """Return whom the first record of a control batch names as leader."""
    for record in records(data, 0, header_at(data)):
        if control_type(record) is ControlType.LEADER_CHANGE:
            message, _ = codec.decoder(LeaderChangeMessage, 0)(bytes(record.value or b""), 0)
            return int(message.leader_id)
        break
    return None


class CommittedPrefixStable(Oracle):
    """R-08: what any replica counts as committed is what was committed, at every offset."""

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def step(self, step: Step) -> None:
        if step.after.high_watermark > step.before.high_watermark:
            verify_committed(self._ghost, step.life, step.after.high_watermark)

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        verify_committed(self._ghost, life, life.node.high_watermark)


def verify_committed(ghost: Ghost, life: Life, below: int) -> None:
    """Compare what a replica counts as committed, as far as its log has been read."""
    if life.restarted:
        # The log that was read has just been replaced.
        return
    if life.unread_from is not None and life.unread_from < below:
        below = life.unread_from
    for batch in life.log.between(life.verified, below):
        data = life.log.bytes_of(batch) if batch.end > ghost.committed_end else b""
        if batch.base > ghost.committed_end:
            # It knows of more than anybody has shown; who committed the rest will show it.
            return
        ghost.commit(batch, data, f"{life}")
        life.verified = batch.end


class LeaderCompleteness(Oracle):
    """R-09: whoever begins to lead has everything that was ever committed."""

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def step(self, step: Step) -> None:
        if not any(isinstance(e, Became) and isinstance(e.state, Leader) for e in step.effects):
            return
        life, end = step.life, self._ghost.committed_end
        outline = life.node.outline
        if step.before.end < end:
            story = f"{life} leads with a log to {step.before.end}, committed is all below {end}"
            raise Violation("R-09", story, "a leader with less")
        if end > outline.start_offset:
            found, due = outline.epoch_of(end - 1), self._ghost.epoch_before(end)
            if due is not None and found != due:
                story = f"{life} leads with {end - 1} of epoch {found}; committed of {due}"
                raise Violation("R-09", story, "a leader with other records")
        state = step.after.state
        if isinstance(state, Leader):
            elected = Elected(tuple(outline.epochs), outline.start_offset, outline.end_offset)
            self._ghost.elected.setdefault(state.epoch, elected)


class HwmMonotonic(Oracle):
    """R-12: in one life the high watermark never falls; it lies between start and end of the log.

    No follower's is above what was committed, and a new leader tells none below its own epoch.
    """

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def step(self, step: Step) -> None:
        life, before, after = step.life, step.before, step.after
        if after.high_watermark < before.high_watermark:
            story = f"{life}: {after.high_watermark} after {before.high_watermark}"
            raise Violation("R-12", story, "a high watermark fell")
        if not after.start <= after.high_watermark <= after.end:
            story = f"{life}: {after.high_watermark} in a log from {after.start} to {after.end}"
            raise Violation("R-12", story, "a high watermark outside of the log")
        for effect in step.effects:
            match effect:
                case Reply(_, FetchAnswer(high_watermark=told)):
                    self._check_told(step, told)
                case _:
                    pass

    def _check_told(self, step: Step, told: int) -> None:
        state = step.after.state
        if told >= 0 and not (isinstance(state, Leader) and told > state.start_offset):
            story = f"{step.life} is {state} and tells the high watermark {told}"
            raise Violation("R-12", story, "told too early")

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        reached = max(life.node.high_watermark, 0)
        if life.is_settled and life.verified < min(reached, life.log.end):
            story = f"{life} counts all below {reached} as committed, nobody else above "
            raise Violation("R-12", story + f"{self._ghost.committed_end}", "ahead of everybody")


class NoTruncateBelowHwm(Oracle):
    """R-13: nothing below the high watermark or the newest snapshot is ever cut off."""

    def step(self, step: Step) -> None:
        before = step.before
        for effect in step.effects:
            if isinstance(effect, Truncate):
                kept = max(
                    before.high_watermark, before.snapshot.end_offset if before.snapshot else 0
                )
                if effect.end_offset < kept:
                    story = f"{step.life} cuts at {effect.end_offset}, below {kept}"
                    raise Violation("R-13", story, "cut below the high watermark")


class LeaderAppendOnly(Oracle):
    """R-14: who leads only appends, at the end of its log and with its own epoch."""

    def step(self, step: Step) -> None:
        end = step.before.end
        for effect in step.effects:
            match effect:
                case (
                    AppendRecords(base, epoch)
                    | AppendLeaderChange(base, epoch)
                    | AppendVoters(base, epoch)
                ):
                    state = step.after.state
                    if base != end or not isinstance(state, Leader) or epoch != state.epoch:
                        story = f"{step.life} is {state} and appends {effect} at the end {end}"
                        raise Violation("R-14", story, "an append that is none")
                case Truncate() | InstallSnapshot() | AppendFetched():
                    if isinstance(step.before.state, Leader):
                        story = f"{step.life} is {step.before.state} and does {effect}"
                        raise Violation("R-14", story, "a leader changes its log")
                case _:
                    pass


class EpochCacheExact(Oracle):
    """R-15: the epochs that a replica knows are those of its log, and both columns rise."""

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        if new:
            self._compare(life)

    def finish(self, lives: Sequence[Life]) -> None:
        for life in lives:
            self._compare(life)

    def _compare(self, life: Life) -> None:
        outline = life.node.outline
        if outline.end_offset != life.log.end:
            # It has moved on since the log was read.
            return
        known, found = list(outline.epochs), life.log.epochs()
        if known != found:
            raise Violation("R-15", f"{life} knows {known}, its log has {found}", "other epochs")


class FetchEpochMatch(Oracle):
    """R-16: only the leader of the epoch that a fetch names answers it with anything.

    What is refused leaves no trace.  An answer is taken only in the state that asked, at the end
    that it was asked for, and never from an epoch that is over.
    """

    def __init__(self) -> None:
        self._asked: Final[dict[tuple[Life, int], Fetch | FetchSnapshot]] = {}

    def step(self, step: Step) -> None:
        match step.event:
            case Asked(token, (Fetch() | FetchSnapshot()) as question):
                self._asked[step.life, token] = question
            case Answered(_, FetchAnswer() | SnapshotAnswer()):
                self._check_taken(step)
            case _:
                pass
        for effect in step.effects:
            if isinstance(effect, Reply):
                asked = self._asked.pop((step.life, effect.token), None)
                if asked is not None:
                    self._check_reply(step, asked, effect)

    def _check_reply(self, step: Step, question: Fetch | FetchSnapshot, reply: Reply) -> None:
        match reply.answer:
            case FetchAnswer(content=Lent() | Diverges() | NeedsSnapshot()):
                pass
            case SnapshotAnswer(standing=standing) if standing.error is ErrorCode.NONE:
                pass
            case _:
                return
        state = step.after.state
        if not isinstance(state, Leader) or state.epoch != question.epoch:
            story = f"{step.life} is {state} and answers {question} with {reply.answer}"
            raise Violation("R-16", story, "an answer of no leader")

    def _check_taken(self, step: Step) -> None:
        took = [
            effect
            for effect in step.effects
            if isinstance(
                effect, AppendFetched | Truncate | OpenSnapshot | StorePart | InstallSnapshot
            )
        ]
        raised = any(isinstance(effect, HighWatermark) for effect in step.effects)
        if not took and not raised:
            return
        match step.event:
            case Answered(_, FetchAnswer(standing=standing) | SnapshotAnswer(standing=standing)):
                epoch = standing.epoch
            case event:
                raise AssertionError(f"{event} is no answer to a fetch")
        asked, state = step.answered, step.before.state
        if asked is None or asked.stint != step.stint or not isinstance(state, Follower):
            story = f"{step.life} is {state}, has asked {asked}, and does {took}"
            raise Violation("R-16", story, "a late answer was taken")
        if epoch < state.epoch:
            story = f"{step.life} is {state} and takes an answer of epoch {epoch}"
            raise Violation("R-16", story, "an old answer was taken")
        question = asked.question
        if isinstance(question, Fetch) and question.offset != step.before.end:
            story = f"{step.life} ends at {step.before.end} and takes an answer to {question}"
            raise Violation("R-16", story, "an answer for another offset")


class DivergenceSound(Oracle):
    """R-17: a diverging follower cuts everything that its leader does not have, and nothing else.

    One round may leave more to be cut by the next, where the follower lacks the epoch it is told.
    """

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def step(self, step: Step) -> None:
        match step.event:
            case Answered(_, FetchAnswer(content=Diverges(), standing=standing)):
                pass
            case _:
                return
        cuts = [effect.end_offset for effect in step.effects if isinstance(effect, Truncate)]
        elected = self._ghost.elected.get(standing.epoch)
        if not cuts or elected is None:
            return
        shared = common_end(step.life, elected)
        if cuts[0] < shared:
            story = f"{step.life} cuts at {cuts[0]} what it shares with its leader up to {shared}"
            raise Violation("R-17", story, "cut too much")
        if cuts[0] >= step.before.end:
            story = f"{step.life} diverges and cuts at {cuts[0]}, where its log ends"
            raise Violation("R-17", story, "cut nothing")


def common_end(life: Life, elected: Elected) -> int:
    """Return up to where a log, as it was read, is the beginning of a leader's."""
    for batch in reversed(life.log.batches):
        if batch.end <= elected.start:
            return batch.end
        if elected.epoch_at(batch.end - 1) == batch.epoch:
            return batch.end
    return life.log.start


class ObserverNeutral(Oracle):
    """R-32: the fetches of who does not vote commit nothing.

    Unless the voters have changed and that is not committed: then less may be needed than before,
    and whatever happens next finds out.
    """

    def step(self, step: Step) -> None:
        before = step.before
        match step.event:
            case Asked(_, Fetch(replica=replica)) if not has_seat(before.voters, replica):
                pass
            case _:
                return
        if before.voters_offset >= (before.leading or 0):
            return
        if any(isinstance(effect, HighWatermark) for effect in step.effects):
            story = f"{step.life} commits because {replica} fetches, of {step.before.voters.ids}"
            raise Violation("R-32", story, "an observer counts")
