"""The committed log, folded once, and everything that was decided on the way to it.

    decided, appended ──▶ Lives, P-12 ──▶ causes, by where they stand in the log
                                              │
    committed ──▶ units ──▶ before ─▶ after ──┴─▶ C-01 to C-16, C-18, B-01, B-06

A *unit* is what becomes visible at once: a batch, or a metadata transaction (C-05).  The log is
folded here a unit at a time, by whoever is told first, and every image is kept: a controller that
begins to decide has to know the one that it begins from (C-02).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final

from barnabas.controller.alter_partition import Altered
from barnabas.controller.state import ControllerState
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.records.opened import OpenedBatch
from barnabas.sim.profiles.control import marks
from barnabas.sim.profiles.control.acceptance import check_answer
from barnabas.sim.profiles.control.drive import ASKING, Heard
from barnabas.sim.profiles.control.lives import Lives, Term
from barnabas.sim.profiles.control.states import (
    Place,
    Situation,
    Step,
    check_b06,
    check_state,
    check_step,
    naive_index,
    partitions,
    require,
    told_index,
)
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message, Request

# Every so many appends an index is compared with the partitions that it speaks of (C-16).
INDEX_EVERY: Final = 16

REFUSALS: Final[Mapping[int, str]] = {
    ErrorCode.INELIGIBLE_REPLICA: marks.INELIGIBLE,
    ErrorCode.INVALID_UPDATE_VERSION: marks.OVERTAKEN,
    ErrorCode.FENCED_LEADER_EPOCH: marks.DEPOSED,
    ErrorCode.NEW_LEADER_ELECTED: marks.MOVED_ON,
}

NOBODY_JOINED: Final[Mapping[Place, frozenset[int]]] = {}


@value
class Cause:
    """Why something is in the log."""

    name: str
    """The process that wrote it."""
    request: Request | None
    """What it was asked; nothing where it decided by itself."""
    joined: Mapping[Place, frozenset[int]] = field(default_factory=dict)
    """Who was let into an ISR because the leader asked for it."""


UNTOLD: Final = Cause("", None)


class Ledger:
    """What is committed, and the oracles that look at it."""

    def __init__(
        self, static: Mapping[str, str], session_ms: int, mark: Callable[[str], None]
    ) -> None:
        self.image: MetadataImage = EMPTY
        self.end_offset = 0
        """Everything below it is folded."""
        self.lives: Final = Lives(session_ms, mark)
        self.terms: Final[dict[int, Term]] = {}
        """What the controller of each epoch was told."""
        self._static: Final = static
        self._mark: Final = mark
        self._images: Final[dict[int, MetadataImage]] = {0: EMPTY}
        # The beginnings that could not be compared yet, by where they are in the log.
        self._beginnings: Final[dict[int, list[tuple[str, MetadataImage]]]] = {}
        self._leaders: Final[dict[int, str]] = {}
        self._causes: Final[dict[tuple[int, int], Cause]] = {}
        self._joined: Final[dict[str, tuple[Request, Mapping[Place, frozenset[int]]]]] = {}
        self._open: list[Message] | None = None
        self._open_cause = UNTOLD
        self._topic_ids: Final[dict[Uuid, str]] = {}
        self._names: Final[dict[str, None]] = {}
        self._newest_epoch = -1
        self._fenced: Final[dict[int, int]] = {}
        self._appends = 0

    # --- what controllers do -----------------------------------------------------------------

    def term(self, controller: Heard, epoch: int) -> Term:
        """Return what the active controller of an epoch was told."""
        if epoch not in self.terms:
            self.terms[epoch] = Term(controller.now_ms())
        return self.terms[epoch]

    def decided(
        self,
        controller: Heard,
        request: Request,
        version: int,
        state: ControllerState,
        decision: Decision[Message, object],
    ) -> None:
        """Look at a decision that was asked for."""
        epoch = controller.states.epoch
        assert epoch is not None, f"{controller.name} decides and leads nothing"
        self.lives.decided(self.term(controller, epoch), request, state.image, decision)
        reply = decision.reply
        joined = NOBODY_JOINED
        if isinstance(request, AlterPartitionRequest) and isinstance(reply, Altered):
            joined = check_answer(state.image, version, request, reply.response)
            for topic in reply.response.topics:
                for told in topic.partitions:
                    if told.error_code in REFUSALS:
                        self._mark(REFUSALS[told.error_code])
            self._mark(marks.ALTERED)
            if any(joined.values()):
                self._mark(marks.JOINED)
        self._joined[controller.name] = request, joined

    def appended(
        self, controller: Heard, epoch: int, offset: int, records: Sequence[Message]
    ) -> None:
        """Look at what is about to be in the log, if it will be committed."""
        first = self._leaders.setdefault(epoch, controller.name)
        require(
            first == controller.name, f"C-01: {first} and {controller.name} both write in {epoch}"
        )
        term = self.term(controller, epoch)
        asked = ASKING.get()
        request = asked[0] if asked else None
        told = self._joined.pop(controller.name, None)
        joined = told[1] if told is not None and told[0] is request else NOBODY_JOINED
        self._causes[offset, epoch] = Cause(controller.name, request, joined)
        pending = controller.states.pending
        self.lives.appended(term, controller.now_ms(), request, pending.image, offset, records)
        self._appends += 1
        if self._appends % INDEX_EVERY == 0:
            index, naive = told_index(pending.index), naive_index(pending.image)
            require(index == naive, f"C-16: {controller.name} has index {index}, and not {naive}")

    def turned(self, controller: Heard) -> None:
        """Look at a controller that begins to decide, or stops."""
        states = controller.states
        if states.epoch is None:
            require(
                states.pending is states.committed,
                f"C-03: {controller.name} does not lead, and is at {states.pending.image.offset}",
            )
            return
        self._mark(marks.CLAIMED)
        self.term(controller, states.epoch)
        image = states.committed.image
        self._beginnings.setdefault(image.offset + 1, []).append((controller.name, image))
        self._compare(image.offset + 1)

    def replied(self, controller: Heard, end_offset: int) -> None:
        """C-04: nobody is told of what is not committed."""
        known = controller.quorum.high_watermark
        require(
            end_offset <= known, f"C-04: {controller.name} tells of {end_offset}, knows of {known}"
        )

    # --- what is committed -------------------------------------------------------------------

    def committed(self, batch: OpenedBatch) -> None:
        """Take a batch, unless somebody else has told of it before."""
        if batch.base_offset < self.end_offset:
            return
        assert batch.base_offset == self.end_offset, f"{batch} after {self.end_offset}"
        records = [decode_record(each)[0] for each in batch.values]
        # Where what became of the cluster is not committed as its controller has written it.
        for at, epoch in [key for key in self._causes if key[0] < batch.end_offset]:
            if at == batch.base_offset and epoch == batch.epoch:
                continue
            if at >= self.end_offset:
                self._mark(marks.REVERTED)
                del self._causes[at, epoch]
        cause = self._causes.pop((batch.base_offset, batch.epoch), UNTOLD)
        if records:
            leader = self._leaders.get(batch.epoch)
            require(
                cause.name == leader and cause is not UNTOLD,
                f"C-01: {records} at {batch.base_offset} in epoch {batch.epoch}, which {leader} "
                f"has never written",
            )
        base_offset, self.end_offset = batch.base_offset, batch.end_offset
        where = Provenance(batch.end_offset - 1, batch.epoch, batch.append_ms, batch_aligned=True)
        self._take(base_offset, where, records, cause)

    def restored(self, image: MetadataImage) -> None:
        """Take a snapshot of what nobody has told of."""
        if image.offset + 1 <= self.end_offset:
            return
        self._mark(marks.LOADED)
        self.image, self.end_offset, self._open = image, image.offset + 1, None
        self._images[self.end_offset] = image

    def _take(
        self, offset: int, where: Provenance, records: Sequence[Message], cause: Cause
    ) -> None:
        plain: list[Message] = []
        for at, record in enumerate(records, offset):
            self._remember(at, record)
            match record:
                case BeginTransactionRecord():
                    self._unit(where, plain, cause)
                    plain, self._open, self._open_cause = [], [], cause
                case EndTransactionRecord():
                    whole, self._open = self._open or [], None
                    self._unit(where, whole, self._open_cause)
                case AbortTransactionRecord():
                    self._open = None
                case _ if self._open is not None:
                    self._open.append(record)
                case _:
                    plain.append(record)
        if self._open is None:
            self._unit(where, plain, cause)

    def _unit(self, where: Provenance, records: Sequence[Message], cause: Cause) -> None:
        """Look at what became visible at once."""
        before = self.image
        delta = Delta(before)
        for record in records:
            delta.replay(record)
        after = self.image = delta.apply(where)
        self._images[where.end_offset] = after
        self._compare(where.end_offset)
        if all(isinstance(record, NoOpRecord) for record in records):
            return
        unclean = self._unclean(before, records, cause)
        situation = Situation(after, self._static)
        check_state(situation)
        if unclean >= 0:
            check_b06(after, unclean)
        step = Step(
            Situation(before, self._static),
            situation,
            records,
            cause.joined,
            unclean,
            isinstance(cause.request, ElectLeadersRequest) and cause.request.election_type == 1,
        )
        if before.features.metadata_version is not None:
            check_step(step)
            check_joined(step)
            check_came(step)
        self._sighted(step)

    def _unclean(self, before: MetadataImage, records: Sequence[Message], cause: Cause) -> int:
        """Return the broker that comes back and may have lost what it had (B-06)."""
        request = cause.request
        if not isinstance(request, BrokerRegistrationRequest):
            return -1
        known = before.cluster.brokers.get(request.broker_id)
        if known is not None and known.incarnation_id == request.incarnation_id:
            return -1
        if known is not None and known.epoch == request.previous_broker_epoch:
            self._mark(marks.CLEAN)
            return -1
        if len(records) > 1:
            self._mark(marks.UNCLEAN)
        return request.broker_id

    def _remember(self, at: int, record: Message) -> None:
        """B-01, C-15, C-18: what is given away once is never given away again."""
        match record:
            case RegisterBrokerRecord():
                known = self.image.cluster.brokers.get(record.broker_id)
                if known is not None and known.incarnation_id == record.incarnation_id:
                    return
                require(
                    record.broker_epoch > self._newest_epoch and record.broker_epoch == at,
                    f"B-01: {record} at {at}, after epoch {self._newest_epoch}",
                )
                self._newest_epoch = record.broker_epoch
            case TopicRecord():
                former = self._topic_ids.setdefault(record.topic_id, record.name)
                require(
                    former == record.name and record.topic_id not in self.image.topics.topics,
                    f"C-15: {record} was {former}",
                )
                if record.name in self._names:
                    self._mark(marks.RENEWED)
                self._names[record.name] = None
            case ProducerIdsRecord():
                given = self.image.producer_ids.next_producer_id
                require(
                    record.next_producer_id > given,
                    f"C-18: {record} after {given} was the next",
                )
                self._mark(marks.PRODUCING)
            case UnregisterBrokerRecord():
                self._mark(marks.UNREGISTERED)
            case FeatureLevelRecord() if self.image.features.metadata_version is not None:
                self._mark(marks.RAISED)
            case _:
                pass

    def _compare(self, end_offset: int) -> None:
        """C-02: a controller begins from what is committed."""
        if end_offset not in self._images:
            return
        ours = self._images[end_offset]
        for name, theirs in self._beginnings.pop(end_offset, ()):
            require(
                contents(theirs) == contents(ours),
                f"C-02: {name} begins at {end_offset} from something else than the log says",
            )

    def _sighted(self, step: Step) -> None:
        """Mark what came about."""
        before, after = step.before.image, step.after.image
        for broker in after.cluster.brokers.values():
            known = before.cluster.brokers.get(broker.id)
            if known is None or known.epoch != broker.epoch or known.fenced == broker.fenced:
                continue
            if broker.fenced:
                self._fenced[broker.id] = broker.epoch
            elif self._fenced.get(broker.id) == broker.epoch:
                self._mark(marks.UNFENCED_AGAIN)
        for topic, number, now in partitions(after):
            then = before.topics.partition(topic.id, number)
            if then is not None and then != now:
                for mark in sighted(then, now):
                    self._mark(mark)


def sighted(then: PartitionRegistration, now: PartitionRegistration) -> Sequence[str]:
    """Return the marks of a partition that has changed."""
    found = []
    if now.leader < 0:
        found.append(marks.LEADERLESS)
    elif now.leader != then.leader:
        if now.leader in then.elr:
            found.append(marks.ELR_ELECTED)
        elif now.leader in then.last_known_elr:
            found.append(marks.LAST_ELECTED)
        elif now.leader not in then.isr and now.leader_recovery_state:
            found.append(marks.UNCLEANLY)
    moving = then.adding_replicas or then.removing_replicas
    if moving and not now.adding_replicas and not now.removing_replicas:
        back = set(then.replicas) - set(then.adding_replicas) == set(now.replicas)
        found.append(marks.CANCELLED if back and then.adding_replicas else marks.REASSIGNED)
    if now.directories != then.directories and now.replicas == then.replicas:
        found.append(marks.ASSIGNED)
    return found


def check_joined(step: Step) -> None:
    """C-11, B-06: nobody is in sync all at once who did not ask for it by its leader, or leads."""
    for topic, number, after in partitions(step.after.image):
        before = step.before.image.topics.partition(topic.id, number)
        if before is None or before.isr == after.isr:
            continue
        came = set(after.isr) - set(before.isr) - step.joined.get((topic.id, number), frozenset())
        if not step.after.elr and after.leader < 0:
            # Where the ELR is in force no more, the ISR has to remember who has everything.
            came -= set(before.elr)
        require(
            came <= {after.leader} and (not came or before.leader != after.leader),
            f"C-11: {sorted(came)} in sync all at once, {topic.name}-{number}: {before} "
            f"became {after}",
        )


def check_came(step: Step) -> None:
    """CL-1, PL-7: who is let in leads at once what nobody leads and it may lead."""
    before, after = step.before.image.cluster.brokers, step.after.image.cluster.brokers
    came = [
        broker.id
        for broker in after.values()
        if not broker.fenced and broker.id in before and before[broker.id].fenced
    ]
    for topic, number, partition in partitions(step.after.image) if came else ():
        complete = partition.isr or partition.elr
        able = [each for each in came if each in complete and step.after.may_lead(each, partition)]
        require(
            partition.leader >= 0 or not able,
            f"CL-1: {able} let in, and nobody leads {topic.name}-{number}: {partition}",
        )


def contents(image: MetadataImage) -> Sequence[object]:
    """Return all of an image but where it ends."""
    return [
        image.features,
        image.cluster,
        image.topics,
        image.configs,
        image.client_quotas,
        image.producer_ids,
        image.acls,
        image.scram,
        image.delegation_tokens,
    ]
