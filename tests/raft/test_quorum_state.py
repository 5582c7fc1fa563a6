"""The vote on the disk, to the letter as Kafka writes it."""

import pytest

from barnabas.model.errors import CorruptLog
from barnabas.model.ids import Uuid
from barnabas.raft.quorum_state import (
    QuorumState,
    check_promises,
    decode_election,
    encode_election,
)
from barnabas.raft.states import Election
from barnabas.raft.voters import ReplicaKey
from tests.log.storage import PATH, Machine, run

DIRECTORY_ID = Uuid(bytes.fromhex("27c68069f70b42dd9baad3495ff4cc81"))

# As FileQuorumStateStore.java writes them, field by field in this order.
STATIC = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
)
DYNAMIC = (
    b'{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAafcLQt2bqtNJX_TMgQ",'
    b'"data_version":1}'
)


def test_both_versions_are_written_as_kafka_writes_them() -> None:
    assert encode_election(Election(2, 1), 0, (1, 2)) == STATIC
    assert encode_election(Election(2, None, ReplicaKey(1, DIRECTORY_ID)), 1, (1, 2)) == DYNAMIC
    nobody = encode_election(Election(5), 1, ())
    assert b'"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"' in nobody


def test_what_was_written_is_read_in_either_version() -> None:
    for election in (
        Election(0),
        Election(2, 1),
        Election(7, None, ReplicaKey(3, DIRECTORY_ID)),
        Election(7, 3, ReplicaKey(3, DIRECTORY_ID)),
    ):
        assert decode_election(encode_election(election, 1, ()), "here") == election
        static = decode_election(encode_election(election, 0, (1,)), "here")
        assert (static.epoch, static.leader_id) == (election.epoch, election.leader_id)
        assert static.voted == (None if election.voted is None else ReplicaKey(3))


def test_only_the_first_line_counts_as_in_kafka() -> None:
    assert decode_election(STATIC + b"\ngarbage", "here") == Election(2, 1)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (DYNAMIC[:-1], "no JSON"),
        (b"null", "no JSON object"),
        (DYNAMIC.replace(b'_version":1', b'_version":7'), "data_version is 7, known are 0 and 1"),
        (DYNAMIC.replace(b'_version":1', b'_version":true'), "data_version is True"),
        (DYNAMIC.replace(b"J8a", b"J8"), "not a UUID"),
        (DYNAMIC.replace(b'"leaderEpoch":2,', b""), "leaderEpoch is None"),
        (DYNAMIC.replace(b'"votedId":1', b'"votedId":-3'), "cannot be"),
    ],
)
def test_what_cannot_be_a_vote_is_refused_with_the_way_out(content: bytes, why: str) -> None:
    with pytest.raises(CorruptLog, match=f"^here: .*{why}.*format its directory anew$"):
        decode_election(content, "here")


def test_promises_bind_within_an_epoch_and_end_with_it() -> None:
    one, other = ReplicaKey(1), ReplicaKey(2)
    check_promises(None, Election(0))
    check_promises(Election(3, None, one), Election(4, None, other))
    check_promises(Election(3, None, one), Election(3, 2, one))
    check_promises(Election(3, 2), Election(3, None, one))
    # A candidate that has become the leader.
    check_promises(Election(3, None, one), Election(3, 1, None))
    for before, after in (
        (Election(3), Election(2)),
        (Election(3, None, one), Election(3, None, other)),
        (Election(3, 1), Election(3, 2)),
    ):
        with pytest.raises(AssertionError):
            check_promises(before, after)


def test_the_file_is_replaced_as_a_whole() -> None:
    machine = Machine()
    state = QuorumState(machine.process, PATH)
    assert state.election is None
    run(state.replace(Election(1, None, ReplicaKey(1, DIRECTORY_ID)), 1, ()))
    machine.crash("data-first")
    again = QuorumState(machine.process, PATH)
    assert again.election == Election(1, None, ReplicaKey(1, DIRECTORY_ID))
