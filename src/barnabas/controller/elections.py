"""Who leads after something has happened to a broker, and when somebody asks.

    a broker is fenced, stops, comes, or loses a directory ─┐
    ElectLeaders ───────────────────────────────────────────┼─▶ partitions ─▶ records
    every so often: preferred leaders, unclean elections ───┘

Which partitions are looked at says the index; what becomes of each, ``partitions``.  Of ten
thousand partitions of one broker most are the same but for their epochs, so ``Memory`` decides
once for all that are alike.

Fixed by Kafka's ReplicationControlManager.java (``generateLeaderAndIsrUpdates``, ``electLeaders``,
``maybeBalancePartitionLeaders``, ``maybeElectUncleanLeaders``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from barnabas.controller.config import ControllerConfig
from barnabas.controller.index import Places, bits
from barnabas.controller.partitions import (
    Aim,
    Election,
    Leaders,
    Rules,
    decide,
    without,
)
from barnabas.controller.state import ControllerState, topic_config
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.levels import ELIGIBLE_LEADERS
from barnabas.metadata.topics import (
    NO_LEADER,
    Ids,
    PartitionRegistration,
    Stored,
    Topic,
    Unusual,
    named,
)
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message

MIN_IN_SYNC: Final = "min.insync.replicas"
UNCLEAN_ELECTIONS: Final = "unclean.leader.election.enable"

ELECTIONS_MAX: Final = 1_000
"""How many partitions a periodic election moves before others get their turn; Kafka's number."""

PREFERRED: Final = 0
UNCLEAN: Final = 1
"""The types of elections that ElectLeaders knows."""


@value
class InForce:
    """What is in force for some topics: those of which the same was said."""

    number: int
    rules: Rules
    election: Election
    """How far an election may go that nobody asked for."""


class RulesInForce:
    """What is in force for each topic, for the time of one decision."""

    def __init__(self, state: ControllerState, config: ControllerConfig) -> None:
        self._configs = state.image.configs
        self._level = state.level
        self.elr = (
            state.image.features.level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0
            and state.level >= ELIGIBLE_LEADERS
        )
        # What holds for a topic of which nothing was said; no topic has an empty name.
        self._min_in_sync = topic_config(state, config, "", MIN_IN_SYNC, "1")
        self._unclean = topic_config(state, config, "", UNCLEAN_ELECTIONS, "false")
        self._made: dict[tuple[str, str], InForce] = {}
        self._usual = self._in_force(self._min_in_sync, self._unclean)

    def at(self, topic: str) -> InForce:
        """Return what is in force for a topic."""
        said = self._configs.of(ResourceType.TOPIC, topic)
        if not said:
            return self._usual
        return self._in_force(
            said.get(MIN_IN_SYNC, self._min_in_sync), said.get(UNCLEAN_ELECTIONS, self._unclean)
        )

    def of(self, topic: str) -> Rules:
        """Return what is in force for a topic's partitions."""
        return self.at(topic).rules

    def election(self, topic: str) -> Election:
        """Return how far an election that nobody asked for may go."""
        return self.at(topic).election

    def _in_force(self, min_in_sync: str, unclean: str) -> InForce:
        found = self._made.get((min_in_sync, unclean))
        if found is None:
            found = self._made[min_in_sync, unclean] = InForce(
                len(self._made),
                Rules(self._level, self.elr, int(min_in_sync)),
                Election.UNCLEAN if unclean.strip().lower() == "true" else Election.ONLINE,
            )
        return found


class Memory:
    """What was decided of partitions, for all that are the same but for their epochs.

    For the time of one decision, and one way to find the aim of a partition: None leaves it alone.
    How far an election may go is said for all partitions, or by each topic.
    """

    def __init__(
        self,
        leaders: Leaders,
        aim: Callable[[PartitionRegistration, Election], Aim | None],
        election: Election | None = None,
    ) -> None:
        self._leaders = leaders
        self._aim = aim
        self._election = election
        self._known: dict[int, dict[Kind, Said]] = {}

    def known(self, in_force: InForce) -> dict["Kind", "Said"]:
        """Return what was decided where certain rules are in force."""
        return self._known.setdefault(in_force.number, {})

    def said(self, stored: Stored, in_force: InForce) -> "Said":
        """Return what is decided about a partition, and about all like it."""
        known, key = self.known(in_force), kind(stored)
        if key not in known:
            partition = named(stored)
            aim = self._aim(partition, self._election or in_force.election)
            change = aim and decide(partition, aim, in_force.rules, self._leaders)
            known[key] = change and change.said()
        return known[key]


