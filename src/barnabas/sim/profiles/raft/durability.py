"""What was promised lies on disks: R-02, R-03 (as told), R-10, R-11, R-34, S-08."""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.raft.effects import Reply
from barnabas.raft.events import Asked, Flushed
from barnabas.raft.messages import Fetch, Vote
from barnabas.raft.states import Leader
from barnabas.raft.voters import ReplicaKey, Voter
from barnabas.sim.profiles.raft.disks import vote_on
from barnabas.sim.profiles.raft.lives import Home, Life, Oracle, Step, is_seat
from barnabas.sim.world import Violation


class VoteOnce(Oracle):
    """R-02: a replica votes for one candidate an epoch, and its vote is durable before it is told.

    ``telling`` is asked at the instant at which a message leaves.
    """

    def telling(self, life: Life, epoch: int, candidate: ReplicaKey) -> None:
        """Look at the disk while a vote of this replica goes out."""
        known = life.home.votes.setdefault(epoch, candidate)
        if known != candidate:
            story = f"{life} votes for {candidate} in epoch {epoch}, and has for {known}"
            raise Violation("R-02", story, "two votes in one epoch")
        found = vote_on(life.home.disk, durable=True)
        given = found.voted is not None and found.voted.id == candidate.id
        # Whoever has been elected since, or knows who was, need not remember.
        if found.epoch < epoch or (found.epoch == epoch and not given and found.leader_id is None):
            story = f"{life} tells its vote for {candidate} in epoch {epoch}; durable is {found}"
            raise Violation("R-02", story, "a vote that is not durable")


class EpochDurable(Oracle):
    """R-03: no message tells of an epoch that its sender could forget."""

    def telling(self, life: Life, epoch: int) -> None:
        """Look at the disk while a message of this replica goes out."""
        home = life.home
        if epoch <= home.durable_epoch:
            return
        home.durable_epoch = vote_on(home.disk, durable=True).epoch
        if epoch > home.durable_epoch:
            story = f"{life} tells of epoch {epoch}, durable is {home.durable_epoch}"
            raise Violation("R-03", story, "an epoch that is not durable")


class StateBeforeLog(Oracle):
    """R-34: no record is durable before the epoch that it is of.

    A replica whose ``quorum-state`` is older than its log grants no vote in the log's epoch.
    """

    def __init__(self) -> None:
        self._behind: Final[dict[Life, int]] = {}

    def opened(self, life: Life) -> None:
        epoch = vote_on(life.home.disk, durable=False).epoch
        if epoch < life.facts.last_epoch:
            self._behind[life] = life.facts.last_epoch

    def step(self, step: Step) -> None:
        behind = self._behind.get(step.life)
        if behind is None:
            return
        match step.event:
            case Asked(token, Vote(pre_vote=False, epoch=epoch)) if epoch <= behind:
                for effect in step.effects:
                    if isinstance(effect, Reply) and getattr(effect.answer, "granted", False):
                        story = f"{step.life} votes in {epoch} after records of {behind}: {token}"
                        raise Violation("R-34", story, "a vote that may have been given")
            case _:
                pass

    def flushed(self, life: Life, new: Sequence[tuple[int, int]]) -> None:
        if not new:
            return
        epoch = vote_on(life.home.disk, durable=True).epoch
        if epoch < new[-1][1]:
            story = f"{life}: a record of epoch {new[-1][1]} is durable, quorum-state is of {epoch}"
            raise Violation("R-34", story, "a log before its epoch")


