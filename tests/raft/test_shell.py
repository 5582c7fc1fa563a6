"""Replicas at work on simulated hosts: what listeners are told, what state machines may do."""

from functools import partial

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.net.peers import Peers
from barnabas.raft.config import RaftConfig
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import ReplicaKey
from barnabas.records.snapshot import BATCH_BYTES_MAX
from barnabas.runtime.network import Address
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.vote import VoteRequest
from tests.raft.members import PORT, Member, Notes, put, quorum_of

WORDS = [f"value {number}" for number in range(20)]


def test_what_the_leader_appends_is_told_to_all_in_its_order() -> None:
    with quorum_of(3) as members:
        members.put(members.leader(), *WORDS)
        members.until(lambda: all(each.notes.values == WORDS for each in members.all))


def test_one_voter_alone_leads_and_commits() -> None:
    with quorum_of(1) as members:
        members.put(members.leader(), *WORDS)
        assert members.all[0].notes.values == WORDS


def test_who_leads_is_told_when_everything_before_was_handed_over() -> None:
    with quorum_of(3) as members:
        first = members.leader()
        members.put(first, *WORDS)
        members.world.kill(first.host)
        second = members.leader(above=first.epoch)
        # It knows all that was committed before it may append.
        assert second.notes.values == WORDS
        members.world.restart(first.host)
        members.put(second, "after")
        members.until(lambda: first.notes.values == [*WORDS, "after"])


def test_a_leader_is_told_that_it_leads_no_more_before_anybody_else_does() -> None:
    with quorum_of(3) as members:
        first = members.leader()
        epoch = first.epoch
        members.world.pause(first.host)
        second = members.leader(above=epoch)
        members.world.thaw(first.host)
        members.until(lambda: first.notes.told[-1] == (second.config.key.id, second.epoch))
        claimed = [each for each in first.notes.told if each[0] == first.config.key.id]
        assert claimed == [(first.config.key.id, epoch)]


def test_who_does_not_lead_may_not_append() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        other = next(each for each in members.all if each is not leader)
        job = other.do(partial(put, text="no"))
        members.finish(job)
        assert job.refused is not None
        assert job.refused.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_append_of_an_epoch_that_is_over_is_refused() -> None:
    async def stale(member: Member) -> int:
        return member.quorum.append(member.epoch - 1, [b"stale"])

    with quorum_of(1) as members:
        job = members.leader().do(stale)
        members.finish(job)
        assert job.refused is not None


def test_what_fits_no_batch_is_refused_and_changes_nothing() -> None:
    async def huge(member: Member) -> int:
        return member.quorum.append(member.epoch, [bytes(BATCH_BYTES_MAX)])

    with quorum_of(1) as members:
        leader = members.leader()
        job = leader.do(huge)
        members.finish(job)
        assert job.refused is not None
        assert job.refused.code is ErrorCode.RECORD_LIST_TOO_LARGE
        members.put(leader, "small")
        assert leader.notes.values == ["small"]


def test_who_waits_for_a_commit_learns_that_leadership_was_lost() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        others = [each for each in members.all if each is not leader]
        for other in others:
            members.world.kill(other.host)
        job = leader.do(partial(put, text="nobody hears"))
        members.finish(job)
        assert job.refused is not None
        assert "may be" in job.refused.why


def test_a_listener_that_comes_late_is_told_everything_and_who_leads() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        members.put(leader, *WORDS)
        late = Notes()

        async def listen(member: Member) -> None:
            member.quorum.listen(late)

        members.finish(leader.do(listen))
        members.until(lambda: late.values == WORDS and late.told[-1] == leader.notes.told[-1])
        # Nothing was claimed before it had caught up (MR-09, R-26).
        assert [each[0] for each in late.told] == [None, leader.config.key.id]


def snapshot_here(member: Member) -> SnapshotId:
    """Return a snapshot of everything that a member's listener has."""
    return SnapshotId(member.notes.offsets[-1], member.quorum.node.epoch)


async def take_snapshot(member: Member) -> SnapshotId:
    """Write a snapshot of everything that a member's listener has."""
    snapshot = snapshot_here(member)
    values = [text.encode() for text in member.notes.values]
    await member.quorum.write_snapshot(snapshot, values, 0)
    return snapshot


def test_a_newcomer_begins_with_a_snapshot_and_goes_on_with_the_log() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        members.put(leader, *WORDS)
        job = leader.do(take_snapshot)
        members.finish(job)
        members.put(leader, "after")
        observer = members.add(
            RaftConfig(ReplicaKey(9, Uuid(bytes([9]) * 16)), "cluster", can_vote=False)
        )
        members.until(lambda: observer.notes.values == [*WORDS, "after"])
        assert observer.notes.loaded == [job.result]
        assert observer.quorum.node.outline.start_offset == job.result.end_offset


