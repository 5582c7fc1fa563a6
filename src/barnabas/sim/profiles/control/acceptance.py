"""What a controller has to say to a leader that proposes an ISR (P-12), worked out anew.

Nothing here is taken from ``controller.alter_partition``.  For each proposal there is a set of all
reasons to refuse it, each by its code: it has to be accepted if that is empty, and refused for one
of them otherwise.  Which of several comes first is Kafka's taste, and nobody's promise.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.control.states import require
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

Place = tuple[Uuid, int]

ACCEPTED: Final = frozenset({ErrorCode.NONE, ErrorCode.NEW_LEADER_ELECTED})
"""A proposal that takes the leader away is applied, and answered with an error all the same."""


def is_current(image: MetadataImage, broker: int, epoch: int) -> bool:
    """Tell whether an epoch is the one under which a broker is registered (B-03)."""
    known = image.cluster.brokers.get(broker)
    return known is not None and known.epoch == epoch


def objections(
    image: MetadataImage, version: int, request: AlterPartitionRequest
) -> dict[Place, set[ErrorCode]]:
    """Return why each proposal of a current broker must be refused; nothing where it must not."""
    found: dict[Place, set[ErrorCode]] = {}
    told = Counter((topic.topic_id, each.partition_index) for topic in request.topics
                   for each in topic.partitions)  # fmt: skip
    for topic in request.topics:
        for each in topic.partitions:
            place = topic.topic_id, each.partition_index
            why = found.setdefault(place, set())
            if topic.topic_id not in image.topics.topics:
                why.add(ErrorCode.UNKNOWN_TOPIC_ID)
                continue
            partition = image.topics.partition(*place)
            if partition is None:
                why.add(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                continue
            if told[place] > 1:
                why.add(ErrorCode.INVALID_UPDATE_VERSION)
            why |= set(overtaken(partition, each, request.broker_id))
            why |= set(nonsense(partition, each, members(version, each)))
            why |= set(strangers(image, version, partition, each))
    return found


def members(version: int, told: AlterPartitionRequest.PartitionData) -> dict[int, int]:
    """Return who is proposed, with the life that the leader knows; -1 if it does not."""
    if version < 3:
        return dict.fromkeys(told.new_isr, -1)
    return {each.broker_id: each.broker_epoch for each in told.new_isr_with_epochs}


def overtaken(
    partition: PartitionRegistration, told: AlterPartitionRequest.PartitionData, sender: int
) -> Collection[ErrorCode]:
    """Return why a proposal belongs to another time than this."""
    why = set()
    if (
        told.leader_epoch > partition.leader_epoch
        or told.partition_epoch > partition.partition_epoch
    ):
        # Kafka says FENCED_LEADER_EPOCH of a broker that is ahead since KAFKA-14154 no more.
        return {ErrorCode.NOT_CONTROLLER}
    if told.leader_epoch < partition.leader_epoch:
        why.add(ErrorCode.FENCED_LEADER_EPOCH)
    if told.partition_epoch < partition.partition_epoch:
        why.add(ErrorCode.INVALID_UPDATE_VERSION)
    if partition.leader != sender:
        why.add(ErrorCode.INVALID_REQUEST)
    return why


def nonsense(
    partition: PartitionRegistration,
    told: AlterPartitionRequest.PartitionData,
    proposed: Mapping[int, int],
) -> Collection[ErrorCode]:
    """Return why a proposal could be no partition's ISR."""
    size = len(told.new_isr_with_epochs) or len(told.new_isr)
    recovers = told.leader_recovery_state == 1
    wrong = (
        size != len(proposed)
        or not proposed.keys() <= set(partition.replicas)
        or partition.leader not in proposed
        or told.leader_recovery_state not in (0, 1)
        or (recovers and (size > 1 or partition.leader_recovery_state == 0))
    )
    return {ErrorCode.INVALID_REQUEST} if wrong else ()


def strangers(
    image: MetadataImage,
    version: int,
    partition: PartitionRegistration,
    told: AlterPartitionRequest.PartitionData,
) -> Collection[ErrorCode]:
    """Return why somebody who is proposed cannot be in sync: fenced, offline, another life."""
    lives_are_known = version >= 3 and (image.features.metadata_version or 0) >= 10
    for broker, epoch in members(version, told).items():
        known = image.cluster.brokers.get(broker)
        if known is None or known.fenced or known.in_controlled_shutdown:
            return {ErrorCode.INELIGIBLE_REPLICA}
        if broker not in partition.replicas:
            continue
        place = partition.directories[partition.replicas.index(broker)]
        offline = int.from_bytes(place) == 2 or (
            int.from_bytes(place) > 2 and known.directories and place not in known.directories
        )
        if offline:
            return {ErrorCode.INELIGIBLE_REPLICA}
        anonymous = epoch == -1 and (broker in partition.isr or not lives_are_known)
        if epoch != known.epoch and not anonymous:
            return {ErrorCode.INELIGIBLE_REPLICA}
    return ()


def check_answer(
    image: MetadataImage,
    version: int,
    request: AlterPartitionRequest,
    answer: AlterPartitionResponse,
) -> dict[Place, frozenset[int]]:
    """P-12: complain of an answer that the state does not give; return who was let in where."""
    expected = objections(image, version, request)
    joined: dict[Place, frozenset[int]] = {}
    asked = {
        (topic.topic_id, each.partition_index): each
        for topic in request.topics
        for each in topic.partitions
    }
    answered: set[Place] = set()
    for topic in answer.topics:
        for told in topic.partitions:
            place = topic.topic_id, told.partition_index
            answered.add(place)
            code, why = ErrorCode(told.error_code), expected.get(place, set())
            at = f"{asked.get(place)} of broker {request.broker_id}, which is"
            at += f" {image.topics.partition(*place)}"
            if why:
                names = ", ".join(sorted(each.name for each in why))
                require(code in why, f"P-12: {code.name} where {names} was due, {at}")
                continue
            require(code in ACCEPTED, f"P-12: {code.name} to what was in order, {at}")
            before = image.topics.partition(*place)
            assert before is not None, f"no reason to refuse {place}, which is nowhere"
            joined[place] = frozenset(members(version, asked[place])) - set(before.isr)
    require(answered == set(expected), "P-12: an answer to other partitions than were asked about")
    return joined
