"""Is what the quorum did something that the specification allows?  Step by step.

    RaftNode:  before ──── event ────▶ effects, after
                 ‖                         │ each effect that means something is one action
    port:      node ─ action ─ action ─ action ─▶ node, which must be as *after* is

The validator keeps a replica of the specification beside each one of the product and takes it
through the same actions.  What the product chose (to vote, to commit up to here, to run) is read
from its effects, in their order; whether it *may* is the port's to say, and the port's replica
goes on with its own log, votes and questions, not with the product's.  The first action that is
blocked, and the first thing that looks otherwise, is a ``Violation`` named ``TV-raft-<action>``
with the guard as its place and both states in its story.

How steps fold:

- n records in one append or one answer are n entries; a flush is the step at which an end counts.
- A question that is asked again, an answer that nobody waits for, a timer without consequence: the
  port stutters.
- ``PersistElection`` is when epoch and vote are on the disk.  Whatever is said or appended comes
  after it in the list, or the guard ``PERSISTS`` blocks.
- A process that dies has performed some beginning of its last list: any of the states in between
  may be what its disk shows.
- Records get their content from a ledger of what the leader of each epoch has appended, so that
  a follower cannot have something else under the same offset and epoch.

Who runs the simulation calls ``step`` for every event of every replica, and ``started``,
``restarted`` and ``wiped`` as lives begin.  Nothing here looks at the world.
"""

from collections.abc import Callable, Mapping, Sequence
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
    Answered,
    AppendAsked,
    Asked,
    Event,
    Flushed,
    LogCleaned,
    SnapshotInstalled,
    SnapshotTaken,
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
    replica_of,
    state_of,
    vote_request,
    voters_of,
)
from barnabas.sim.specs.raft import elections, replication
from barnabas.sim.specs.raft import node as spec
from barnabas.sim.specs.raft.guards import Blocked, Guard
from barnabas.sim.specs.raft.log import PLAIN, Content, Key, Log, Run
from barnabas.sim.specs.raft.node import Node, Role, Step
from barnabas.sim.world import Violation


# The answers that tell of epochs and leaders; what shows that a leader lives that sends a snapshot.
Told: TypeAlias = VoteAnswer | EpochAnswer | FetchAnswer | SnapshotAnswer
LIVES: Final = (
    ErrorCode.NONE,
    ErrorCode.SNAPSHOT_NOT_FOUND,
    ErrorCode.POSITION_OUT_OF_RANGE,
)


@dataclass(slots=True)
class Replica:
    """One replica of the port, and what belongs to it outside of the specification."""

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


class RaftValidator:
    """Takes the port through what the product does."""

    def __init__(self, initial: Mapping[str, Facts]) -> None:
        self.actions: Final[dict[str, int]] = {}
        """How often each action was taken."""
        self._replicas: Final[dict[str, Replica]] = {}
        # What the leader of each epoch has appended.
        self._ledger: Final[dict[int, Log]] = {}
        for name, facts in initial.items():
            self.started(name, facts)

    def replica(self, name: str) -> Node:
        """Return a replica as the port has it."""
        return self._replicas[name].node

    # --- lives -----------------------------------------------------------------------------------

    def started(self, name: str, facts: Facts) -> None:
        """Learn of a replica that was not there before."""
        node = replica_of(facts)
        self._replicas[name] = Replica(node, node.election)
        for first, run in node.log.pieces():
            known = self._ledger.setdefault(run.epoch, Log(first))
            if run.end > known.end:
                self._ledger[run.epoch] = known.append(run.epoch, PLAIN, run.end - known.end)

    def wiped(self, name: str, facts: Facts) -> None:
        """Learn that a replica has come back with an empty disk, as somebody else."""
        self.started(name, facts)

    def restarted(self, name: str, facts: Facts) -> Violation | None:
        """Learn that a replica has come back with what was on its disk."""
        left = self._replicas[name]
        stages = [*left.stages, (left.node, left.written)]
        why = ""
        for node, written in reversed(stages):
            woken = self._woken(replace(node, saved=written), facts, left.installing)
            if isinstance(woken, Blocked):
                why = why or f"{woken} ({woken.guard.name})"
            elif (difference := differing(woken, facts)) is not None:
                why = why or difference
            else:
                self._replicas[name] = Replica(woken, written)
                self._count("restart")
                return None
        story = f"{name} came back as {facts}, was {left.node}: {why}"
        return Violation("TV-raft-restart", story, name)

    def _woken(self, node: Node, facts: Facts, installing: SnapshotId | None) -> Node | Blocked:
        """Return the replica that comes back from a disk, with what it did there unseen."""
        if installing is not None and facts.start == installing.end_offset > node.log.start:
            snapshot = spec.Snapshot(installing.end_offset, installing.epoch, facts.voters)
            installed = replication.install(node, snapshot)
            if isinstance(installed, Blocked):
                return installed
            node = installed.node
        known = {each.end for each in node.snapshots}
        for end, epoch in facts.snapshots:
            if end not in known:
                taken = replication.take_snapshot(node, end, epoch)
                if isinstance(taken, Blocked):
                    return taken
                node = taken.node
        if facts.start > node.log.start:
            cleaned = replication.clean(node, facts.start)
            if isinstance(cleaned, Blocked):
                return cleaned
            node = cleaned.node
        step = elections.restart(node, facts.end, facts.role, facts.flushed)
        return step if isinstance(step, Blocked) else step.node

    # --- steps -----------------------------------------------------------------------------------

    def step(
        self,
        name: str,
        before: Facts,
        event: Event,
        effects: Sequence[Effect],
        after: Facts,
    ) -> Violation | None:
        """Take the port through one event of the product; tell what is not as it should be."""
        replica = self._replicas[name]
        replica.stages = [(replica.node, replica.written)]
        walk = Walk(name, replica, self._ledger, self._count)
        try:
            walk.agrees(before, "state")
            walk.take(event, effects)
            walk.agrees(after, walk.last)
        except Violation as violation:
            return violation
        return None

    def _count(self, action: str) -> None:
        self.actions[action] = self.actions.get(action, 0) + 1


