"""The administrator of a cluster: asks one thing after another, again where nobody can tell.

    what a plan says ─▶ wish ─▶ ask whoever leads ─┬─ answered ─▶ noted
                                   ▲               └─ lost, not the controller
                                   └────── again, until it is settled or given up

What was answered is what has to be so in the end, however often it was asked (C-19): a topic that
"exists already" after an attempt of which nothing was heard is one's own.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, TypeAlias

from barnabas.metadata.image import MetadataImage
from barnabas.model.errors import ErrorCode, Refused, RemoteProtocolError
from barnabas.model.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    LATEST_PRODUCTION,
    METADATA_VERSION,
)
from barnabas.net.peers import Peers
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.messages.update_features import UpdateFeaturesRequest
from barnabas.wire.structs import Request, Response

NAMES: Final = ("t1", "t2", "t3", "t4", "t5", "t6")

TIMEOUT_MS: Final = 2_000
RETRY_MS: Final = 200
TRIES: Final = 60

ANY_TOPIC: Final = 2
ANY_BROKER: Final = 4
"""Kafka's numbers of what a config is of."""

Made: TypeAlias = Mapping[str, int]
"""How many partitions a topic was made with, by its name; 0 where there is none."""

UNKNOWN: Final = -1


class Administrator:
    """Whoever runs the cluster; a process of its own."""

    def __init__(self, runtime: Runtime, leader: Callable[[], Address | None]) -> None:
        self.made: Final[dict[str, int]] = {}
        """How many partitions each topic has by what was answered; 0 for none, -1 if unknown."""
        self.asked_again = 0
        self.waiting: Final[list[Request]] = []
        self.settled: Final[list[tuple[Request, Response | None]]] = []
        self._runtime: Final = runtime
        self._leader: Final = leader
        self._peers: Final = Peers(runtime, "administrator")
        self._tasks: Final = runtime.tasks.child("wishes")
        self._is_busy = False

    def ask(self, request: Request) -> None:
        """Take something that has to be asked, in its turn."""
        self.waiting.append(request)
        if not self._is_busy:
            self._is_busy = True
            self._tasks.spawn(self._work(), "wishes")

    async def _work(self) -> None:
        while self.waiting:
            request = self.waiting[0]
            answer, again = await self._settled(request)
            self.note(request, answer, again)
            self.settled.append((request, answer))
            del self.waiting[0]
        self._is_busy = False

    async def _settled(self, request: Request) -> tuple[Response | None, bool]:
        """Ask until there is an answer; tell whether an attempt may have been heard before."""
        again = False
        for _ in range(TRIES):
            place = self._leader()
            if place is not None:
                try:
                    answer = await self._peers.ask(place, request, TIMEOUT_MS)
                except (OSError, Refused, RemoteProtocolError):
                    again = True
                    self.asked_again += 1
                else:
                    if ErrorCode.NOT_CONTROLLER not in codes(answer):
                        return answer, again
                    # It may have been decided all the same, by who is the controller no longer.
                    again = True
            await self._runtime.clock.sleep_ms(RETRY_MS)
        return None, again

    def note(self, request: Request, answer: Response | None, again: bool) -> None:
        """Remember what has to be so from now on."""
        match request, answer:
            case CreateTopicsRequest(topics=[topic]), CreateTopicsResponse(topics=[told]):
                exists = told.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
                ours = again and exists and not self.made.get(topic.name)
                if told.error_code == ErrorCode.NONE or ours:
                    self.made[topic.name] = topic.num_partitions
            case DeleteTopicsRequest(topics=[gone]), DeleteTopicsResponse(responses=[told]):
                missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if told.error_code in (ErrorCode.NONE, missing) and gone.name is not None:
                    self.made[gone.name] = 0
            case CreatePartitionsRequest(topics=[more]), CreatePartitionsResponse(results=[told]):
                # "Already has" as many: the attempt before has made them.
                fewer = 0 < self.made.get(more.name, 0) < more.count
                repeated = again and fewer and told.error_code == ErrorCode.INVALID_PARTITIONS
                if told.error_code == ErrorCode.NONE or repeated:
                    self.made[more.name] = more.count
            case CreateTopicsRequest(topics=[topic]), None:
                self.made[topic.name] = UNKNOWN
            case DeleteTopicsRequest(topics=[gone]), None if gone.name is not None:
                self.made[gone.name] = UNKNOWN
            case CreatePartitionsRequest(topics=[more]), None:
                self.made[more.name] = UNKNOWN
            case _:
                pass


def codes(answer: Response) -> Sequence[int]:
    """Return the errors that matter in an answer."""
    match answer:
        case CreateTopicsResponse():
            return [each.error_code for each in answer.topics]
        case DeleteTopicsResponse():
            return [each.error_code for each in answer.responses]
        case CreatePartitionsResponse():
            return [each.error_code for each in answer.results]
        case _:
            return [getattr(answer, "error_code", 0)]


