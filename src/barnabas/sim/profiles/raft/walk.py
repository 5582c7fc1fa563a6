"""One event of one replica, as actions of the port.

    event ─▶ what it brings: a fetch accepted, a vote counted, records taken, a flush
    effects, in their order:
      Became            the action that leads from the port's role to that one
      Append…, Truncate, HighWatermark    the same, at the same offset
      PersistElection   what may be said from now on
      Ask, Reply        what the port would say, word for word

Two kinds of mistakes are found: an action that the port's guards forbid, and a word or an offset
that is not what the port has.  That something is *not* done which might be is no mistake here,
with three exceptions that safety hangs on: news of a higher epoch is heeded, a vote that was asked
for is refused only with a reason, and so is a fetch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final, TypeAlias

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import (
    AppendFetched,
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    Ask,
    Became,
    Effect,
    HighWatermark,
    InstallSnapshot,
    OpenSnapshot,
    PersistElection,
    Reply,
    StorePart,
    Truncate,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    CleanAsked,
    Event,
    Flushed,
    SnapshotInstalled,
    SnapshotTaken,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import (
    Answer,
    Batches,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    Question,
    SnapshotAnswer,
    Standing,
    Vote,
    VoteAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.states import State
from barnabas.sim.profiles.raft.facts import (
    Facts,
    election_of,
    facts_due,
    fetch_request,
    key_of,
    state_of,
    vote_request,
    voters_of,
)
from barnabas.sim.specs.raft import elections, replication
from barnabas.sim.specs.raft import node as spec
from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.log import PLAIN, Content, Key, Log, Run
from barnabas.sim.specs.raft.node import Node, Role, Step
from barnabas.sim.specs.raft.properties import of_node
from barnabas.sim.specs.rules import Blocked
from barnabas.sim.world import Violation

# The answers that tell of epochs and leaders; what shows that a leader lives that sends a snapshot.
Told: TypeAlias = VoteAnswer | EpochAnswer | FetchAnswer | SnapshotAnswer
LIVES: Final = (
    ErrorCode.NONE,
    ErrorCode.SNAPSHOT_NOT_FOUND,
    ErrorCode.POSITION_OUT_OF_RANGE,
)

# What the leader of each epoch has appended.
Ledger: TypeAlias = dict[int, Log]


@dataclass(slots=True)
class Double:
    """A replica of the port, and what belongs to it outside of the specification."""

    node: Node
    written: spec.Election
    """What was persisted last."""
    cuts: int = 0
    """How often the log was cut or replaced in this life: an older flush says nothing of it."""
    asked: dict[int, Question] = field(default_factory=dict)
    """What was asked in this role and epoch and is not answered, by its number."""
    waiting: dict[int, Question] = field(default_factory=dict)
    """Questions of others that wait for an answer, by their tokens."""
    stages: list[tuple[Node, spec.Election]] = field(default_factory=list)
    """What the disk may show if the process dies before it has performed everything."""
    installing: SnapshotId | None = None
    uncleaned: list[Node] = field(default_factory=list)
    """The replica before each time its log was cleaned: the disk follows later, if at all."""


class Walk:
    """One event of one replica."""

    def __init__(
        self, name: str, double: Double, ledger: Ledger, note: Callable[[str], None]
    ) -> None:
        self.last = "stutter"
        """The last action that was taken."""
        self._name: Final = name
        self._double: Final = double
        self._ledger: Final = ledger
        self._note: Final = note
        self._event: Event | None = None
        self._effects: Sequence[Effect] = ()
        # What the event says: who leads which epoch, a vote that is asked for, that somebody does
        # not know pre-votes, how many records are to be appended.
        self._told: tuple[int, int | None] | None = None
        self._vote: spec.VoteRequest | None = None
        self._knows_pre_votes = True
        self._records = 0

    @property
    def _node(self) -> Node:
        return self._double.node

    def take(self, event: Event, effects: Sequence[Effect]) -> None:
        """Take the actions of an event and of its effects, in their order."""
        self._event, self._effects = event, effects
        news = self._begin(event)
        self._stage()
        for at, effect in enumerate(effects):
            self._perform(effect, effects[at + 1 :])
            self._stage()
        if news is not None:
            # Whatever was said of other epochs and their leaders has been heeded by now.
            self._do("stay", elections.stay(self._node, news.epoch, leader_in(news)))
        for broken in of_node(self._node):
            raise self._wrong(self.last, f"{broken} is broken", broken)

    def agrees(self, facts: Facts, action: str) -> None:
        """Compare the product's replica with the port's."""
        difference = differing(self._node, facts)
        if difference is not None:
            raise self._wrong(action, difference, "state")

    def _stage(self) -> None:
        self._double.stages.append((self._node, self._double.written))

    def _wrong(self, action: str, why: str, place: str) -> Violation:
        story = f"{self._name} at {self._event}: {why}; the port has {self._node}"
        return Violation(f"TV-raft-{action}", story, place)

    def _require(self, action: str, guard: Guard, holds: bool, why: str) -> None:
        if not holds:
            raise self._wrong(action, f"{why}; it must be that {guard.value}", guard.name)

    def _do(self, action: str, step: Step | Blocked) -> spec.Message | None:
        """Take an action of the port, which must be enabled; return what it says."""
        self.last = action
        if isinstance(step, Blocked):
            raise self._wrong(action, str(step), step.guard.name)
        self._note(action)
        before, node = self._node, step.node
        self._double.node = node
        if (before.role, before.epoch) != (node.role, node.epoch):
            self._double.asked.clear()
        if node.role is Role.LEADER:
            # Only what is new: the leader may have cleaned its log of what it appended first.
            known = self._ledger.get(node.epoch, Log(node.epoch_start))
            more = tuple(run for _, run in node.log.pieces(known.end))
            self._ledger[node.epoch] = known.extend(more)
        return step.said

    def _does(self, kind: type[Effect]) -> bool:
        """Tell whether the product does something about this event."""
        return any(isinstance(effect, kind) for effect in self._effects)

    # --- the event -------------------------------------------------------------------------------

    def _begin(self, event: Event) -> Standing | None:
        """Take what the event itself is; return the news that it brings, if any."""
        node = self._node
        match event:
            case Asked(token, question):
                return self._asked(token, question)
            case Answered(request, answer):
                return self._answered(request, answer)
            case Unanswered(request):
                self._double.asked.pop(request, None)
                self._double.node = forgotten(node, request)
            case AppendAsked(records):
                self._records = records
            case TimerFired(Alarm.FETCH):
                # Who votes stands for election instead, which is told.
                self._maybe("miss_leader", elections.miss_leader(node))
            case Flushed(cuts, end) if cuts == self._double.cuts:
                self._do("flush", replication.flush(node, end))
            case SnapshotTaken(snapshot) if snapshot.end_offset > node.log.start:
                end, epoch = snapshot.end_offset, snapshot.epoch
                self._do("take_snapshot", replication.take_snapshot(node, end, epoch))
            case SnapshotInstalled(snapshot, voters):
                # Of voters that are configured a snapshot says nothing.
                keys = node.log.start_voters if voters is None else voters_of(voters)
                installed = spec.Snapshot(snapshot.end_offset, snapshot.epoch, keys)
                self._do("install", replication.install(node, installed))
                self._double.installing = None
                self._double.uncleaned.clear()
                self._double.cuts += 1
            case CleanAsked(first):
                self._double.uncleaned.append(node)
                self._do("clean", replication.clean(node, first.end_offset))
            case _:
                pass
        return None

    def _asked(self, token: int, question: Question) -> Standing | None:
        self._double.waiting[token] = question
        match question:
            case Vote(epoch=epoch):
                self._vote, self._told = vote_request(question), (epoch, None)
                if not any(is_invalid(effect) for effect in self._effects):
                    return Standing(ErrorCode.NONE, epoch, None, ())
            case BeginQuorumEpoch(leader_id, epoch) | EndQuorumEpoch(leader_id, epoch):
                self._told = epoch, leader_id
            case Fetch():
                fetch = fetch_request(question)
                self._maybe("accept_fetch", replication.accept(self._node, fetch))
            case _:
                pass
        return None

    def _maybe(self, action: str, step: Step | Blocked) -> bool:
        """Take an action if it is enabled; tell whether it was."""
        if isinstance(step, Blocked):
            return False
        self._do(action, step)
        return True

    def _answered(self, request: int, answer: Answer) -> Standing | None:
        question = self._double.asked.pop(request, None)
        if question is None or not isinstance(answer, Told):
            return None
        standing = answer.standing
        self._told = standing.epoch, standing.leader_id
        match question, answer:
            case Vote(), VoteAnswer(granted=granted):
                self._knows_pre_votes = standing.error is not ErrorCode.UNSUPPORTED_VERSION
                vote = vote_request(question)
                said = spec.VoteAnswer(vote, standing.epoch, granted)
                if standing.error is ErrorCode.NONE:
                    step = elections.count(self._node, spec.Asked(request, vote), said)
                    self._maybe("count_vote", step)
            case Fetch(), FetchAnswer() if standing.error is ErrorCode.NONE:
                self._heard(request, question, answer)
            case FetchSnapshot(), SnapshotAnswer() if standing.error in LIVES:
                if standing.error or self._does(StorePart):
                    self._maybe("hear_part", replication.hear_part(self._node, standing.epoch))
            case _:
                pass
        self._double.node = forgotten(self._node, request)
        return standing if self._knows_pre_votes else None

    def _heard(self, request: int, fetch: Fetch, answer: FetchAnswer) -> None:
        """Take what the leader answers to a fetch, if it is the leader and still concerns us."""
        question, epoch = fetch_request(fetch), answer.standing.epoch
        acts = self._does(AppendFetched) or self._does(Truncate)
        match answer.content:
            case Diverges(at, end) if acts:
                content: spec.Records | spec.Diverging = spec.Diverging(at, end)
            case Batches() as batches if acts:
                content = spec.Records(self._issued(batches))
            case Batches(data=b""):
                content = spec.Records(())
            case NeedsSnapshot() if self._does(OpenSnapshot):
                self._do("hear_part", replication.hear_part(self._node, epoch))
                return
            case _:
                # It makes no sense to the product, which asks again.
                return
        said = spec.FetchAnswer(question, epoch, answer.high_watermark, content)
        heard = replication.hear_leader(self._node, spec.Asked(request, question), said)
        if isinstance(heard, Blocked) and not acts:
            return
        self._do("hear_leader", heard)
        if isinstance(content, spec.Diverging):
            whole = self._node
            self._do("cut", replication.cut(whole, said))
            # A disk lets go of it from the end, a segment after the other, and may be found
            # anywhere between; what is cut is promised no more from when that begins.
            flushed, on_disk = self._node.flushed, self._node.on_disk
            going = replace(whole, flushed=flushed, on_disk=on_disk)
            self._double.stages.append((going, self._double.written))
            self._double.cuts += 1
        else:
            self._do("take", replication.take(self._node, said))

    def _issued(self, batches: Batches) -> tuple[Run, ...]:
        """Return the records of an answer as their leaders appended them."""
        at, runs = self._node.log.end, list[Run]()
        for epoch, end in batches.epochs:
            known = self._ledger.get(epoch, Log(at))
            pieces = [run for _, run in known.pieces(at, end)]
            whole = known.start <= at and bool(pieces) and pieces[-1].end == end
            why = f"records {at} to {end} of epoch {epoch} are sent"
            self._require("take", Guard.AS_ISSUED, whole, why)
            runs += pieces
            at = end
        said = {offset: voters_of(voters) for offset, voters in batches.voters}
        due = {run.end - 1: run.content for run in runs if isinstance(run.content, frozenset)}
        why = f"voters {said} are sent, not {due}"
        self._require("take", Guard.AS_ISSUED, said == due, why)
        return tuple(runs)

    # --- its effects -----------------------------------------------------------------------------

    def _perform(self, effect: Effect, rest: Sequence[Effect]) -> None:
        match effect:
            case PersistElection(election):
                self._double.written = election_of(election)
            case Became(state):
                self._become(state, rest)
            case AppendLeaderChange(base, epoch):
                self._appends("lead", (base, epoch), self._node.epoch_start)
            case AppendVoters(base, epoch, voters):
                end = self._node.log.end
                keys = voters_of(voters)
                self._do("change_voters", replication.change_voters(self._node, keys))
                self._appends("change_voters", (base, epoch), end)
            case AppendRecords(base, epoch):
                end = self._node.log.end
                self._do("append", replication.append(self._node, count=self._records))
                self._appends("append", (base, epoch), end)
            case AppendFetched(end_offset=end):
                self._says("take", end, self._node.log.end)
            case Truncate(end):
                self._says("cut", end, self._node.log.end)
            case HighWatermark(end) if self._node.role is Role.LEADER:
                self._do("commit", replication.commit(self._node, end))
            case HighWatermark(end):
                self._says("take", end, self._node.hwm)
            case InstallSnapshot(snapshot):
                self._double.installing = snapshot
            case Ask(request, _, question):
                self._ask(request, question)
            case Reply(token, answer):
                self._reply(token, answer)
            case _:
                return

    def _appends(self, action: str, said: tuple[int, int], base: int) -> None:
        self._says(action, said, (base, self._node.epoch))
        self._persisted(action)

    def _persisted(self, action: str) -> None:
        """Require that epoch and vote are on the disk before something is said or appended."""
        written, due = self._double.written, self._node.election
        why = f"{written} is persisted, not {due}"
        self._require(action, Guard.PERSISTS, written == due, why)

    def _says(self, action: str, said: object, due: object) -> None:
        if said != due:
            raise self._wrong(action, f"it says {said}, not {due}", "said")

    def _become(self, state: State, rest: Sequence[Effect]) -> None:
        """Take the action that leads to a role; a vote in a higher epoch is two."""
        due = state_of(state, self._node.key.id)
        role, epoch, leader, voted = due
        if role is Role.UNATTACHED and epoch > self._node.epoch and voted is not None:
            self._do("detach", self._detach(epoch, leader))
        if due != standing_of(self._node):
            action, step = self._turn(*due, rest)
            self._do(action, step)
        self._says(self.last, due, standing_of(self._node))

    def _turn(
        self, role: Role, epoch: int, leader: int | None, voted: Key | None, rest: Sequence[Effect]
    ) -> tuple[str, Step | Blocked]:
        """Return the action that leads to a role from the one that the port has."""
        node = self._node
        stays = epoch == node.epoch
        match role:
            case Role.UNATTACHED | Role.PROSPECTIVE if stays and role is node.role and self._vote:
                return "grant", elections.grant(node, self._vote)
            case Role.PROSPECTIVE:
                return "stand", elections.stand(node)
            case Role.CANDIDATE:
                known = self._knows_pre_votes
                return "win_pre_vote", elections.win_pre_vote(node, is_known=known)
            case Role.LEADER:
                return "lead", elections.lead(node, more_in(rest))
            case Role.RESIGNED:
                return "resign", elections.resign(node)
            case Role.FOLLOWER if leader is not None and self._told == (epoch, leader):
                return "follow", elections.follow(node, leader, epoch)
            case Role.FOLLOWER | Role.UNATTACHED if stays:
                follows = role is Role.FOLLOWER
                return "lose_pre_vote", elections.lose_pre_vote(node, follows)
            case _ if node.role is Role.RESIGNED and self._told is None:
                return "give_up", elections.give_up(node)
            case _:
                return "detach", self._detach(epoch, leader)

    def _detach(self, epoch: int, leader: int | None) -> Step | Blocked:
        # An epoch that a node has led with another disk is left at once, for the next one.
        heard = self._told in ((epoch, leader), (epoch - 1, self._node.key.id))
        why = f"it goes to epoch {epoch}, of {leader}, and is told {self._told}"
        self._require("detach", Guard.IS_TOLD, heard, why)
        return elections.detach(self._node, epoch, leader)

    # --- what it says ----------------------------------------------------------------------------

    def _ask(self, request: int, question: Question) -> None:
        node = self._node
        self._double.asked[request] = question
        match question:
            case Vote(voter=voter):
                due = self._do("ask_vote", elections.ask_vote(node, key_of(voter), request))
                self._says("ask_vote", vote_request(question), due)
            case Fetch(high_watermark=hwm):
                due = self._do("ask_fetch", replication.ask_fetch(node, request))
                self._says("ask_fetch", (fetch_request(question), hwm), (due, node.hwm))
            case BeginQuorumEpoch(leader_id, epoch):
                self._says("begin", (Role.LEADER, epoch, leader_id), standing_of(node)[:3])
            case EndQuorumEpoch(leader_id, epoch):
                self._says("end", (Role.RESIGNED, epoch, leader_id), standing_of(node)[:3])
            case FetchSnapshot(replica, epoch):
                who = Role.FOLLOWER, epoch, key_of(replica)
                self._says("fetch_snapshot", who, (node.role, node.epoch, node.key))
            case _:
                return
        self._persisted("ask")

    def _reply(self, token: int, answer: Answer) -> None:
        question = self._double.waiting.pop(token, None)
        if not isinstance(answer, Told):
            return
        said = answer.standing.epoch, answer.standing.leader_id
        self._says("reply", said, (self._node.epoch, self._node.leader))
        match question, answer:
            case Vote(), VoteAnswer(granted=True):
                self._do("grant", elections.grant(self._node, vote_request(question)))
            case Vote(), VoteAnswer() if answer.standing.error is not ErrorCode.INVALID_REQUEST:
                self._do("refuse", elections.refuse(self._node, vote_request(question)))
            case Fetch(), FetchAnswer() if answer.standing.error is ErrorCode.NONE:
                self._served(fetch_request(question), answer)
            case Fetch(), FetchAnswer() if answer.standing.error is not ErrorCode.INVALID_REQUEST:
                fetch = fetch_request(question)
                self._do("refuse_fetch", replication.refuse_fetch(self._node, fetch))
            case FetchSnapshot(epoch=epoch), SnapshotAnswer() if not answer.standing.error:
                leads = self._node.role is Role.LEADER and epoch == self._node.epoch
                self._require("send_snapshot", Guard.LEADS, leads, f"sends {answer.snapshot}")
            case _:
                pass
        # A vote that is told counts as given: it is on the disk by now.
        self._persisted(self.last)

    def _served(self, fetch: spec.FetchRequest, answer: FetchAnswer) -> None:
        """Compare what a leader sends."""
        action, step, said = self._service(fetch, answer)
        due = self._do(action, step)
        assert isinstance(due, spec.FetchAnswer), f"{action} says {due}"
        told = answer.standing.epoch, answer.high_watermark, said
        self._says(action, told, (due.epoch, due.hwm, due.content))

    def _service(
        self, fetch: spec.FetchRequest, answer: FetchAnswer
    ) -> tuple[str, Step | Blocked, object]:
        """Return the action that an answer is, and its content."""
        node = self._node
        match answer.content:
            case Diverges(epoch, end):
                step = replication.send_diverging(node, fetch)
                # Whatever is cut at 0 leaves nothing, and then the epoch says nothing: one that
                # was formatted has a snapshot of epoch 0 there, which the port knows nothing of.
                said = spec.Diverging(epoch if end else fetch.last_epoch, end)
                return "send_diverging", step, said
            case NeedsSnapshot(snapshot):
                latest = node.latest
                named = snapshot.end_offset, snapshot.epoch
                known = latest is not None and (latest.end, latest.epoch) == named
                step = replication.send_snapshot(node, fetch)
                return "send_snapshot", step, latest if known else snapshot
            case Lent(offset, end):
                self._says("send_records", offset, fetch.offset)
                runs = tuple(run for _, run in node.log.pieces(offset, end))
                step = replication.send_records(node, fetch, end)
                return "send_records", step, spec.Records(runs)
            case Batches():
                raise self._wrong("send_records", f"{answer} was not read from the log", "said")


def differing(node: Node, facts: Facts) -> str | None:
    """Return in what the product's replica is not as the port's, if in anything."""
    due = facts_due(node)
    if due == facts:
        return None
    named = [
        (each.name, getattr(facts, each.name), getattr(due, each.name)) for each in fields(due)
    ]
    return ", ".join(f"{name} is {seen}, not {was}" for name, seen, was in named if seen != was)


def standing_of(node: Node) -> tuple[Role, int, int | None, Key | None]:
    """Return role, epoch, leader and vote of a replica."""
    return node.role, node.epoch, node.leader, node.voted


def forgotten(node: Node, request: int) -> Node:
    """Return the replica with a question that does not stand any more."""
    for asked in node.asked:
        if asked.number == request:
            return node.answered(asked)
    return node


def leader_in(standing: Standing) -> int | None:
    """Return the leader that news tell of, if they say where it is."""
    return standing.leader_id if standing.endpoints else None


def is_invalid(effect: Effect) -> bool:
    """Tell whether an effect refuses a vote request as one that makes no sense."""
    match effect:
        case Reply(answer=VoteAnswer(standing=Standing(error=ErrorCode.INVALID_REQUEST))):
            return True
        case _:
            return False


def more_in(rest: Sequence[Effect]) -> tuple[Content, ...]:
    """Return what comes with the first record of an epoch."""
    for effect in rest:
        if isinstance(effect, AppendLeaderChange) and effect.voter_set is not None:
            return PLAIN, voters_of(effect.voter_set)
    return ()
