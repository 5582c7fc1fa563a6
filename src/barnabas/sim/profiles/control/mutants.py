"""The planted bugs of the ``control`` profile: what a controller could get wrong about brokers.

Those called MC stand in the project's catalogue, with the place where it really happened; those
called MB show that an oracle which none of them needs is awake, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeVar  # Any: what is patched has any arguments

import barnabas.controller.alter_partition as altering
import barnabas.controller.apis.allocate_producer_ids as giving
import barnabas.controller.apis.broker_heartbeat as beating
import barnabas.controller.apis.broker_registration as registering
import barnabas.controller.brokers as lives
from barnabas.controller.elections import RulesInForce, left
from barnabas.controller.heartbeats import Heartbeat, Life, Sessions
from barnabas.controller.index import PartitionIndex
from barnabas.controller.partitions import Draft, Election, without
from barnabas.controller.shell import Whole
from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.topics import Ids, PartitionRegistration, TopicsDelta
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.sim.profile import Mutant
from barnabas.sim.profiles.planting import Bed, Patch
from barnabas.statelog.decision import Decision
from barnabas.statelog.shell import Decided, StateLog
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message, Struct

# How many seeds each class of mutants may survive.
A: Final = 20
B: Final = 200

StructT = TypeVar("StructT", bound=Struct | Message)


def changed(struct: StructT, **facts: object) -> StructT:
    """Return a copy of a message with other facts in it."""
    made = copy(struct)
    for name, fact in facts.items():
        setattr(made, name, fact)
    return made


def fence_first(self: Whole, epoch: int, values: Sequence[bytes]) -> int:
    """MC-01: what becomes of a broker is written by itself, and then what follows from it."""
    append = BED.product(Whole, "append")
    if len(values) > 1 and isinstance(decode_record(values[-1])[0], BrokerRegistrationChangeRecord):
        append(self, epoch, values[-1:])
        values = values[:-1]
    end_offset: int = append(self, epoch, values)
    return end_offset


def judge_any_epoch(
    at: str,
    sender: int,
    partition: PartitionRegistration | None,
    told: AlterPartitionRequest.PartitionData,
    isr: Sequence[int],
) -> None:
    """MC-02: a proposal may be made in any partition epoch."""
    if partition is not None:
        told = changed(told, partition_epoch=partition.partition_epoch)
    BED.product(altering, "judge")(at, sender, partition, told, isr)


def eligible_in_any_life(
    known: BrokerRegistration | None, place: Uuid, epoch: int, may_be_unknown: bool
) -> str | None:
    """MC-03: nobody looks at which life of a replica keeps up."""
    same = epoch if known is None else known.epoch
    why: str | None = BED.product(altering, "ineligible")(known, place, same, may_be_unknown)
    return why


def eligible_while_dying(
    known: BrokerRegistration | None, _: Uuid, epoch: int, __: bool
) -> str | None:
    """MC-04: who is fenced, or about to stop, may be in sync."""
    if known is None or epoch not in (-1, known.epoch):
        return "it is another"
    return None


def fence_who_is_ahead(
    at: str,
    sender: int,
    partition: PartitionRegistration | None,
    told: AlterPartitionRequest.PartitionData,
    isr: Sequence[int],
) -> None:
    """MC-05: a controller of the past takes a leader of the present for one of the past."""
    try:
        BED.product(altering, "judge")(at, sender, partition, told, isr)
    except Refused as refused:
        if refused.code is ErrorCode.NOT_CONTROLLER:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, refused.why) from refused
        raise


def elect_nobody(*_: object) -> Iterator[Message]:
    """MC-06: nobody is elected because a broker is let in."""
    return iter(())


def elect_the_dead(self: Draft, election: Election) -> int:
    """MC-07: who led last leads again, alive or not."""
    last = self.partition.last_known_elr
    if not self.isr and not self.elr and len(last) == 1 and last[0] in self.replicas:
        return last[0]
    leader: int = BED.product(Draft, "_unclean_leader")(self, election)
    return leader


def register_anew(
    state: ControllerState,
    next_offset: int,
    **told: Any,  # noqa: ANN401 -- handed on
) -> Decision[Message, Any]:
    """MC-11: the same life gets another epoch each time that it registers."""
    decision = BED.product(registering, "register")(state, next_offset, **told)
    records = tuple(
        changed(record, broker_epoch=next_offset + at)
        if isinstance(record, RegisterBrokerRecord)
        else record
        for at, record in enumerate(decision.records)
    )
    return Decision(records, decision.reply)


def refresh_the_offset(self: Sessions, heartbeat: Heartbeat) -> None:
    """MC-13: how far the others have to read moves on with the log."""
    BED.product(Sessions, "note")(self, heartbeat)
    if heartbeat.shutdown_offset is not None and not heartbeat.stops:
        self._shutdown_offsets[heartbeat.life] = heartbeat.shutdown_offset + 1


def chase_the_end(
    state: ControllerState,
    next_offset: int,
    **told: Any,  # noqa: ANN401 -- handed on
) -> Decision[Message, Any]:
    """MC-15: a broker has caught up when it has read all there is."""
    request = told["request"]
    if request.current_metadata_offset < next_offset - 1:
        told["request"] = changed(request, current_metadata_offset=-1)
    decision: Decision[Message, Any] = BED.product(beating, "heartbeat")(state, next_offset, **told)
    return decision


def hear_later(
    self: Sessions, state: ControllerState, broker: int, epoch: int, now_ms: int
) -> None:
    """MC-16: a heartbeat counts when it is answered, and not when it comes."""
    vars(self).setdefault("waiting", {})[Life(broker, epoch)] = now_ms


def hear_by_now(self: Sessions, heartbeat: Heartbeat) -> None:
    """MC-16, the other half."""
    heard_ms = vars(self).get("waiting", {}).get(heartbeat.life)
    if heard_ms is not None:
        self._heard_ms.pop(heartbeat.life, None)
        self._heard_ms[heartbeat.life] = heard_ms
    BED.product(Sessions, "note")(self, heartbeat)


def complete_with_some(self: Draft) -> None:
    """MC-21: a reassignment is complete when one of those that come is in sync."""
    if not self.removing and not self.adding:
        return
    replicas, isr = without(self.replicas, self.removing), without(self.isr, self.removing)
    if set(isr) & set(self.adding or replicas):
        self.replicas, self.isr = replicas, isr
        self.removing = self.adding = ()


async def reply_at_once(self: StateLog[Any, Any], decided: Decided[Any]) -> object:
    """MC-22: a decision is told before it is committed."""
    return decided.reply


def begin_unfenced(*told: Any) -> RegisterBrokerRecord:  # noqa: ANN401 -- handed on
    """MB-01: a new life may be led to at once."""
    record: RegisterBrokerRecord = BED.product(lives, "registration")(*told)
    return changed(record, fenced=False)


def stop_at_once(state: ControllerState, _: Sessions, broker: BrokerRegistration) -> bool:
    """MB-02: who leads nothing may stop, whether others know it or not."""
    return not state.index.leads(broker.id)


def give_no_time(self: Sessions, state: ControllerState, now_ms: int) -> None:
    """MB-03: a new controller gives nobody a session."""
    BED.product(Sessions, "activated")(self, state, now_ms - self._timeout_ms + 1)


def need_no_epoch(self: Draft, _: Ids) -> bool:
    """MB-05: a leader that stays need not know that a replica is gone."""
    return False


def allow_all(self: RulesInForce, topic: str) -> Election:
    """MB-06: any leader is better than none."""
    return Election.UNCLEAN


def give_again(*told: Any) -> Decision[Message, Any]:  # noqa: ANN401 -- handed on
    """MB-07: the same producer ids are given away again and again."""
    decision = BED.product(giving, "allocate")(*told)
    records = tuple(
        changed(record, next_producer_id=1_000) if isinstance(record, ProducerIdsRecord) else record
        for record in decision.records
    )
    return Decision(records, decision.reply)


def forget_who_led(self: Draft) -> Ids:
    """MB-08: nobody remembers who led last."""
    return ()


def keep_the_tail(self: StateLog[Any, Any]) -> None:
    """MB-10: a leader that resigns keeps what was never committed."""
    self.epoch = None


def index_nothing(self: PartitionIndex, _: TopicsDelta) -> PartitionIndex:
    """MB-12: the index stands still."""
    return self


def eligible_is_forgotten(self: Draft) -> None:
    """MB-13: nobody is eligible, however few are in sync."""
    self.elr = ()


def trust_everybody(
    state: ControllerState,
    next_offset: int,
    **told: Any,  # noqa: ANN401 -- handed on
) -> Decision[Message, Any]:
    """MB-14: a heartbeat of any life is one of the life that is registered."""
    request = told["request"]
    known = state.image.cluster.brokers.get(request.broker_id)
    if known is not None:
        told["request"] = changed(request, broker_epoch=known.epoch)
    decision: Decision[Message, Any] = BED.product(beating, "heartbeat")(state, next_offset, **told)
    return decision


def never(*_: object) -> bool:
    """Say no."""
    return False


PATCHES: Final[Mapping[str, Sequence[Patch]]] = {
    "MC-01": [(Whole, "append", fence_first)],
    "MC-02": [(altering, "judge", judge_any_epoch)],
    "MC-03": [(altering, "ineligible", eligible_in_any_life)],
    "MC-04": [(altering, "ineligible", eligible_while_dying)],
    "MC-05": [(altering, "judge", fence_who_is_ahead)],
    "MC-06": [(lives, "came", elect_nobody)],
    "MC-07": [(Draft, "_unclean_leader", elect_the_dead)],
    "MC-08": [(lives, "forgotten", left)],
    "MC-11": [(registering, "register", register_anew)],
    "MC-12": [(Sessions, "is_valid", never)],
    "MC-13": [(Sessions, "note", refresh_the_offset)],
    "MC-15": [(beating, "heartbeat", chase_the_end)],
    "MC-16": [(Sessions, "heard", hear_later), (Sessions, "note", hear_by_now)],
    "MC-21": [(Draft, "complete_reassignment", complete_with_some)],
    "MC-22": [(StateLog, "replied", reply_at_once)],
    "MB-01": [(lives, "registration", begin_unfenced)],
    "MB-02": [(lives, "may_stop", stop_at_once)],
    "MB-03": [(Sessions, "activated", give_no_time)],
    "MB-05": [(Draft, "_needs_epoch", need_no_epoch)],
    "MB-06": [(RulesInForce, "election", allow_all)],
    "MB-07": [(giving, "allocate", give_again)],
    "MB-08": [(Draft, "_last_known", forget_who_led)],
    "MB-10": [(StateLog, "on_resigned", keep_the_tail)],
    "MB-12": [(PartitionIndex, "after", index_nothing)],
    "MB-13": [(Draft, "find_eligible", eligible_is_forgotten)],
    "MB-14": [(beating, "heartbeat", trust_everybody)],
}

MUTANTS: Final[Sequence[Mutant]] = (
    Mutant("MC-01", "a broker is fenced in one batch, and leaves its partitions in another", A),
    Mutant("MC-02", "AlterPartition does not look at the partition epoch", A),
    Mutant("MC-03", "AlterPartition does not look at the lives of replicas", B),
    Mutant("MC-04", "who is fenced or stopping is let into the ISR", A),
    Mutant("MC-05", "a controller that is behind fences a leader that is ahead", B),
    Mutant("MC-06", "no leader is elected when a broker is let in", A),
    Mutant("MC-07", "the last known leader is elected though it is dead", B),
    Mutant("MC-08", "who registers uncleanly stays eligible", A),
    Mutant("MC-11", "the same life gets a new epoch when it registers again", A),
    Mutant("MC-12", "another life may register while this one is valid", A),
    Mutant("MC-13", "the offset of a controlled shutdown moves on", A),
    Mutant("MC-15", "a broker has to catch up with the end of the log", B),
    Mutant("MC-16", "a heartbeat that waits does not count", A),
    Mutant("MC-21", "a reassignment is complete when some of it is", A),
    Mutant("MC-22", "what is not committed is told", B),
    Mutant("MB-01", "a new life is not fenced", A),
    Mutant("MB-02", "who stops does not wait until others know", A),
    Mutant("MB-03", "a new controller gives nobody time", A),
    Mutant("MB-05", "a replica goes, and the leader epoch stays", A),
    Mutant("MB-06", "every election may be unclean", A),
    Mutant("MB-07", "producer ids are given away twice", A),
    Mutant("MB-08", "the last leader is forgotten", A),
    Mutant("MB-10", "who resigns keeps what was not committed", A),
    Mutant("MB-12", "an index that does not follow", A),
    Mutant("MB-13", "who leaves too small an ISR is not eligible", A),
    Mutant("MB-14", "a heartbeat of a life that is over counts", A),
)

BED: Final = Bed(PATCHES)


def plant(mutant: str) -> None:
    """Put the product back as it is, and then a mutant's code in its place, if one is named."""
    BED.plant(mutant)
