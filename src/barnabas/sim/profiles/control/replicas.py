"""Who stands where the data of a broker's partitions will be: leads and follows as it is told.

    image ─▶ Table: what each partition is, here
                │ every beat
                ├─ follower: says on the board that it keeps up, under its broker epoch
                └─ leader: reads the board, proposes an ISR by AlterPartition

What a leader reads may be old, and what it sends may be late: it proposes who was fenced meanwhile,
in the name of a life that is over, in epochs that are past.  A controller has to bear all of that
(P-12).  It never proposes what a sound leader could not: members are replicas, itself among them.

Where a replica lies is chosen here, and told by the product's ``Broker``; a directory that fails
has failed for the rest of this life.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from barnabas.broker.assignments import Replica
from barnabas.broker.shell import Broker
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher
from barnabas.metadata.topics import RECOVERED, PartitionRegistration
from barnabas.model.errors import ErrorCode, Refused, RemoteProtocolError
from barnabas.model.ids import Uuid
from barnabas.net.peers import Peers
from barnabas.node.leader import controller_of
from barnabas.raft.shell import Quorum
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from barnabas.wire.structs import Request, Response

# A follower that was not heard of for so many beats is out of sync.
LAG_BEATS: Final = 3

# One request in so many is late, one proposal in so many names the life before the last, one beat
# in so many asks for producer ids.
LATE: Final = 8
STALE: Final = 4
PRODUCING: Final = 40
CARELESS: Final = 6

# A late request is no later than this many beats.
LATE_BEATS: Final = 12


class Post(NamedTuple):
    """A follower has fetched: when, and in which life."""

    at_ms: int
    epoch: int


class Board:
    """Where followers tell leaders that they keep up, in place of fetches."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms: Final = now_ms
        self.silent: Final[dict[int, None]] = {}
        """Brokers that fall behind."""
        self._posts: Final[dict[int, list[Post]]] = {}

    def post(self, broker: int, epoch: int) -> None:
        """Say that a broker has fetched whatever there was."""
        if broker in self.silent:
            return
        posts = self._posts.setdefault(broker, [])
        if posts and posts[-1].epoch == epoch:
            posts[-1] = Post(self.now_ms(), epoch)
        else:
            # The last of the life before is kept: fetches may be late.
            del posts[:-1]
            posts.append(Post(self.now_ms(), epoch))

    def lives(self, broker: int) -> Sequence[Post]:
        """Return the last post of each of the last two lives of a broker, oldest first."""
        return self._posts.get(broker, ())


class Proposal(NamedTuple):
    """What a leader wants a partition to be."""

    topic_id: Uuid
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    """Each member, with the life that is known of it."""
    recovery_state: int


