"""What to ask a replica of a quorum, right and wrong: every way in which a request can be refused.

A case makes a request of a situation, and the version to ask in.  Those that let an epoch end are
``DISRUPTIVE``: a quorum has to elect anew after them.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.raft.asking import TOPIC, TOPIC_ID
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import Endpoint, ReplicaKey
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest
from barnabas.wire.messages.vote import VoteRequest
from barnabas.wire.structs import Request
from tests.compat.kafka_node import free_port
from tests.compat.raft_twin import LISTENER, Situation

Case: TypeAlias = Callable[[Situation], tuple[Request, int]]

STRANGER: Final = ReplicaKey(100, Uuid(b"a directory here"))
OTHER_CLUSTER: Final = "YW5vdGhlci1jbHVzdGVyLQ"

Partitions: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
ITS_OWN: Final[Partitions] = ((TOPIC, (0,)),)


def vote(
    at: Situation,
    version: int = 2,
    *,
    cluster_id: str | None = None,
    about: Partitions = ITS_OWN,
    voter: ReplicaKey | None = None,
    candidate: ReplicaKey = STRANGER,
    epoch: int = 0,
    last: SnapshotId | None = None,
    pre_vote: bool = True,
) -> tuple[Request, int]:
    """Ask for a vote; the epoch is told by its distance from the quorum's."""
    last = last or SnapshotId(at.end_offset, at.epoch)
    voter = voter or at.key(at.asked.id)
    return VoteRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        voter_id=voter.id if version else -1,
        topics=[
            VoteRequest.TopicData(
                topic_name=name,
                partitions=[
                    VoteRequest.PartitionData(
                        partition_index=index,
                        replica_epoch=at.epoch + epoch,
                        replica_id=candidate.id,
                        replica_directory_id=candidate.directory_id,
                        voter_directory_id=voter.directory_id,
                        last_offset_epoch=last.epoch,
                        last_offset=last.end_offset,
                        pre_vote=pre_vote,
                    )
                    for index in indexes
                ],
            )
            for name, indexes in about
        ],
    ), version


def begin(
    at: Situation,
    version: int = 1,
    *,
    cluster_id: str | None = None,
    about: Partitions = ITS_OWN,
    voter: ReplicaKey | None = None,
    leader_id: int | None = None,
    epoch: int = 0,
    endpoints: tuple[Endpoint, ...] | None = None,
) -> tuple[Request, int]:
    """Say that somebody leads."""
    leader_id = at.leader_id if leader_id is None else leader_id
    voter = voter or at.key(at.asked.id)
    endpoints = at.endpoints(at.leader_id) if endpoints is None else endpoints
    return BeginQuorumEpochRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        voter_id=voter.id,
        topics=[
            BeginQuorumEpochRequest.TopicData(
                topic_name=name,
                partitions=[
                    BeginQuorumEpochRequest.PartitionData(
                        partition_index=index,
                        voter_directory_id=voter.directory_id,
                        leader_id=leader_id,
                        leader_epoch=at.epoch + epoch,
                    )
                    for index in indexes
                ],
            )
            for name, indexes in about
        ],
        leader_endpoints=[
            BeginQuorumEpochRequest.LeaderEndpoint(name=to.listener, host=to.host, port=to.port)
            for to in endpoints
        ],
    ), version


def end(
    at: Situation,
    version: int = 1,
    *,
    cluster_id: str | None = None,
    about: Partitions = ITS_OWN,
    leader_id: int | None = None,
    epoch: int = 0,
) -> tuple[Request, int]:
    """Say that somebody leads no longer."""
    leader_id = at.leader_id if leader_id is None else leader_id
    return EndQuorumEpochRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        topics=[
            EndQuorumEpochRequest.TopicData(
                topic_name=name,
                partitions=[
                    EndQuorumEpochRequest.PartitionData(
                        partition_index=index,
                        leader_id=leader_id,
                        leader_epoch=at.epoch + epoch,
                        preferred_successors=[STRANGER.id],
                        preferred_candidates=[
                            EndQuorumEpochRequest.ReplicaInfo(
                                candidate_id=STRANGER.id,
                                candidate_directory_id=STRANGER.directory_id,
                            )
                        ],
                    )
                    for index in indexes
                ],
            )
            for name, indexes in about
        ],
    ), version