def test_old_snapshots_go_when_there_is_too_much_and_a_restart_begins_with_the_newest() -> None:
    with quorum_of(1, retention_bytes=0) as members:
        leader = members.leader()
        members.put(leader, *WORDS[:10])
        members.finish(leader.do(take_snapshot))
        members.put(leader, *WORDS[10:])
        job = leader.do(take_snapshot)
        members.finish(job)
        outline = leader.quorum.node.outline
        members.until(lambda: list(outline.snapshots) == [job.result])
        assert outline.start_offset == job.result.end_offset
        members.put(leader, "after")
        members.world.cut_power(leader.host, "prefix")
        before = leader.notes
        members.world.restart(leader.host)
        members.until(lambda: leader.notes is not before and len(leader.notes.values) == 21)
        assert leader.notes.values == [*WORDS, "after"]
        assert leader.notes.loaded == [job.result]


def test_a_leader_that_stops_tells_its_successor_not_to_wait() -> None:
    async def stop(member: Member) -> None:
        await member.seat.close(1_000)

    with quorum_of(3) as members:
        leader = members.leader()
        members.put(leader, *WORDS)
        began_ms = members.world.now_ms
        job = leader.do(stop)
        members.leader(above=leader.epoch)
        took_ms = members.world.now_ms - began_ms
        assert took_ms < leader.config.fetch_timeout_ms
        members.finish(job)


async def stop_and_be_asked(member: Member) -> bool:
    """Stop, and tell whether somebody who asks then is answered."""
    await member.quorum.stop(1_000)
    topic = VoteRequest.TopicData(
        topic_name="__cluster_metadata",
        partitions=[VoteRequest.PartitionData(replica_epoch=100, replica_id=2, last_offset=100)],
    )
    request = VoteRequest(cluster_id=None, voter_id=member.config.key.id, topics=[topic])
    runtime = member.seat.peers.runtime
    asked = runtime.tasks.spawn(member.quorum.answer(request, 0, "CONTROLLER"), "asked")
    await runtime.clock.sleep_ms(100)
    answered = asked.done()
    asked.cancel()
    return answered


def test_who_is_over_decides_nothing_any_more() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        job = leader.do(stop_and_be_asked)
        members.finish(job)
        assert not job.result
        assert leader.quorum.node.epoch < 100


async def describe(member: Member, leader: str) -> tuple[object, object]:
    """Ask a leader over the wire what an operator would ask."""
    peers = Peers(member.seat.peers.runtime, "operator")
    address = Address(leader, PORT)
    topic = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata",
        partitions=[DescribeQuorumRequest.PartitionData(partition_index=0)],
    )
    quorum = await peers.ask(address, DescribeQuorumRequest(topics=[topic]), 1_000)
    cluster = await peers.ask(address, DescribeClusterRequest(endpoint_type=2), 1_000)
    await peers.close()
    return quorum, cluster


def test_operators_are_told_who_leads_and_how_far_everybody_is() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        members.put(leader, *WORDS)
        other = next(each for each in members.all if each is not leader)
        job = other.do(partial(describe, leader=leader.host))
        members.finish(job)
        quorum, cluster = job.result
        assert isinstance(quorum, DescribeQuorumResponse)
        (told,) = quorum.topics[0].partitions
        assert (told.error_code, told.leader_id) == (0, leader.config.key.id)
        assert [state.replica_id for state in told.current_voters] == [1, 2, 3]
        assert told.high_watermark == leader.quorum.high_watermark
        assert isinstance(cluster, DescribeClusterResponse)
        assert cluster.controller_id == leader.config.key.id


async def is_foreign(member: Member) -> bool:
    """Wait a while and tell what a member thinks of those that it asks."""
    await member.seat.peers.runtime.clock.sleep_ms(1_000)
    return member.quorum.node.is_foreign


def test_an_observer_of_another_cluster_learns_that_it_is() -> None:
    with quorum_of(1) as members:
        members.leader()
        id_ = ReplicaKey(9, Uuid(bytes([9]) * 16))
        stranger = members.add(RaftConfig(id_, "another", can_vote=False))
        job = stranger.do(is_foreign)
        members.finish(job)
        assert job.result


def test_the_story_of_what_happened_is_kept() -> None:
    with quorum_of(1) as members:
        leader = members.leader()
        members.put(leader, *WORDS)
        assert leader.quorum.story
        _, event, effects = leader.quorum.story[-1]
        assert event is not None
        assert isinstance(effects, list)


def test_a_quorum_of_five_survives_two() -> None:
    with quorum_of(5) as members:
        leader = members.leader()
        for other in [each for each in members.all if each is not leader][:2]:
            members.world.kill(other.host)
        members.put(leader, *WORDS)
