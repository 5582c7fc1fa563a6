"""What a quorum writes into its own log: who leads, who votes, where a snapshot begins and ends.

    LEADER_CHANGE [KRAFT_VERSION KRAFT_VOTERS]        the first batch of an epoch (R-31)
    KRAFT_VOTERS                                      a voter more, or less, or moved (KIP-853)
    SNAPSHOT_HEADER [KRAFT_VERSION [KRAFT_VOTERS]]    the first batch of a snapshot
    SNAPSHOT_FOOTER                                   its last

Here these are values to messages to bytes and back; ``records.control`` makes batches of the bytes.
All of them have version 0 in Kafka 4.3 (ControlRecordUtils.java), which is their first field.  One
of a later version is refused: what it changed about who votes nobody here can know.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, TypeVar

from barnabas.model.errors import ProtocolError
from barnabas.model.value import value
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.records.batch import BatchHeader
from barnabas.records.compression import InvalidRecord
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import Record, records
from barnabas.runtime.disk import Buffer
from barnabas.wire import codec
from barnabas.wire.messages.stored.kraft_version_record import KRaftVersionRecord
from barnabas.wire.messages.stored.leader_change_message import LeaderChangeMessage
from barnabas.wire.messages.stored.snapshot_footer_record import SnapshotFooterRecord
from barnabas.wire.messages.stored.snapshot_header_record import SnapshotHeaderRecord
from barnabas.wire.messages.stored.voters_record import VotersRecord
from barnabas.wire.structs import Message

M = TypeVar("M", bound=Message)

VERSION: Final = 0


@value
class LeaderChanged:
    """Somebody leads from here on."""

    leader_id: int


@value
class VersionSet:
    """The kraft.version is another one."""

    version: int


@value
class VotersSet:
    """Others vote."""

    voters: VoterSet


@value
class SnapshotBegins:
    """A snapshot follows; the youngest record in it was appended at this time."""

    last_contained_ms: int


@value
class SnapshotEnds:
    """The snapshot is whole."""


ControlRecord: TypeAlias = LeaderChanged | VersionSet | VotersSet | SnapshotBegins | SnapshotEnds


# --- to bytes --------------------------------------------------------------------------------


def leader_change(leader_id: int, voters: Iterable[int], granting: Iterable[int]) -> bytes:
    """Return the record that begins an epoch.

    The directories of the voters are not in it, although version 1 of the message has a place for
    them: Kafka writes version 0.
    """
    return codec.encode(
        LeaderChangeMessage(
            version=VERSION,
            leader_id=leader_id,
            voters=[LeaderChangeMessage.Voter(voter_id=each) for each in voters],
            granting_voters=[LeaderChangeMessage.Voter(voter_id=each) for each in granting],
        ),
        VERSION,
    )


def kraft_version(version: int) -> bytes:
    """Return the record of a kraft.version."""
    return codec.encode(KRaftVersionRecord(version=VERSION, kraft_version=version), VERSION)


def voters_record(voters: VoterSet) -> bytes:
    """Return the record of a voter set."""
    return codec.encode(
        VotersRecord(version=VERSION, voters=[voter_entry(voter) for voter in voters.voters]),
        VERSION,
    )


def voter_entry(voter: Voter) -> VotersRecord.Voter:
    """Return one voter as the record describes it."""
    least, most = voter.versions
    return VotersRecord.Voter(
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        endpoints=[
            VotersRecord.Endpoint(name=each.listener, host=each.host, port=each.port)
            for each in voter.endpoints
        ],
        kraft_version_feature=VotersRecord.KRaftVersionFeature(
            min_supported_version=least, max_supported_version=most
        ),
    )


def snapshot_header(last_contained_ms: int) -> bytes:
    """Return the record that begins a snapshot."""
    return codec.encode(
        SnapshotHeaderRecord(version=VERSION, last_contained_log_timestamp=last_contained_ms),
        VERSION,
    )


def snapshot_footer() -> bytes:
    """Return the record that ends a snapshot."""
    return codec.encode(SnapshotFooterRecord(version=VERSION), VERSION)


# --- from bytes ------------------------------------------------------------------------------


def control_records(
    data: Buffer, position: int, header: BatchHeader
) -> Iterator[tuple[int, ControlRecord]]:
    """Yield offset and content of the records in a control batch whose checksum is right.

    Raises ``InvalidRecord`` for what no quorum of ours writes.
    """
    for record in records(data, position, header):
        try:
            yield record.offset, control_record_of(record)
        except ProtocolError as error:
            raise InvalidRecord(f"control record at offset {record.offset}: {error}") from error


def control_record_of(record: Record) -> ControlRecord:
    """Return what a control record says."""
    kind = control_type(record)
    content = record.value or b""
    match kind:
        case ControlType.LEADER_CHANGE:
            return LeaderChanged(decoded(LeaderChangeMessage, content).leader_id)
        case ControlType.KRAFT_VERSION:
            return VersionSet(decoded(KRaftVersionRecord, content).kraft_version)
        case ControlType.KRAFT_VOTERS:
            return VotersSet(voter_set(decoded(VotersRecord, content)))
        case ControlType.SNAPSHOT_HEADER:
            header = decoded(SnapshotHeaderRecord, content)
            return SnapshotBegins(header.last_contained_log_timestamp)
        case ControlType.SNAPSHOT_FOOTER:
            decoded(SnapshotFooterRecord, content)
            return SnapshotEnds()
        case _:
            told = "a type that nobody knows" if kind is None else f"an end of a {kind.name}"
            raise InvalidRecord(f"control record at offset {record.offset}: {told}")


def decoded(message: type[M], content: Buffer) -> M:
    """Read a message of version 0; what follows it is nobody's business, as in Kafka."""
    version = int.from_bytes(content[:2], signed=True)
    if version != VERSION or len(content) < 2:
        raise InvalidRecord(f"{message.__name__} of version {version}, known is {VERSION}")
    read, _ = codec.decoder(message, VERSION)(content, 0)
    assert isinstance(read, message), f"{read} is no {message.__name__}"
    return read


def voter_set(record: VotersRecord) -> VoterSet:
    """Return the voters of a record; two of one id are nobody's quorum."""
    voters = tuple(
        Voter(
            ReplicaKey(each.voter_id, each.voter_directory_id),
            tuple(Endpoint(at.name, at.host, at.port) for at in each.endpoints),
            (
                each.kraft_version_feature.min_supported_version,
                each.kraft_version_feature.max_supported_version,
            ),
        )
        for each in record.voters
    )
    ids = [voter.key.id for voter in voters]
    if len(set(ids)) != len(ids) or not ids:
        raise InvalidRecord(f"a voters record of the voters {ids}")
    return VoterSet.of(voters)