def wish(what: str, seed: int, image: MetadataImage, brokers: Sequence[int]) -> Request | None:
    """Return what an administrator asks who sees the cluster like this; None if nothing fits."""
    source = Random(seed)
    topics = sorted(image.topics.names)
    known = sorted(image.cluster.brokers)
    if what == "create":
        return created(source, brokers)
    if what == "level":
        return raised(source, image)
    if what == "config":
        return configured(source, topics)
    if what == "unregister":
        return UnregisterBrokerRequest(broker_id=source.choice(list(brokers)))
    if not topics or not known:
        return None
    name = source.choice(topics)
    topic = image.topics.named(name)
    assert topic is not None
    index = source.randrange(len(topic.stored))
    match what:
        case "delete":
            return DeleteTopicsRequest(
                topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=TIMEOUT_MS
            )
        case "grow":
            more = CreatePartitionsRequest.CreatePartitionsTopic(
                name=name, count=len(topic.stored) + source.choice((1, 1, 2)), assignments=None
            )
            return CreatePartitionsRequest(topics=[more], timeout_ms=TIMEOUT_MS)
        case "reassign":
            target = source.sample(known, source.randint(1, min(3, len(known))))
            return reassignment(name, index, target)
        case "cancel":
            moving = [
                (each.name, number)
                for each in image.topics.topics.values()
                for number, partition in each.partitions()
                if partition.adding_replicas or partition.removing_replicas
            ]
            return reassignment(*source.choice(moving), None) if moving else None
        case "elect":
            return ElectLeadersRequest(
                election_type=source.choice((0, 0, 1)),
                topic_partitions=source.choice(
                    (
                        None,
                        [ElectLeadersRequest.TopicPartitions(topic=name, partitions=[index])],
                    )
                ),
                timeout_ms=TIMEOUT_MS,
            )
        case _:
            raise AssertionError(f"nobody knows how to {what}")


def created(source: Random, brokers: Sequence[int]) -> CreateTopicsRequest:
    """Return a request for a topic, here and there with rules of its own."""
    configs = {}
    if source.random() < 0.6:
        configs["min.insync.replicas"] = str(source.choice((1, 2, 2, 3)))
    if source.random() < 0.25:
        configs["unclean.leader.election.enable"] = "true"
    return creation(
        source.choice(NAMES),
        source.choice((1, 2, 4)),
        source.randint(1, min(3, len(brokers))),
        configs,
    )


def creation(
    name: str, partitions: int, replicas: int, configs: Mapping[str, str]
) -> CreateTopicsRequest:
    """Return a request for a topic."""
    config = CreateTopicsRequest.CreatableTopicConfig
    return CreateTopicsRequest(
        topics=[
            CreateTopicsRequest.CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=replicas,
                configs=[config(name=key, value=text) for key, text in configs.items()],
            )
        ],
        timeout_ms=TIMEOUT_MS,
    )


def reassignment(
    name: str, index: int, target: Sequence[int] | None
) -> AlterPartitionReassignmentsRequest:
    """Return a request for other replicas, or for those that there were."""
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition(
        partition_index=index, replicas=target
    )
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic(name=name, partitions=[partition])
    return AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)


def configured(source: Random, topics: Sequence[str]) -> IncrementalAlterConfigsRequest:
    """Return a request for other rules, for a topic or for all."""
    name, text = source.choice(
        (
            ("min.insync.replicas", str(source.choice((1, 2, 3)))),
            ("unclean.leader.election.enable", source.choice(("true", "false"))),
        )
    )
    for_all = not topics or source.random() < 0.2
    config = IncrementalAlterConfigsRequest.AlterableConfig(
        name=name, config_operation=0, value=text
    )
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=ANY_BROKER if for_all else ANY_TOPIC,
        resource_name="" if for_all else source.choice(list(topics)),
        configs=[config],
    )
    return IncrementalAlterConfigsRequest(resources=[resource])


def raised(source: Random, image: MetadataImage) -> UpdateFeaturesRequest | None:
    """Return a request for a higher level, or for ELR or none."""
    level = image.features.metadata_version
    if level is None:
        return None
    if level < LATEST_PRODUCTION.level and source.random() < 0.6:
        name, wanted = METADATA_VERSION, source.randint(level + 1, LATEST_PRODUCTION.level)
    else:
        name = ELIGIBLE_LEADER_REPLICAS_VERSION
        wanted = source.choice((0, 1))
    update = UpdateFeaturesRequest.FeatureUpdateKey(
        feature=name, max_version_level=wanted, upgrade_type=2 if wanted == 0 else 1
    )
    return UpdateFeaturesRequest(timeout_ms=TIMEOUT_MS, feature_updates=[update])