Kind: TypeAlias = tuple[Ids, tuple[Uuid, ...], Ids, int, Unusual]
"""All of a partition but its epochs."""

Said: TypeAlias = Mapping[str, Any] | None
"""What the record of a change says; None if there is none."""


def kind(stored: Stored) -> Kind:
    """Return all of a partition but its epochs."""
    replicas, directories, isr, leader, _, _, unusual = stored
    return replicas, directories, isr, leader, unusual


def moved(
    state: ControllerState,
    config: ControllerConfig,
    places: Places,
    memory: Memory,
) -> Iterator[PartitionChangeRecord]:
    """Yield what becomes of some partitions, one record for each of which something does."""
    rules, topics = RulesInForce(state, config), state.image.topics.topics
    for topic_id, mask in places.items():
        topic = topics[topic_id]
        in_force, partitions = rules.at(topic.name), topic.stored
        known = memory.known(in_force)
        # One broker has tens of thousands of these: nothing is called for a kind that is known.
        for index in bits(mask):
            stored = partitions[index]
            replicas, directories, isr, leader, _, _, unusual = stored
            try:
                said = known[replicas, directories, isr, leader, unusual]
            except KeyError:
                said = memory.said(stored, in_force)
            if said is not None:
                yield PartitionChangeRecord(topic_id=topic_id, partition_id=index, **said)


def left(
    state: ControllerState, config: ControllerConfig, broker: int
) -> Iterator[PartitionChangeRecord]:
    """Yield what becomes of partitions when a broker can be in sync no longer: it leaves the ISR,
    and another leads.  It keeps what it has, so it may be eligible.
    """
    leaders = Leaders(state.image.cluster.brokers, without=broker)
    gone = (broker,)

    def aim(partition: PartitionRegistration, election: Election) -> Aim:
        return Aim(isr=without(partition.isr, gone), election=election)

    return moved(state, config, state.index.in_sync_of(broker), Memory(leaders, aim))


def forgotten(
    state: ControllerState, config: ControllerConfig, broker: int
) -> Iterator[PartitionChangeRecord]:
    """Yield what becomes of partitions when a broker may have lost what it had (B-06)."""
    leaders = Leaders(state.image.cluster.brokers, without=broker)

    def aim(_: PartitionRegistration, election: Election) -> Aim:
        return Aim(unclean=broker, election=election)

    memory = Memory(leaders, aim)
    yield from moved(state, config, state.index.in_sync_of(broker), memory)
    yield from moved(state, config, state.index.eligible_of(broker), memory)


def came(
    state: ControllerState, config: ControllerConfig, broker: int
) -> Iterator[PartitionChangeRecord]:
    """Yield what becomes of partitions that nobody leads when a broker is unfenced."""
    leaders = Leaders(state.image.cluster.brokers, unfenced=broker)

    def aim(_: PartitionRegistration, election: Election) -> Aim:
        return Aim(election=election)

    return moved(state, config, state.index.leaderless, Memory(leaders, aim))


def lost(
    state: ControllerState, config: ControllerConfig, broker: int, directories: Sequence[Uuid]
) -> Iterator[PartitionChangeRecord]:
    """Yield what becomes of partitions when some directories of a broker are offline."""
    leaders = Leaders(state.image.cluster.brokers, without=broker)
    gone, offline = (broker,), frozenset(directories)

    def aim(partition: PartitionRegistration, election: Election) -> Aim | None:
        if partition.directory(broker) not in offline:
            return None
        return Aim(isr=without(partition.isr, gone), election=election)

    return moved(state, config, state.index.in_sync_of(broker), Memory(leaders, aim))


# --- When somebody asks ---