class Walk:
    """One event of one replica."""

    def __init__(
        self,
        name: str,
        replica: Replica,
        ledger: dict[int, Log],
        note: Callable[[str], None],
    ) -> None:
        self.last = "stutter"
        self._name: Final = name
        self._replica: Final = replica
        self._ledger: Final = ledger
        self._note: Final = note
        self._event: Event | None = None
        self._effects: Sequence[Effect] = ()
        # What the event says: who leads which epoch, a vote that is asked for, that somebody does
        # not know pre-votes, how many records.
        self._told: tuple[int, int | None] | None = None
        self._vote: spec.VoteRequest | None = None
        self._knows_pre_votes = True
        self._records = 0

    @property
    def _node(self) -> Node:
        return self._replica.node

    def agrees(self, facts: Facts, action: str) -> None:
        """Compare the product's replica with the port's."""
        difference = differing(self._node, facts)
        if difference is not None:
            raise self._wrong(action, difference, "state")

    def _wrong(self, action: str, why: str, place: str) -> Violation:
        story = f"{self._name} at {self._event}: {why}; the port has {self._node}"
        return Violation(f"TV-raft-{action}", story, place)

    def _do(self, action: str, step: Step | Blocked) -> spec.Message | None:
        """Take an action of the port, which must be enabled; return what it says."""
        self.last = action
        if isinstance(step, Blocked):
            raise self._wrong(action, str(step), step.guard.name)
        self._note(action)
        before = self._replica.node
        self._replica.node = step.node
        if (before.role, before.epoch) != (step.node.role, step.node.epoch):
            self._replica.asked.clear()
        if step.node.role is Role.LEADER:
            start = step.node.epoch_start
            runs = tuple(run for _, run in step.node.log.pieces(start))
            self._ledger[step.node.epoch] = Log(start, runs=runs)
        return step.said

    def _require(self, action: str, guard: Guard, holds: bool, why: str) -> None:
        if not holds:
            raise self._wrong(action, f"{why}; it must be that {guard.value}", guard.name)

    # --- the event -------------------------------------------------------------------------------

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

    def _stage(self) -> None:
        self._replica.stages.append((self._node, self._replica.written))

    def _begin(self, event: Event) -> Standing | None:
        """Take what the event itself is; return the news it brings of other epochs, if any."""
        node = self._node
        match event:
            case Asked(token, question):
                return self._asked(token, question)
            case Answered(request, answer):
                return self._answered(request, answer)
            case Unanswered(request):
                self._replica.asked.pop(request, None)
                self._replica.node = forgotten(node, request)
            case AppendAsked(records):
                self._records = records
            case Flushed(cuts, end) if cuts == self._replica.cuts:
                self._do("flush", replication.flush(node, end))
            case SnapshotTaken(snapshot) if snapshot.end_offset > node.log.start:
                end, epoch = snapshot.end_offset, snapshot.epoch
                self._do("take_snapshot", replication.take_snapshot(node, end, epoch))
            case SnapshotInstalled(snapshot, voters):
                keys = frozenset[Key]() if voters is None else voters_of(voters)
                known = keys or node.log.start_voters
                installed = spec.Snapshot(snapshot.end_offset, snapshot.epoch, known)
                self._do("install", replication.install(node, installed))
                self._replica.installing = None
                self._replica.cuts += 1
            case LogCleaned(first):
                self._do("clean", replication.clean(node, first.end_offset))
            case _:
                pass
        return None

    def _asked(self, token: int, question: Question) -> Standing | None:
        self._replica.waiting[token] = question
        match question:
            case Vote():
                self._vote = vote_request(question)
                self._told = question.epoch, None
                if not any(is_invalid(effect) for effect in self._effects):
                    return Standing(ErrorCode.NONE, question.epoch, None, ())
            case BeginQuorumEpoch(leader_id, epoch) | EndQuorumEpoch(leader_id, epoch):
                self._told = epoch, leader_id
            case Fetch():
                accepted = replication.accept(self._node, fetch_request(question))
                if isinstance(accepted, Step):
                    self._do("accept_fetch", accepted)
            case _:
                pass
        return None

    def _answered(self, request: int, answer: Answer) -> Standing | None:
        question = self._replica.asked.pop(request, None)
        if question is None or not isinstance(answer, Told):
            return None
        standing = answer.standing
        self._told = standing.epoch, standing.leader_id
        match question, answer:
            case Vote(), VoteAnswer(granted=granted):
                if standing.error is ErrorCode.UNSUPPORTED_VERSION:
                    self._knows_pre_votes = False
                    return None
                if standing.error is ErrorCode.NONE:
                    asked = spec.Asked(request, vote_request(question))
                    said = spec.VoteAnswer(vote_request(question), standing.epoch, granted)
                    self._maybe("count_vote", elections.count(self._node, asked, said))
            case Fetch(), FetchAnswer() if standing.error is ErrorCode.NONE:
                self._heard(request, question, answer)
            case FetchSnapshot(), SnapshotAnswer() if standing.error in LIVES:
                if standing.error or self._does(StorePart):
                    self._maybe("hear_part", replication.hear_part(self._node, standing.epoch))
            case _:
                pass
        self._replica.node = forgotten(self._node, request)
        return standing

    def _maybe(self, action: str, step: Step | Blocked) -> bool:
        """Take an action if it is enabled; tell whether it was."""
        if isinstance(step, Blocked):
            return False
        self._do(action, step)
        return True

    def _does(self, kind: type[Effect]) -> bool:
        """Tell whether the product does something about this event."""
        return any(isinstance(effect, kind) for effect in self._effects)

    def _heard(self, request: int, fetch: Fetch, answer: FetchAnswer) -> None:
        """Take what the leader answers to a fetch, if it is the leader and still concerns us."""
        question = fetch_request(fetch)
        asked = spec.Asked(request, question)
        match answer.content:
            case Diverges(at, end) if self._does(Truncate):
                content: spec.Records | spec.Diverging = spec.Diverging(at, end)
            case Batches() as batches if self._does(AppendFetched):
                content = spec.Records(self._issued(batches))
            case Batches(data=b""):
                content = spec.Records(())
            case NeedsSnapshot() if self._does(OpenSnapshot):
                self._do("hear_part", replication.hear_part(self._node, answer.standing.epoch))
                return
            case _:
                # It makes no sense to the product, which asks again.
                return
        said = spec.FetchAnswer(question, answer.standing.epoch, answer.high_watermark, content)
        if self._does(AppendFetched) or self._does(Truncate):
            self._do("hear_leader", replication.hear_leader(self._node, asked, said))
        elif not self._maybe("hear_leader", replication.hear_leader(self._node, asked, said)):
            return
        if isinstance(content, spec.Diverging):
            self._do("cut", replication.cut(self._node, said))
            self._replica.cuts += 1
        else:
            self._do("take", replication.take(self._node, said))

    def _issued(self, batches: Batches) -> tuple[Run, ...]:
        """Return the records of an answer as their leaders appended them."""
        at, runs = self._node.log.end, list[Run]()
        for epoch, end in batches.epochs:
            known = self._ledger.get(epoch, Log(at))
            pieces = [run for first, run in known.pieces(at, end)]
            whole = known.start <= at and bool(pieces) and pieces[-1].end == end
            self._issued_is(whole, f"records {at} to {end} of epoch {epoch} are sent")
            runs += pieces
            at = end
        said = {offset: voters_of(voters) for offset, voters in batches.voters}
        due = {run.end - 1: run.content for run in runs if isinstance(run.content, frozenset)}
        self._issued_is(said == due, f"voters {said} are sent, not {due}")
        return tuple(runs)

    def _issued_is(self, holds: bool, why: str) -> None:
        self._require("take", Guard.AS_ISSUED, holds, why)

    # --- its effects -----------------------------------------------------------------------------

    def _perform(self, effect: Effect, rest: Sequence[Effect]) -> None:
        match effect:
            case PersistElection(election):
                self._replica.written = election_of(election)
            case Became(state):
                self._become(state, rest)
            case AppendLeaderChange() | AppendVoters() | AppendRecords() | AppendFetched():
                self._appended(effect)
            case Truncate(end):
                cut_there = self._node.log.end == end
                self._require("cut", Guard.CUTS_WHERE_TOLD, cut_there, f"the log is cut at {end}")
            case HighWatermark(end):
                if self._node.role is Role.LEADER:
                    self._do("commit", replication.commit(self._node, end))
                elif self._node.hwm != end:
                    raise self._wrong("take", f"{end} is taken for committed", "HWM_WITHIN")
            case InstallSnapshot(snapshot):
                self._replica.installing = snapshot
            case Ask(request, _, question):
                self._ask(request, question)
            case Reply(token, answer):
                self._reply(token, answer)
            case _:
                return

    def _appended(
        self, effect: AppendLeaderChange | AppendVoters | AppendRecords | AppendFetched
    ) -> None:
        node = self._node
        match effect:
            case AppendFetched(end_offset=end):
                if end != node.log.end:
                    raise self._wrong("take", f"appended up to {end}", "AS_ISSUED")
                return
            case AppendLeaderChange(base, epoch):
                action, due = "lead", node.epoch_start
            case AppendVoters(base, epoch, voters):
                action, due = "change_voters", node.log.end
                self._do(action, replication.change_voters(node, voters_of(voters)))
            case AppendRecords(base, epoch):
                action, due = "append", node.log.end
                self._do(action, replication.append(node, count=self._records))
        if (base, epoch) != (due, node.epoch):
            raise self._wrong(action, f"appended at {base} in epoch {epoch}, not {due}", "LEADS")
        self._persisted(action)

    def _persisted(self, action: str) -> None:
        """Require that epoch and vote are on the disk before something is said or appended."""
        written, due = self._replica.written, self._node.election
        why = f"{written} is persisted, not {due}"
        self._require(action, Guard.PERSISTS, written == due, why)

    def _become(self, state: State, rest: Sequence[Effect]) -> None:
        """Take the action that leads to a role."""
        due = state_of(state, self._node.key.id)
        if due != standing_of(self._node):
            self._turn(due[0], due[1], due[2], due[3], rest)
        if due != standing_of(self._node):
            why = f"it has become {state}, not {standing_of(self._node)}"
            raise self._wrong(self.last, why, "state")

    def _turn(
        self,
        role: Role,
        epoch: int,
        leader: int | None,
        voted: Key | None,
        rest: Sequence[Effect],
    ) -> None:
        node = self._node
        vote = self._vote
        votes = voted != node.voted and (role, epoch) == (node.role, node.epoch)
        match role:
            case Role.UNATTACHED | Role.PROSPECTIVE if votes and vote is not None:
                self._do("grant", elections.grant(node, vote))
            case Role.PROSPECTIVE:
                self._do("stand", elections.stand(node))
            case Role.CANDIDATE:
                self._do("win_pre_vote", elections.win_pre_vote(node, is_known=self._knows_pre_votes))
            case Role.LEADER:
                self._do("lead", elections.lead(node, more_in(rest)))
            case Role.RESIGNED:
                self._do("resign", elections.resign(node))
            case Role.FOLLOWER if self._told == (epoch, leader) and leader is not None:
                self._do("follow", elections.follow(node, leader, epoch))
            case Role.FOLLOWER | Role.UNATTACHED if epoch == node.epoch:
                self._do("lose_pre_vote", elections.lose_pre_vote(node, role is Role.FOLLOWER))
            case Role.UNATTACHED if node.role is Role.RESIGNED and self._told is None:
                self._do("give_up", elections.give_up(node))
            case _:
                heard = self._told in ((epoch, leader), (epoch - 1, node.key.id))
                why = f"{role} of {leader} in epoch {epoch}, told {self._told}"
                self._require("detach", Guard.IS_TOLD, heard, why)
                self._do("detach", elections.detach(node, epoch, leader))

    # --- what it says ----------------------------------------------------------------------------

    def _ask(self, request: int, question: Question) -> None:
        node = self._node
        self._replica.asked[request] = question
        match question:
            case Vote(voter=voter):
                due = self._do("ask_vote", elections.ask_vote(node, key_of(voter), request))
                self._says("ask_vote", vote_request(question), due)
            case Fetch(high_watermark=hwm):
                due = self._do("ask_fetch", replication.ask_fetch(node, request))
                self._says("ask_fetch", fetch_request(question), due)
                self._says("ask_fetch", hwm, node.hwm)
            case BeginQuorumEpoch(leader_id, epoch):
                self._says("begin", (Role.LEADER, epoch, leader_id), standing_of(node)[:3])
            case EndQuorumEpoch(leader_id, epoch):
                self._says("end", (Role.RESIGNED, epoch, leader_id), standing_of(node)[:3])
            case FetchSnapshot(replica, epoch):
                due_of = (Role.FOLLOWER, node.epoch, node.key)
                self._says("fetch_snapshot", (node.role, epoch, key_of(replica)), due_of)
            case _:
                return
        self._persisted("ask")

    def _says(self, action: str, said: object, due: object) -> None:
        if said != due:
            raise self._wrong(action, f"it says {said}, not {due}", "said")

    def _reply(self, token: int, answer: Answer) -> None:
        question = self._replica.waiting.pop(token, None)
        if not isinstance(answer, Told):
            return
        said = answer.standing.epoch, answer.standing.leader_id
        self._says("reply", said, (self._node.epoch, self._node.leader))
        self._persisted("reply")
        match question, answer:
            case Vote(), VoteAnswer(granted=granted):
                self._voted(vote_request(question), granted, answer.standing.error)
            case Fetch(), FetchAnswer():
                self._served(fetch_request(question), answer)
            case FetchSnapshot(epoch=epoch), SnapshotAnswer() if not answer.standing.error:
                leads = self._node.role is Role.LEADER and epoch == self._node.epoch
                self._require("send_snapshot", Guard.LEADS, leads, f"sends {answer.snapshot}")
            case _:
                return

    def _voted(self, vote: spec.VoteRequest, granted: bool, error: ErrorCode) -> None:
        if granted:
            self._do("grant", elections.grant(self._node, vote))
        elif error is not ErrorCode.INVALID_REQUEST:
            self._do("refuse", elections.refuse(self._node, vote))

    def _served(self, fetch: spec.FetchRequest, answer: FetchAnswer) -> None:
        node, error = self._node, answer.standing.error
        if error is ErrorCode.INVALID_REQUEST:
            return
        if error is not ErrorCode.NONE:
            self._do("refuse_fetch", replication.refuse_fetch(node, fetch))
            return
        match answer.content:
            case Diverges(epoch, end):
                action = "send_diverging"
                due = self._do(action, replication.send_diverging(node, fetch))
                content: object = spec.Diverging(epoch, end)
            case NeedsSnapshot(snapshot):
                action = "send_snapshot"
                due = self._do(action, replication.send_snapshot(node, fetch))
                latest = node.latest
                known = latest is not None and (latest.end, latest.epoch)
                self._says(action, (snapshot.end_offset, snapshot.epoch), known)
                content = latest
            case Lent(offset, end):
                action = "send_records"
                due = self._do(action, replication.send_records(node, fetch, end))
                self._says(action, offset, fetch.offset)
                runs = tuple(run for _, run in node.log.pieces(offset, end))
                content = spec.Records(runs)
            case Batches():
                raise AssertionError("a replica that answers lends its records")
        said = spec.FetchAnswer(fetch, answer.standing.epoch, answer.high_watermark, content)  # type: ignore[arg-type]
        self._says(action, said, due)


def differing(node: Node, facts: Facts) -> str | None:
    """Return in what the product's replica is not as the port's, if in anything."""
    due = facts_due(node)
    if due == facts:
        return None
    named = ((each.name, getattr(facts, each.name), getattr(due, each.name)) for each in fields(due))
    return ", ".join(f"{name} is {is_} not {was}" for name, is_, was in named if is_ != was)


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
        if isinstance(effect, AppendLeaderChange):
            if effect.version is None or effect.voter_set is None:
                return ()
            return PLAIN, voters_of(effect.voter_set)
    return ()