def fetch(
    at: Situation,
    version: int = 18,
    *,
    cluster_id: str | None = None,
    about: tuple[tuple[Uuid, tuple[int, ...]], ...] = ((TOPIC_ID, (0,)),),
    replica: ReplicaKey = STRANGER,
    epoch: int = 0,
    offset: int | None = None,
    last_epoch: int | None = None,
    max_wait_ms: int = 0,
) -> tuple[Request, int]:
    """Fetch as an observer: from the end, with nothing to wait for, unless told otherwise."""
    return FetchRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        replica_id=replica.id if version < 15 else -1,
        replica_state=FetchRequest.ReplicaState(replica_id=replica.id if version >= 15 else -1),
        max_wait_ms=max_wait_ms,
        topics=[
            FetchRequest.FetchTopic(
                topic=TOPIC,
                topic_id=topic_id,
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=index,
                        current_leader_epoch=at.epoch + epoch,
                        fetch_offset=at.end_offset if offset is None else offset,
                        last_fetched_epoch=at.epoch if last_epoch is None else last_epoch,
                        replica_directory_id=replica.directory_id,
                    )
                    for index in indexes
                ],
            )
            for topic_id, indexes in about
        ],
    ), version


def fetch_snapshot(
    at: Situation,
    version: int = 1,
    *,
    cluster_id: str | None = None,
    about: Partitions = ITS_OWN,
    epoch: int = 0,
    snapshot: SnapshotId | None = None,
    position: int = 0,
    max_bytes: int = 1_000,
) -> tuple[Request, int]:
    """Fetch a part of a snapshot: the newest, unless told otherwise."""
    snapshot = snapshot or snapshots_of(at)[-1]
    return FetchSnapshotRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        replica_id=STRANGER.id,
        max_bytes=max_bytes,
        topics=[
            FetchSnapshotRequest.TopicSnapshot(
                name=name,
                partitions=[
                    FetchSnapshotRequest.PartitionSnapshot(
                        partition=index,
                        current_leader_epoch=at.epoch + epoch,
                        snapshot_id=FetchSnapshotRequest.SnapshotId(
                            end_offset=snapshot.end_offset, epoch=snapshot.epoch
                        ),
                        position=position,
                        replica_directory_id=STRANGER.directory_id,
                    )
                    for index in indexes
                ],
            )
            for name, indexes in about
        ],
    ), version


def snapshots_of(at: Situation) -> list[SnapshotId]:
    """Return the snapshots that who is asked has, oldest first."""
    names = sorted(path.stem for path in at.asked.metadata.glob("*.checkpoint"))
    return [SnapshotId(*map(int, name.split("-"))) for name in names]


def size_of_newest(at: Situation) -> int:
    """Return the size of the newest snapshot."""
    return sorted(at.asked.metadata.glob("*.checkpoint"))[-1].stat().st_size


def describe(at: Situation, version: int = 2, about: Partitions = ITS_OWN) -> tuple[Request, int]:
    """Ask how everybody is."""
    topic, partition = DescribeQuorumRequest.TopicData, DescribeQuorumRequest.PartitionData
    return DescribeQuorumRequest(
        topics=[
            topic(topic_name=name, partitions=[partition(partition_index=at) for at in indexes])
            for name, indexes in about
        ]
    ), version


def nobody() -> tuple[Endpoint, ...]:
    """Return a place where nobody listens."""
    return (Endpoint(LISTENER, "127.0.0.1", free_port()),)


def add(
    at: Situation,
    version: int = 1,
    *,
    cluster_id: str | None = None,
    voter: ReplicaKey = STRANGER,
    endpoints: Iterable[Endpoint] | None = None,
) -> tuple[Request, int]:
    """Ask for one more voter."""
    return AddRaftVoterRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        timeout_ms=1_000,
        voter_id=voter.id,
        voter_directory_id=voter.directory_id,
        listeners=[
            AddRaftVoterRequest.Listener(name=to.listener, host=to.host, port=to.port)
            for to in (nobody() if endpoints is None else endpoints)
        ],
    ), version


def remove(
    at: Situation, *, cluster_id: str | None = None, voter: ReplicaKey = STRANGER
) -> tuple[Request, int]:
    """Ask for one voter less."""
    return RemoveRaftVoterRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        voter_id=voter.id,
        voter_directory_id=voter.directory_id,
    ), 0