def elect(
    state: ControllerState, config: ControllerConfig, request: ElectLeadersRequest
) -> Decision[Message, ElectLeadersResponse | Refused]:
    """Decide on ElectLeaders: preferred leaders, or any at all (KIP-183, KIP-460).

    Asked for all partitions, those that need no election are left out of the answer.
    """
    kinds = {PREFERRED: Election.PREFERRED, UNCLEAN: Election.UNCLEAN}
    kind = kinds.get(request.election_type)
    if kind is None:
        why = f"election type {request.election_type} is none: 0 is preferred, 1 is unclean"
        return Decision((), Refused(ErrorCode.INVALID_REQUEST, why))
    asked = Asked(state, config, kind)
    results = []
    if request.topic_partitions is None:
        index = state.index
        needed = index.unpreferred if kind is Election.PREFERRED else index.leaderless
        for topic_id, topic in state.image.topics.topics.items():
            numbers = bits(needed.get(topic_id, 0))
            answers = [asked.answer(topic.name, topic, number) for number in numbers]
            results.append(
                ElectLeadersResponse.ReplicaElectionResult(
                    topic=topic.name, partition_result=answers
                )
            )
    else:
        for told in request.topic_partitions:
            found = state.image.topics.named(told.topic)
            answers = [asked.answer(told.topic, found, number) for number in told.partitions]
            results.append(
                ElectLeadersResponse.ReplicaElectionResult(
                    topic=told.topic, partition_result=answers
                )
            )
    reply = ElectLeadersResponse(replica_election_results=results)
    return Decision(tuple(asked.records), reply)


class Asked:
    """The elections of one request, partition by partition."""

    def __init__(self, state: ControllerState, config: ControllerConfig, kind: Election) -> None:
        self.records: list[PartitionChangeRecord] = []
        self._kind = kind
        self._rules = RulesInForce(state, config)
        self._memory = anybody(state, kind)
        self._done: set[tuple[str, int]] = set()

    def answer(
        self, name: str, topic: Topic | None, index: int
    ) -> ElectLeadersResponse.PartitionResult:
        """Elect a leader, or say why not."""
        refused = self._elected(name, topic, index)
        return ElectLeadersResponse.PartitionResult(
            partition_id=index,
            error_code=refused.code if refused else ErrorCode.NONE,
            error_message=refused.why if refused else None,
        )

    def _elected(self, name: str, topic: Topic | None, index: int) -> Refused | None:
        stored = topic.stored.get(index) if topic else None
        if topic is None or stored is None:
            why = f"there is no partition {name}-{index}"
            return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
        replicas, _, _, leader, *_ = stored
        preferred = self._kind is Election.PREFERRED
        if leader == replicas[0] if preferred else leader != NO_LEADER:
            why = f"{name}-{index} is led by {leader}"
            return Refused(ErrorCode.ELECTION_NOT_NEEDED, why)
        if (name, index) in self._done:
            why = f"{name}-{index} is asked for twice"
            return Refused(ErrorCode.ELECTION_NOT_NEEDED, why)
        said = self._memory.said(stored, self._rules.at(name))
        if said is None or said.get("leader", NO_LEADER) < 0:
            if preferred:
                why = f"{name}-{index}: broker {replicas[0]} is not active and in sync"
                return Refused(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, why)
            why = f"{name}-{index}: none of the replicas {list(replicas)} is active"
            return Refused(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, why)
        self._done.add((name, index))
        self.records.append(PartitionChangeRecord(topic_id=topic.id, partition_id=index, **said))
        return None


# --- Every so often ---


@value
class Round:
    """How a periodic election went."""

    elected: int
    more: bool
    """Whether it stopped early: the next round is due at once."""


def balance(
    state: ControllerState, config: ControllerConfig, most: int = ELECTIONS_MAX
) -> Decision[Message, Round]:
    """Give partitions back to their preferred leaders, where these are in sync again."""
    memory = anybody(state, Election.PREFERRED)
    found = moved(state, config, state.index.unpreferred, memory)
    return bounded(found, most)


def elect_unclean(
    state: ControllerState, config: ControllerConfig, most: int = ELECTIONS_MAX
) -> Decision[Message, Round]:
    """Give partitions that nobody leads to anybody, where the topic allows it."""
    in_force, topics = RulesInForce(state, config), state.image.topics.topics
    allowed = {
        topic_id: mask
        for topic_id, mask in state.index.leaderless.items()
        if in_force.election(topics[topic_id].name) is Election.UNCLEAN
    }
    found = moved(state, config, allowed, anybody(state, Election.UNCLEAN))
    return bounded(found, most)


def anybody(state: ControllerState, election: Election) -> Memory:
    """Return a memory for partitions that are to be led by whoever may, and stay as they are."""
    leaders = Leaders(state.image.cluster.brokers)
    return Memory(leaders, lambda _, reach: Aim(election=reach), election)


def bounded(found: Iterator[PartitionChangeRecord], most: int) -> Decision[Message, Round]:
    """Take so many elections and no more."""
    records = []
    for record in found:
        records.append(record)
        if len(records) >= most:
            return Decision(tuple(records), Round(most, more=True))
    return Decision(tuple(records), Round(len(records), more=False))
