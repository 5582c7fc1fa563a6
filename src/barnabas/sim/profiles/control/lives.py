"""What brokers may be told and what may be done to them: B-01 to B-04, B-11, B-12.

Judged when a controller decides and appends, before anybody knows whether that will be committed:
what is decided must be right either way.  When a broker was last heard of is kept here anew, by the
clock of the controller that heard it, from the moment at which a heartbeat arrives (KAFKA-15441).
"""

from collections.abc import Callable, Sequence
from typing import Final

from barnabas.controller.brokers import Answered
from barnabas.controller.heartbeats import Life
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.image import MetadataImage
from barnabas.model.errors import ErrorCode, Refused
from barnabas.sim.profiles.control import marks
from barnabas.sim.profiles.control.states import partitions, require
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.structs import Message, Request

OF_A_LIFE: Final = (
    BrokerHeartbeatRequest,
    AlterPartitionRequest,
    AssignReplicasToDirsRequest,
    AllocateProducerIdsRequest,
)
"""What a broker asks under its epoch."""


class Term:
    """What the active controller of one epoch was told by brokers."""

    def __init__(self, claimed_ms: int) -> None:
        self.claimed_ms: Final = claimed_ms
        self.heard_ms: Final[dict[Life, int]] = {}
        self.offsets: Final[dict[Life, int]] = {}

    def hear(self, broker: int, epoch: int, now_ms: int) -> None:
        """Note that a heartbeat has arrived."""
        self.heard_ms[Life(broker, epoch)] = now_ms

    def silent_ms(self, life: Life, now_ms: int) -> int:
        """Return for how long nothing was heard of a broker, at most since the claim."""
        return now_ms - max(self.claimed_ms, self.heard_ms.get(life, self.claimed_ms))