def other(at: Situation) -> int:
    """Return a voter that is not asked: Kafka's leader ends at a description of itself."""
    return next(node_id for node_id in at.quorum.nodes if node_id != at.asked.id)


def update(
    at: Situation,
    *,
    cluster_id: str | None = None,
    voter: ReplicaKey | None = None,
    epoch: int = 0,
    endpoints: Iterable[Endpoint] | None = None,
    versions: tuple[int, int] = (0, 1),
) -> tuple[Request, int]:
    """Describe a voter anew: the one that is not asked, and as it is, unless told otherwise."""
    voter = voter or at.key(other(at))
    return UpdateRaftVoterRequest(
        cluster_id=cluster_id or at.quorum.cluster_id,
        current_leader_epoch=at.epoch + epoch,
        voter_id=voter.id,
        voter_directory_id=voter.directory_id,
        listeners=[
            UpdateRaftVoterRequest.Listener(name=to.listener, host=to.host, port=to.port)
            for to in (at.endpoints(other(at)) if endpoints is None else endpoints)
        ],
        kraft_version_feature=UpdateRaftVoterRequest.KRaftVersionFeature(
            min_supported_version=versions[0], max_supported_version=versions[1]
        ),
    ), 0


ELSEWHERE: Final[dict[str, Partitions]] = {
    "no topic": (),
    "another topic": (("orders", (0,)),),
    "another partition": ((TOPIC, (1,)),),
    "two partitions": ((TOPIC, (0, 1)),),
    "two topics": ((TOPIC, (0,)), ("orders", (0,))),
}
LOST: Final = Uuid(b"a lost directory")
NOBODY: Final = ReplicaKey(-1)

VOTES: Final[dict[str, Case]] = {
    "as it should be": vote,
    "version 1": lambda at: vote(at, 1, pre_vote=False, epoch=-1),
    "version 0": lambda at: vote(at, 0, pre_vote=False, epoch=-1),
    "of another cluster": lambda at: vote(at, cluster_id=OTHER_CLUSTER),
    "of no voter": lambda at: vote(at, voter=NOBODY),
    "of another voter": lambda at: vote(at, voter=ReplicaKey(77, LOST)),
    "of another directory": lambda at: vote(at, voter=ReplicaKey(at.asked.id, LOST)),
    "of no directory": lambda at: vote(at, voter=ReplicaKey(at.asked.id)),
    "of a stale epoch": lambda at: vote(at, epoch=-1, last=SnapshotId(0, 0)),
    "of a stale epoch by nobody": lambda at: vote(
        at, epoch=-1, last=SnapshotId(0, 0), candidate=NOBODY
    ),
    "by nobody": lambda at: vote(at, candidate=NOBODY),
    "with a log of this epoch": lambda at: vote(at, pre_vote=False),
    "with a log of a later epoch": lambda at: vote(at, last=SnapshotId(9, at.epoch + 1)),
    "with a log that ends nowhere": lambda at: vote(at, last=SnapshotId(-1, 0)),
    "with a log of no epoch": lambda at: vote(at, last=SnapshotId(9, -1)),
    "with a shorter log": lambda at: vote(at, last=SnapshotId(1, at.epoch)),
    "in this epoch": lambda at: vote(at, pre_vote=False, last=SnapshotId(9, at.epoch - 1)),
    **{f"about {what}": partial(vote, about=about) for what, about in ELSEWHERE.items()},
}

BEGINS: Final[dict[str, Case]] = {
    "as it is": begin,
    "version 0": lambda at: begin(at, 0),
    "without endpoints": lambda at: begin(at, endpoints=()),
    "of another cluster": lambda at: begin(at, cluster_id=OTHER_CLUSTER),
    "of no voter": lambda at: begin(at, voter=NOBODY),
    "of another voter": lambda at: begin(at, voter=ReplicaKey(77, LOST)),
    "of another directory": lambda at: begin(at, voter=ReplicaKey(at.asked.id, LOST)),
    "of a stale epoch": lambda at: begin(at, epoch=-1),
    "of nobody": lambda at: begin(at, leader_id=-1),
    "of a stale epoch of nobody": lambda at: begin(at, leader_id=-1, epoch=-1),
    **{f"about {what}": partial(begin, about=about) for what, about in ELSEWHERE.items()},
}

