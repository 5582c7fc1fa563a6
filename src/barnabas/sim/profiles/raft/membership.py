"""Who votes, and how that changes: R-20 to R-24."""

from collections.abc import Iterator, Sequence
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.raft.effects import AppendLeaderChange, AppendVoters, Became
from barnabas.raft.states import Candidate, Leader, Prospective, Resigned
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.records.batch import header_at
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import records
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.profiles.raft.elections import votes_here
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step, is_seat
from barnabas.sim.world import Violation
from barnabas.wire import codec
from barnabas.wire.messages.stored.voters_record import VotersRecord

Members = frozenset[ReplicaKey]


def members(voters: VoterSet) -> Members:
    """Return who votes, whatever else is said of them."""
    return frozenset(voter.key for voter in voters.voters)


class OneReconfigAtATime(Oracle):
    """R-20: the voters change one by one, by a leader that has committed in its own epoch.

    And only when the change before is committed.
    """

    def step(self, step: Step) -> None:
        before = step.before
        for effect in step.effects:
            if not isinstance(effect, AppendVoters):
                continue
            state = step.after.state
            if not isinstance(state, Leader):
                raise Violation("R-20", f"{step.life} is {state}: {effect}", "no leader's change")
            if before.leading is None or before.leading <= state.start_offset:
                story = f"{step.life} has committed nothing of {state}: {effect}"
                raise Violation("R-20", story, "a change before the first commit")
            if before.voters_offset >= before.leading:
                story = f"{step.life}: voters at {before.voters_offset} are open: {effect}"
                raise Violation("R-20", story, "two changes at once")
            old, new = members(before.voters), members(effect.voter_set)
            if len(old ^ new) > 1:
                story = f"{step.life}: {sorted(map(str, old))} become {sorted(map(str, new))}"
                raise Violation("R-20", story, "two voters at once")


def voters_in(data: bytes) -> Iterator[tuple[int, Members]]:
    """Yield the voters records of a control batch, with their offsets."""
    for record in records(data, 0, header_at(data)):
        if control_type(record) is not ControlType.KRAFT_VOTERS:
            continue
        message, _ = codec.decoder(VotersRecord, 0)(bytes(record.value or b""), 0)
        yield (
            record.offset,
            frozenset(
                ReplicaKey(each.voter_id, Uuid(each.voter_directory_id)) for each in message.voters
            ),
        )


class ConfigIsLastInLog(Oracle):
    """R-21: who votes says the last voters record in the log, committed or not."""

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost
        self._records: Final[dict[Life, list[tuple[int, Members]]]] = {}

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        known = self._records.setdefault(life, [])
        if new:
            while known and known[-1][0] >= new[0].base:
                known.pop()
            for batch in new:
                if batch.is_control:
                    known.extend(voters_in(life.log.bytes_of(batch)))
        while known and known[-1][0] >= life.log.end:
            known.pop()
        voters = life.node.voters
        if life.node.outline.end_offset != life.log.end or not known:
            return
        offset, found = known[-1]
        if offset < life.log.start:
            return
        # What a snapshot says counts as said where it ends, though its record was earlier.
        if members(voters.current) != found or voters.current_offset < offset:
            story = (
                f"{life} goes by the voters at {voters.current_offset}, {voters.current.ids}; the "
                f"last record is at {offset}: {sorted(map(str, found))}"
            )
            raise Violation("R-21", story, "other voters")


class DepartingLeader(Oracle):
    """R-22: a leader that is removed leads until that is committed, and not a step longer."""

    def step(self, step: Step) -> None:
        before, after = step.before.state, step.after.state
        removed = not votes_here(step.life, step.after.voters)
        if not isinstance(before, Leader) or not removed:
            return
        committed = (step.life.node.leading or step.before).high_watermark or 0
        if isinstance(after, Leader) and step.after.voters_offset < (step.after.leading or 0):
            story = f"{step.life} is removed at {step.after.voters_offset}, leads at {committed}"
            raise Violation("R-22", story, "leads on after its removal")


class IdentityByDirectory(Oracle):
    """R-23: a replica with a new directory is somebody else, and votes for nobody's sake.

    What it stands for is counted by directory in R-11; here: it does not stand for election with
    the old one's seat.
    """

    def __init__(self, lost: dict[ReplicaKey, None]) -> None:
        self._lost: Final = lost

    def step(self, step: Step) -> None:
        state, key = step.after.state, step.life.key
        if key in self._lost:
            raise Violation("R-23", f"{step.life}: {key} was lost and speaks", "back from the dead")
        if not isinstance(state, Prospective | Candidate):
            return
        seats = [voter.key for voter in step.after.voters.voters if voter.key.id == key.id]
        if seats and not is_seat(seats[0], key):
            story = f"{step.life} is {state} with {key}; the seat is {seats[0]}'s"
            raise Violation("R-23", story, "in another's seat")
        for effect in step.effects:
            match effect:
                case Became(Leader()) if not seats:
                    raise Violation("R-23", f"{step.life} is elected without a seat", "no seat")
                case _:
                    pass


class ClusterIdMatch(Oracle):
    """R-24: what is meant for another cluster is refused, and nothing changes."""

    def mistaken(self, name: str, error: int, happened: bool) -> None:
        """Look at the answer to a question that named another cluster."""
        if error != ErrorCode.INCONSISTENT_CLUSTER_ID or happened:
            story = (
                f"{name} answers a stranger's question with {error}; a step was made: {happened}"
            )
            raise Violation("R-24", story, "another cluster's question")


class ResignedForGood(Oracle):
    """R-22, R-04: who has resigned an epoch neither leads nor appends in it again."""

    def __init__(self) -> None:
        self._resigned: Final[dict[ReplicaKey, int]] = {}

    def step(self, step: Step) -> None:
        key = step.life.key
        for effect in step.effects:
            match effect:
                case Became(Resigned(epoch=epoch)):
                    self._resigned[key] = max(epoch, self._resigned.get(key, -1))
                case AppendLeaderChange(epoch=epoch) if epoch <= self._resigned.get(key, -1):
                    story = f"{step.life} begins epoch {epoch}, which it has resigned"
                    raise Violation("R-22", story, "resigned and back")
                case _:
                    pass
