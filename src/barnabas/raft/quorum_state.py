"""``quorum-state``: the vote and the leader of a replica's last epoch, which it must not forget.

    version 0   {"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,
                 "currentVoters":[{"voterId":1}],"data_version":0}
    version 1   {"leaderId":-1,"leaderEpoch":2,"votedId":1,
                 "votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}

One line of JSON, replaced as a whole (``log.checkpoints``), so that after any crash it is its old
or its new content.  The version follows kraft.version: while voters are configured nobody knows
their directories, and a vote is for an id.

A file that cannot be read stops the node.  There is nothing safe to take its place: a replica that
has forgotten its vote would give it twice, and an epoch could have two leaders (R-02, S-04).

Kafka's FileQuorumStateStore.java and QuorumStateData.json fix it.
"""

import json
from collections.abc import Mapping
from typing import Final

from barnabas.log.checkpoints import Checkpoint
from barnabas.log.names import TEMPORARY
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import ZERO_UUID, Uuid, parse_uuid, uuid_text
from barnabas.raft.states import Election
from barnabas.raft.voters import RECONFIGURABLE, ReplicaKey
from barnabas.runtime.disk import Disk

QUORUM_STATE: Final = "quorum-state"

NOBODY: Final = -1

DATA_VERSION: Final = "data_version"
WITHOUT_DIRECTORIES: Final = 0
WITH_DIRECTORIES: Final = 1

WAY_OUT: Final = (
    "without it this replica could vote twice in an epoch; bring the file back, or remove the "
    "replica from the quorum and format its directory anew"
)


class QuorumState:
    """The file, and what it says."""

    def __init__(self, disk: Disk, directory: str) -> None:
        """Read the file; ``CorruptLog`` if it is none."""
        for name in disk.names(directory):
            # Kafka's has no number in it.
            if name.startswith(f"{QUORUM_STATE}.") and name.endswith(TEMPORARY):
                disk.remove(f"{directory}/{name}")
        self._file: Final = Checkpoint(disk, directory, QUORUM_STATE)
        content = self._file.read()
        self.election: Election | None = (
            None if content is None else decode_election(content, self._file.path)
        )

    async def replace(self, election: Election, version: int, voters: tuple[int, ...]) -> None:
        """Return when an election is durable.

        ``version`` is the kraft.version in force, ``voters`` are the ids of who votes.
        """
        check_promises(self.election, election)
        # What is about to be durable counts from now on: nothing older may follow it.
        self.election = election
        await self._file.replace(encode_election(election, version, voters))


def check_promises(before: Election | None, after: Election) -> None:
    """Assert that what was promised stays so: no epoch goes back, no vote is given twice."""
    if before is None:
        return
    assert after.epoch >= before.epoch, f"{after} would forget {before}"
    if after.epoch > before.epoch:
        return
    # Who leads or has led the epoch never votes in it again and may forget its vote.
    assert after.voted in (None, before.voted) or before.voted is None, f"{after} after {before}"
    same_leader = after.leader_id == before.leader_id
    assert same_leader or None in (before.leader_id, after.leader_id), f"{after} after {before}"


def encode_election(election: Election, version: int, voters: tuple[int, ...]) -> bytes:
    """Return the content of the file, to the letter as Kafka writes it."""
    leader_id = NOBODY if election.leader_id is None else election.leader_id
    voted_id = NOBODY if election.voted is None else election.voted.id
    if version >= RECONFIGURABLE:
        directory_id = ZERO_UUID if election.voted is None else election.voted.directory_id
        told: dict[str, object] = {
            "leaderId": leader_id,
            "leaderEpoch": election.epoch,
            "votedId": voted_id,
            "votedDirectoryId": uuid_text(directory_id),
            DATA_VERSION: WITH_DIRECTORIES,
        }
    else:
        told = {
            "clusterId": "",
            "leaderId": leader_id,
            "leaderEpoch": election.epoch,
            "votedId": voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": each} for each in voters],
            DATA_VERSION: WITHOUT_DIRECTORIES,
        }
    return json.dumps(told, separators=(",", ":")).encode()


def decode_election(content: bytes, path: str) -> Election:
    """Read the content of the file; ``CorruptLog`` says what is wrong and what to do."""
    try:
        told = json.loads(content.partition(b"\n")[0])
    except ValueError as error:
        raise CorruptLog(f"{path}: {content[:80]!r} is no JSON: {error}; {WAY_OUT}") from error
    if not isinstance(told, dict):
        raise CorruptLog(f"{path}: {content[:80]!r} is no JSON object; {WAY_OUT}")
    version = told.get(DATA_VERSION)
    if version not in (WITHOUT_DIRECTORIES, WITH_DIRECTORIES) or isinstance(version, bool):
        raise CorruptLog(
            f"{path}: {DATA_VERSION} is {version!r}, known are {WITHOUT_DIRECTORIES} and "
            f"{WITH_DIRECTORIES}: another release has written this; {WAY_OUT}"
        )
    epoch = number(told, "leaderEpoch", path)
    leader_id = number(told, "leaderId", path)
    voted_id = number(told, "votedId", path)
    if epoch < 0 or min(leader_id, voted_id) < NOBODY:
        raise CorruptLog(f"{path}: {content[:80]!r} names what cannot be; {WAY_OUT}")
    directory_id = directory_in(told, path) if version == WITH_DIRECTORIES else ZERO_UUID
    return Election(
        epoch,
        None if leader_id == NOBODY else leader_id,
        None if voted_id == NOBODY else ReplicaKey(voted_id, directory_id),
    )


def number(told: Mapping[str, object], name: str, path: str) -> int:
    """Return one of the numbers in the file."""
    found = told.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise CorruptLog(f"{path}: {name} is {found!r}, not a number; {WAY_OUT}")
    return found


def directory_in(told: Mapping[str, object], path: str) -> Uuid:
    """Return the directory of whom the vote was given to."""
    text = told.get("votedDirectoryId")
    try:
        return parse_uuid(str(text))
    except ValueError as error:
        raise CorruptLog(f"{path}: votedDirectoryId is {text!r}, not a UUID; {WAY_OUT}") from error