ENDS: Final[dict[str, Case]] = {
    "of another cluster": lambda at: end(at, cluster_id=OTHER_CLUSTER),
    "of a stale epoch": lambda at: end(at, epoch=-1),
    "of a stale epoch, version 0": lambda at: end(at, 0, epoch=-1),
    "of nobody": lambda at: end(at, leader_id=-1),
    **{f"about {what}": partial(end, about=about) for what, about in ELSEWHERE.items()},
}

FETCHES: Final[dict[str, Case]] = {
    "from the end": fetch,
    **{
        f"from the end, version {version}": partial(fetch, version=version)
        for version in range(12, 18)
    },
    "waiting a little": lambda at: fetch(at, max_wait_ms=50),
    "by a consumer": lambda at: fetch(at, replica=NOBODY),
    "by who is asked": lambda at: fetch(at, replica=at.key(at.asked.id)),
    "by the id of who is asked": lambda at: fetch(at, replica=ReplicaKey(at.asked.id, LOST)),
    "of another cluster": lambda at: fetch(at, cluster_id=OTHER_CLUSTER),
    "of a stale epoch": lambda at: fetch(at, epoch=-1, last_epoch=0),
    "of a later epoch": lambda at: fetch(at, epoch=1),
    "from before everything": lambda at: fetch(at, offset=-1),
    "after an epoch that never was": lambda at: fetch(at, last_epoch=-1),
    "after a later epoch": lambda at: fetch(at, last_epoch=at.epoch + 1),
    "waiting for less than nothing": lambda at: fetch(at, max_wait_ms=-1),
    "from the very beginning": lambda at: fetch(at, offset=0, last_epoch=0),
    "from the end of the newest snapshot": lambda at: fetch(
        at, offset=snapshots_of(at)[-1].end_offset, last_epoch=snapshots_of(at)[-1].epoch
    ),
    "from behind the end": lambda at: fetch(at, offset=at.end_offset + 5),
    "from where this epoch begins, after another": lambda at: fetch(
        at, offset=at.start_offset + 1, last_epoch=at.epoch - 1
    ),
    "about no topic": lambda at: fetch(at, about=()),
    "about another topic": lambda at: fetch(at, about=((LOST, (0,)),)),
    "about a topic without an id": lambda at: fetch(at, about=((ZERO_UUID, (0,)),)),
    "about another partition": lambda at: fetch(at, about=((TOPIC_ID, (1,)),)),
    "about two partitions": lambda at: fetch(at, about=((TOPIC_ID, (0, 1)),)),
    "about two topics": lambda at: fetch(at, about=((TOPIC_ID, (0,)), (LOST, (0,)))),
}

SNAPSHOTS: Final[dict[str, Case]] = {
    "the newest": fetch_snapshot,
    "the newest, version 0": lambda at: fetch_snapshot(at, 0),
    "from the middle": lambda at: fetch_snapshot(at, position=100, max_bytes=100),
    "nothing of it": lambda at: fetch_snapshot(at, max_bytes=0),
    "of another cluster": lambda at: fetch_snapshot(at, cluster_id=OTHER_CLUSTER),
    "of a stale epoch": lambda at: fetch_snapshot(at, epoch=-1),
    "of a later epoch": lambda at: fetch_snapshot(at, epoch=1),
    "one that never was": lambda at: fetch_snapshot(at, snapshot=SnapshotId(3, 1)),
    "the formatted one": lambda at: fetch_snapshot(at, snapshot=SnapshotId(0, 0)),
    "from before its beginning": lambda at: fetch_snapshot(at, position=-1),
    "from its end": lambda at: fetch_snapshot(at, position=size_of_newest(at)),
    "from behind its end": lambda at: fetch_snapshot(at, position=size_of_newest(at) + 1),
    "of another topic": lambda at: fetch_snapshot(at, about=ELSEWHERE["another topic"]),
    "of another partition": lambda at: fetch_snapshot(at, about=ELSEWHERE["another partition"]),
}

DESCRIPTIONS: Final[dict[str, Case]] = {
    **{f"version {version}": partial(describe, version=version) for version in range(3)},
    **{f"about {what}": partial(describe, about=about) for what, about in ELSEWHERE.items()},
}