class Replicas:
    """The replicas of one broker; a subscriber of its metadata."""

    def __init__(
        self,
        runtime: Runtime,
        broker_id: int,
        directories: Sequence[Uuid],
        board: Board,
        quorum: Quorum,
        beat_ms: int,
    ) -> None:
        self.publisher: Final = Publisher("replicas", fatal=True)
        self.image: MetadataImage = EMPTY
        self.offline: Final[dict[Uuid, None]] = {}
        """Directories that have failed in this life."""
        self.ahead: Final[dict[tuple[Uuid, int], PartitionRegistration]] = {}
        """What the controller has answered, where the log does not say so yet."""
        self._runtime: Final = runtime
        self._broker_id: Final = broker_id
        self._directories: Final = directories
        self._board: Final = board
        self._quorum: Final = quorum
        self._beat_ms: Final = beat_ms
        self._broker: Broker | None = None
        self._peers: Final = Peers(runtime, f"broker-{broker_id}-partitions")
        self._tasks: Final = runtime.tasks.child("replicas")
        self._chosen: Final[dict[Replica, Uuid]] = {}

    # --- what the node tells -----------------------------------------------------------------

    def begin(self, broker: Broker) -> None:
        """Begin to lead and to follow."""
        self._broker = broker
        self._tasks.spawn(self._work(), "beats")

    async def stop(self) -> None:
        """Lead nothing any more."""
        await self._tasks.close()
        await self._peers.close()

    async def update(self, publication: Publication) -> None:
        """Take what the partitions are by now."""
        self.image = publication.image
        for (topic_id, index), known in list(self.ahead.items()):
            found = self.image.topics.partition(topic_id, index)
            if found is None or found.partition_epoch >= known.partition_epoch:
                del self.ahead[topic_id, index]

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Pass over who leads the quorum: it is asked for when there is something to ask."""

    async def close(self) -> None:
        """Learn nothing more."""

    def directory_failed(self, number: int) -> None:
        """Let a directory fail, as its disk would; the last that is left does not."""
        online = [each for each in self._directories if each not in self.offline]
        if self._broker is not None and len(online) > 1:
            failed = online[number % len(online)]
            self.offline[failed] = None
            self._broker.directory_failed(failed)

    # --- every beat --------------------------------------------------------------------------

    async def _work(self) -> None:
        clock, entropy = self._runtime.clock, self._runtime.entropy
        while True:
            await clock.sleep_ms(self._beat_ms)
            assert self._broker is not None
            epoch = self._broker.epoch
            if epoch is None:
                continue
            self._board.post(self._broker_id, epoch)
            self._choose_directories()
            proposals = self.proposals(
                careless=entropy.below(CARELESS) == 0, stale=entropy.below(STALE) == 0
            )
            if proposals:
                if entropy.below(LATE) == 0:
                    await clock.sleep_ms(self._beat_ms * (1 + entropy.below(LATE_BEATS)))
                await self._propose(epoch, proposals)
            if entropy.below(PRODUCING) == 0:
                await self._ask(
                    AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=epoch)
                )

    def _choose_directories(self) -> None:
        assert self._broker is not None
        online = [each for each in self._directories if each not in self.offline]
        for topic in self.image.topics.topics.values():
            for index, partition in topic.partitions():
                place, replica = partition.directory(self._broker_id), Replica(topic.id, index)
                if place is None or place in self._directories:
                    self._chosen.pop(replica, None)
                elif replica not in self._chosen and online:
                    # Not chosen yet, or chosen by another machine that had this id.
                    self._chosen[replica] = online[(topic.id[-1] + index) % len(online)]
                    self._broker.assigned(replica, self._chosen[replica])

    def proposals(self, *, careless: bool, stale: bool) -> list[Proposal]:
        """Return what this broker wants the partitions that it leads to be."""
        return [
            proposal
            for topic in self.image.topics.topics.values()
            for index, partition in topic.partitions()
            if (proposal := self._proposal(topic.id, index, partition, careless, stale)) is not None
        ]

    def _proposal(
        self,
        topic_id: Uuid,
        index: int,
        partition: PartitionRegistration,
        careless: bool,
        stale: bool,
    ) -> Proposal | None:
        partition = self.ahead.get((topic_id, index), partition)
        if partition.leader != self._broker_id:
            return None
        assert self._broker is not None
        recovering = partition.leader_recovery_state != RECOVERED
        epochs = {self._broker_id: self._broker.epoch or -1}
        for follower in partition.replicas:
            place = partition.directory(follower)
            if follower != self._broker_id and not recovering and place is not None:
                epoch = self._seen(follower, place, follower in partition.isr, careless, stale)
                if epoch is not None:
                    epochs[follower] = epoch
        if set(epochs) == set(partition.isr) and not recovering:
            return None
        return Proposal(
            topic_id,
            index,
            partition.leader_epoch,
            partition.partition_epoch,
            tuple((each, epochs[each]) for each in partition.replicas if each in epochs),
            RECOVERED,
        )

    def _seen(
        self, follower: int, place: Uuid, in_sync: bool, careless: bool, stale: bool
    ) -> int | None:
        """Return the life in which a follower keeps up; None if it does not."""
        lives = self._board.lives(follower)
        if not lives:
            return None
        found = lives[0] if stale else lives[-1]
        if self._board.now_ms() - lives[-1].at_ms > LAG_BEATS * self._beat_ms:
            return None
        known = self.image.cluster.brokers.get(follower)
        eligible = (
            known is not None
            and not known.fenced
            and not known.in_controlled_shutdown
            and (int.from_bytes(place) < 2 or place in known.directories)
        )
        return found.epoch if in_sync or eligible or careless else None

    async def _propose(self, epoch: int, proposals: Sequence[Proposal]) -> None:
        answer = await self._ask(request_of(self._broker_id, epoch, proposals))
        if isinstance(answer, AlterPartitionResponse) and answer.error_code == ErrorCode.NONE:
            self._take({(each.topic_id, each.partition): each for each in proposals}, answer)

    def _take(
        self, asked: Mapping[tuple[Uuid, int], Proposal], answer: AlterPartitionResponse
    ) -> None:
        for topic in answer.topics:
            for told in topic.partitions:
                place = topic.topic_id, told.partition_index
                known = self.image.topics.partition(*place)
                if told.error_code or known is None or place not in asked:
                    # What was refused is proposed again when the log has told more.
                    continue
                if known.partition_epoch < told.partition_epoch:
                    self.ahead[place] = known._replace(
                        isr=tuple(told.isr),
                        leader=told.leader_id,
                        leader_epoch=told.leader_epoch,
                        partition_epoch=told.partition_epoch,
                        unusual=(*known.unusual[:4], told.leader_recovery_state),
                    )

    async def _ask(self, request: Request) -> Response | None:
        """Ask whoever leads; None if there is no telling what came of it."""
        controller = controller_of(self._quorum)
        if isinstance(controller, str):
            return None
        try:
            return await self._peers.ask(controller, request, LAG_BEATS * self._beat_ms)
        except (TimeoutError, OSError, Refused, RemoteProtocolError):
            return None


def request_of(broker_id: int, epoch: int, proposals: Sequence[Proposal]) -> AlterPartitionRequest:
    """Return proposals as a leader sends them."""
    topics: dict[Uuid, list[AlterPartitionRequest.PartitionData]] = {}
    for each in proposals:
        topics.setdefault(each.topic_id, []).append(
            AlterPartitionRequest.PartitionData(
                partition_index=each.partition,
                leader_epoch=each.leader_epoch,
                new_isr_with_epochs=[
                    AlterPartitionRequest.BrokerState(broker_id=broker, broker_epoch=life)
                    for broker, life in each.isr
                ],
                leader_recovery_state=each.recovery_state,
                partition_epoch=each.partition_epoch,
            )
        )
    return AlterPartitionRequest(
        broker_id=broker_id,
        broker_epoch=epoch,
        topics=[
            AlterPartitionRequest.TopicData(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in topics.items()
        ],
    )
