"""What a replica is told about itself."""

from barnabas.raft.config import RaftConfig
from barnabas.raft.voters import Voter
from tests.raft.kit import at, key


def test_the_defaults_are_kafkas() -> None:
    config = RaftConfig(key(1), "cluster")
    assert config.election_timeout_ms == config.election_backoff_max_ms == 1_000
    assert config.fetch_timeout_ms == config.request_timeout_ms == 2_000
    assert config.retry_backoff_ms == 20
    assert config.fetch_wait_ms == 500
    assert config.fetch_bytes_max == 8 * 1024 * 1024
    assert not config.auto_join


def test_a_leader_waits_half_as_long_again_as_a_follower_does() -> None:
    assert RaftConfig(key(1), "cluster", fetch_timeout_ms=500).check_quorum_ms == 750


def test_a_replica_describes_itself_as_a_voters_record_would() -> None:
    assert RaftConfig(key(1), "cluster", at(1)).voter == Voter(key(1), at(1), (0, 1))