class Lives:
    """The oracles of registrations, heartbeats and fencing."""

    def __init__(self, session_ms: int, mark: Callable[[str], None]) -> None:
        self.begun: Final[dict[Life, int]] = {}
        """Where in the log brokers that stop began to, the last time that somebody wrote that."""
        self._session_ms: Final = session_ms
        self._mark: Final = mark

    # --- what is answered --------------------------------------------------------------------

    def decided(
        self,
        term: Term,
        request: Request,
        image: MetadataImage,
        decision: Decision[Message, object],
    ) -> None:
        """Look at what a controller decides because a broker asked."""
        reply = decision.reply
        if isinstance(request, BrokerRegistrationRequest):
            duplicate = ErrorCode.DUPLICATE_BROKER_REGISTRATION
            if isinstance(reply, Refused) and reply.code is duplicate:
                self._mark(marks.DUPLICATE)
        elif isinstance(request, OF_A_LIFE):
            known = image.cluster.brokers.get(request.broker_id)
            if known is None or known.epoch != request.broker_epoch:
                self._stale(request, known, decision)
            elif isinstance(request, BrokerHeartbeatRequest):
                self._answered(term, request, known, image, reply)

    def _stale(
        self,
        request: Request,
        known: BrokerRegistration | None,
        decision: Decision[Message, object],
    ) -> None:
        """B-03: who is not the life that is registered changes nothing, and is told so."""
        self._mark(marks.STALE)
        reply = decision.reply
        code = getattr(reply, "code", None)
        if isinstance(reply, AllocateProducerIdsResponse):
            code = ErrorCode(reply.error_code)
        told = f"{type(request).__name__} of a life that is over, {known} is registered"
        require(not decision.records, f"B-03: {decision.records} because of a {told}")
        stale = code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)
        require(stale, f"B-03: {reply} to a {told}")

    def _answered(
        self,
        term: Term,
        request: BrokerHeartbeatRequest,
        known: BrokerRegistration,
        image: MetadataImage,
        reply: object,
    ) -> None:
        """B-12: who may stop leads nothing, and all who are active know it by now."""
        assert isinstance(reply, Answered), f"{reply} to a heartbeat of {known}"
        life = Life(known.id, known.epoch)
        if reply.response.should_shut_down and not known.fenced:
            led = [
                f"{topic.name}-{number}"
                for topic, number, partition in partitions(image)
                if partition.leader == known.id
            ]
            bare = set(known.directories) <= set(request.offline_log_dirs)
            require(not led or bare, f"B-12: {known} may stop, and leads {led}")
            if known.in_controlled_shutdown:
                self._mark(marks.STOPPED)
                self._all_know(term, known, image)
        if request.want_shut_down and known.fenced:
            require(reply.response.should_shut_down, f"B-12: {known} is fenced and may not stop")
        term.offsets[life] = request.current_metadata_offset

    def _all_know(self, term: Term, stopping: BrokerRegistration, image: MetadataImage) -> None:
        for other in image.cluster.brokers.values():
            active = not other.fenced and not other.in_controlled_shutdown
            if active and other.id != stopping.id:
                read = term.offsets.get(Life(other.id, other.epoch), -1)
                begun = self.begun.get(Life(stopping.id, stopping.epoch), -1)
                require(
                    read >= begun,
                    f"B-12: {stopping} may stop, whose leaderships went at {begun}, and {other} "
                    f"has read to {read}",
                )

    # --- what is appended --------------------------------------------------------------------

    def appended(
        self,
        term: Term,
        now_ms: int,
        request: Request | None,
        image: MetadataImage,
        offset: int,
        records: Sequence[Message],
    ) -> None:
        """Look at what a controller appends, of which its image says nothing yet."""
        for at, record in enumerate(records, offset):
            if isinstance(record, RegisterBrokerRecord):
                self._registered(term, now_ms, image, at, record)
            elif isinstance(record, BrokerRegistrationChangeRecord):
                known = image.cluster.brokers.get(record.broker_id)
                require(
                    known is not None and known.epoch == record.broker_epoch,
                    f"B-03: {record} changes a life that is not registered, {known} is",
                )
                assert known is not None
                if record.in_controlled_shutdown:
                    self._mark(marks.STOPPING)
                    self.begun[Life(known.id, known.epoch)] = at
                if record.fenced > 0:
                    self._fenced(term, now_ms, request, known)
                elif record.fenced < 0:
                    self._unfenced(request, known)

    def _registered(
        self, term: Term, now_ms: int, image: MetadataImage, at: int, record: RegisterBrokerRecord
    ) -> None:
        """B-01, B-02, B-04: one life, one epoch; another one only when this is over, and fenced."""
        known = image.cluster.brokers.get(record.broker_id)
        if known is not None and known.incarnation_id == record.incarnation_id:
            self._mark(marks.RETRIED)
            before = known.epoch, known.fenced, known.in_controlled_shutdown
            after = record.broker_epoch, record.fenced, record.in_controlled_shutdown
            require(before == after, f"B-01: {known} registers again and becomes {record}")
            return
        require(record.broker_epoch == at, f"B-01: {record} stands at {at}")
        require(record.fenced, f"B-04: {record} does not begin fenced")
        require(not record.in_controlled_shutdown, f"B-04: {record} begins with its end")
        if known is None:
            return
        self._mark(marks.BOUNCED)
        silent_ms = term.silent_ms(Life(known.id, known.epoch), now_ms)
        require(
            known.fenced or silent_ms > self._session_ms,
            f"B-02: {record} replaces {known}, which was heard of {silent_ms} ms ago",
        )

    def _fenced(
        self, term: Term, now_ms: int, request: Request | None, known: BrokerRegistration
    ) -> None:
        """B-11: a broker is fenced when it asks for it, or its session is over."""
        if isinstance(request, BrokerHeartbeatRequest):
            bare = set(known.directories) <= set(request.offline_log_dirs)
            asked = request.want_fence or request.want_shut_down or bare
            # It has asked to stop before, and gets what it asked for.
            asked = asked or known.in_controlled_shutdown
            require(asked, f"B-11: {known} is fenced by {request}, which does not ask for it")
            return
        silent_ms = term.silent_ms(Life(known.id, known.epoch), now_ms)
        require(
            request is None and silent_ms > self._session_ms,
            f"B-11: {known} is fenced, and was heard of {silent_ms} ms ago",
        )
        self._mark(marks.CUT_SHORT if known.in_controlled_shutdown else marks.FENCED)

    def _unfenced(self, request: Request | None, known: BrokerRegistration) -> None:
        """B-04: a broker is let in by a heartbeat of its own that wants it, and has caught up."""
        asked = (
            isinstance(request, BrokerHeartbeatRequest)
            and request.broker_epoch == known.epoch
            and not request.want_fence
            and request.current_metadata_offset >= known.epoch
        )
        require(asked, f"B-04: {known} is unfenced by {request}")
