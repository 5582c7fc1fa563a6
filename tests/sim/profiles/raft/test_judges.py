"""All oracles together."""

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from tests.sim.profiles.raft.cluster import cluster


def test_a_vote_that_is_not_durable_ends_the_run_when_it_is_told() -> None:
    with cluster(voters=3) as quorum:
        judges = quorum.scene.judges
        assert len(judges.voter_sets()) == 1
        partition = VoteRequest.PartitionData(replica_epoch=99, replica_id=2)
        asked = VoteRequest(topics=[VoteRequest.TopicData(partitions=[partition])])
        said = VoteResponse.PartitionData(leader_epoch=1, vote_granted=True)
        answer = VoteResponse(topics=[VoteResponse.TopicData(partitions=[said])])
        judges.told("n1.1", answer, asked)
        found = quorum.world.violation
        assert found is not None
        assert found.oracle == "R-02"
        quorum.world.violation = None


def test_what_an_administrator_was_told_is_marked() -> None:
    with cluster(voters=1) as quorum:
        quorum.scene.judges.administered(AddRaftVoterRequest(), ErrorCode.DUPLICATE_VOTER)
        assert quorum.world.seen["AddRaftVoterRequest ended DUPLICATE_VOTER"] == 1