class CommitRule(Oracle):
    """R-11, R-10: a leader commits what a majority of the voters at its end has on its disks.

    As those voters have said in this epoch, and as their disks really are; the leader counts
    itself only if it votes, and up to what it has flushed.  Nothing is committed before the
    epoch's own first record.
    """

    def __init__(self, homes: Sequence[Home], lost: Mapping[ReplicaKey, None]) -> None:
        self._homes: Final = homes
        self._lost: Final = lost
        # What each replica has said it has, by who was told, in which epoch.
        self._told: Final[dict[tuple[Life, int], dict[ReplicaKey, int]]] = {}

    def step(self, step: Step) -> None:
        state = step.after.state
        if not isinstance(state, Leader):
            return
        self._note(step, state)
        leading = step.life.node.leading
        reached = None if leading is None else leading.high_watermark
        if reached is None or reached == step.before.leading:
            return
        if reached <= state.start_offset:
            story = f"{step.life} leads from {state.start_offset} and commits below {reached}"
            raise Violation("R-11", story, "committed without a record of its own")
        self._count(step, state, reached)

    def _note(self, step: Step, state: Leader) -> None:
        match step.event:
            case Asked(_, Fetch(replica=replica, epoch=epoch, offset=offset)) if (
                epoch == state.epoch
            ):
                told = self._told.setdefault((step.life, epoch), {})
                told[replica] = max(told.get(replica, 0), offset)
            case _:
                pass

    def _count(self, step: Step, state: Leader, reached: int) -> None:
        life, voters = step.life, step.after.voters
        told = self._told.get((life, state.epoch), {})
        epoch = life.node.outline.epoch_of(reached - 1) or 0
        said = [each for each in voters.voters if self._said(each, life, told, step, reached)]
        held = [each for each in voters.voters if self._holds(each, life, reached, epoch)]
        for what, found in (("have said so", said), ("have it on their disks", held)):
            if len(found) < voters.majority:
                story = (
                    f"{life} of epoch {state.epoch} commits below {reached}; of {voters.ids} "
                    f"only {[voter.key.id for voter in found]} {what}"
                )
                raise Violation("R-11", story, what)

    def _said(
        self, voter: Voter, life: Life, told: dict[ReplicaKey, int], step: Step, reached: int
    ) -> bool:
        if is_seat(voter.key, life.key):
            return step.after.flushed >= reached
        return any(is_seat(voter.key, key) and end >= reached for key, end in told.items())

    def _holds(self, voter: Voter, life: Life, reached: int, epoch: int) -> bool:
        if life.unread_from is not None and is_seat(voter.key, life.key):
            # Its disk is looked at when it has done what was decided.
            return True
        if voter.key in self._lost:
            # It had what it said it had; that it is gone is what a minority is for (§0.6).
            return True
        return any(
            is_seat(voter.key, home.key) and home.holds(reached, epoch) for home in self._homes
        )


class Durability(Oracle):
    """R-10, S-01: what a disk has durably held is there after every crash, unless it was cut."""

    def opened(self, life: Life) -> None:
        home, outline = life.home, life.node.outline
        if outline.end_offset < home.durable_end:
            story = f"{life} opens a log to {outline.end_offset}, {home.durable_end} was durable"
            raise Violation("R-10", story, "a disk forgot records")

    def read(self, life: Life, new: Sequence[object]) -> None:
        home = life.home
        if not home.durable or not life.is_settled:
            return
        end, epoch = home.durable[-1]
        found = life.log.batch_ending(end)
        if end > life.log.start and (found is None or found.epoch != epoch):
            story = f"{life}: {end} of epoch {epoch} was durable, and is {found}"
            raise Violation("R-10", story, "a disk holds other records")


class FsyncMeansDurable(Oracle):
    """S-08: what a replica says is flushed is in the durable image of its disk."""

    def step(self, step: Step) -> None:
        match step.event:
            case Flushed(_, end_offset) if step.after.flushed > max(
                step.before.flushed, end_offset
            ):
                story = f"{step.life} counts {step.after.flushed} as flushed, not {end_offset}"
                raise Violation("S-08", story, "flushed by word")
            case _:
                pass


def newly_durable(life: Life) -> list[tuple[int, int]]:
    """Return end and epoch of the batches that are said to be flushed and were not looked at.

    Each is compared on the durable image, byte for byte.
    """
    home, flushed = life.home, min(life.node.flushed_offset, life.log.end)
    new: list[tuple[int, int]] = []
    for batch in life.log.between(home.durable_end, flushed):
        data = life.log.bytes_of(batch, durable=True)
        if len(data) < batch.size_bytes or data != life.log.bytes_of(batch):
            story = f"{life} says that all below {flushed} is flushed; {batch} is not"
            raise Violation("S-08", story, "flushed and not durable")
        new.append((batch.end, batch.epoch))
    return new