ADDS: Final[dict[str, Case]] = {
    "who is not there": add,
    "who is not there, version 0": lambda at: add(at, 0),
    "who has not caught up": lambda at: add(
        at, voter=ReplicaKey(101, STRANGER.directory_id), endpoints=at.endpoints(at.leader_id)
    ),
    "of another cluster": lambda at: add(at, cluster_id=OTHER_CLUSTER),
    "nobody": lambda at: add(at, voter=NOBODY),
    "somebody without a directory": lambda at: add(at, voter=ReplicaKey(STRANGER.id)),
    "somebody without a place": lambda at: add(at, endpoints=()),
    "somebody of another listener": lambda at: add(
        at, endpoints=[Endpoint("PLAINTEXT", "127.0.0.1", 1)]
    ),
    "a voter": lambda at: add(at, voter=at.key(at.asked.id)),
    "a voter with another directory": lambda at: add(at, voter=ReplicaKey(at.asked.id, LOST)),
}

REMOVALS: Final[dict[str, Case]] = {
    "who is no voter": remove,
    "of another cluster": lambda at: remove(at, cluster_id=OTHER_CLUSTER),
    "nobody": lambda at: remove(at, voter=NOBODY),
    "a voter without a directory": lambda at: remove(at, voter=ReplicaKey(at.asked.id)),
    "a voter with another directory": lambda at: remove(at, voter=ReplicaKey(at.asked.id, LOST)),
}

UPDATES: Final[dict[str, Case]] = {
    "of another cluster": lambda at: update(at, cluster_id=OTHER_CLUSTER),
    "of a stale epoch": lambda at: update(at, epoch=-1),
    "of a later epoch": lambda at: update(at, epoch=1),
    "of nobody": lambda at: update(at, voter=NOBODY),
    "of who is no voter": lambda at: update(at, voter=STRANGER),
    "of a voter without a directory": lambda at: update(at, voter=ReplicaKey(other(at))),
    "of a voter with another directory": lambda at: update(at, voter=ReplicaKey(other(at), LOST)),
    "without a place": lambda at: update(at, endpoints=()),
    "of another listener": lambda at: update(at, endpoints=[Endpoint("PLAINTEXT", "127.0.0.1", 1)]),
    "with versions below all": lambda at: update(at, versions=(-1, 1)),
    "with versions the wrong way round": lambda at: update(at, versions=(1, 0)),
    "with versions above all": lambda at: update(at, versions=(2, 3)),
}

CASES: Final[dict[str, Case]] = {
    f"{api}: {name}": case
    for api, cases in {
        "Vote": VOTES,
        "BeginQuorumEpoch": BEGINS,
        "EndQuorumEpoch": ENDS,
        "Fetch": FETCHES,
        "FetchSnapshot": SNAPSHOTS,
        "DescribeQuorum": DESCRIPTIONS,
        "AddRaftVoter": ADDS,
        "RemoveRaftVoter": REMOVALS,
        "UpdateRaftVoter": UPDATES,
    }.items()
    for name, case in cases.items()
}
"""Nothing here changes a quorum."""

DISRUPTIVE: Final[dict[str, Case]] = {
    "Vote: of a new epoch, with a shorter log": lambda at: vote(
        at, epoch=1, pre_vote=False, last=SnapshotId(1, at.epoch)
    ),
    "Vote: of a new epoch, with a log as long": lambda at: vote(at, epoch=1, pre_vote=False),
    "Vote: of a new epoch, with a longer log": lambda at: vote(
        at, epoch=5, pre_vote=False, last=SnapshotId(at.end_offset + 7, at.epoch)
    ),
    "Vote: of a new epoch, for another directory": lambda at: vote(
        at, epoch=1, pre_vote=False, voter=ReplicaKey(at.asked.id, LOST)
    ),
    "Vote: of a new epoch, version 1": lambda at: vote(at, 1, epoch=1, pre_vote=False),
    "Vote: whether there would be one, of a new epoch": lambda at: vote(at, epoch=1),
    "BeginQuorumEpoch: of a new epoch": lambda at: begin(
        at, epoch=1, leader_id=STRANGER.id, endpoints=nobody()
    ),
    "EndQuorumEpoch: of the leader": end,
    "EndQuorumEpoch: of the leader, version 0": lambda at: end(at, 0),
}
"""What ends an epoch."""

LONE: Final[dict[str, Case]] = {
    name: case
    for name, case in CASES.items()
    if not name.startswith(("BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot"))
    and not name.endswith(("newest snapshot", "UpdateRaftVoter: of another cluster"))
}
"""What may be asked of somebody who knows of no leader and has nothing."""
