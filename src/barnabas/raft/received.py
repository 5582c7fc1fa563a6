"""What a leader sent, judged before anything is done with it.

A follower appends what it gets as it is, so that all logs are the same to the byte.  It does not
believe it: the checksum of every batch has to be right (S-02), offsets and epochs, which no
checksum covers, have to continue the log, and control records have to say something that can be.
What is refused here is the leader's error, or the network's, and counts as no answer at all.
"""

from barnabas.model.errors import ErrorCode, Refused
from barnabas.raft.control_records import LeaderChanged, VersionSet, VotersSet, control_records
from barnabas.raft.messages import NO_BATCHES, Batches
from barnabas.raft.voters import VoterSet
from barnabas.records.batch import BatchHeader, CorruptBatch, OldFormat, batches, verify
from barnabas.records.compression import UnsupportedCodec
from barnabas.records.snapshot import BATCH_BYTES_MAX
from barnabas.runtime.disk import Buffer


def judged(data: Buffer, offset: int, last_epoch: int, epoch_max: int) -> Batches:
    """Return the whole batches that continue a log at an offset; ``Refused`` if they do not.

    ``last_epoch`` is that of the record before, ``epoch_max`` the one the leader leads in.  A last
    batch that the answer cuts short is left out.
    """
    if not data:
        return NO_BATCHES
    end, expected, epoch = 0, offset, last_epoch
    epochs: list[tuple[int, int]] = []
    voters: list[tuple[int, VoterSet]] = []
    versions: list[tuple[int, int]] = []
    try:
        for position, header in batches(data):
            verify(data, position, header)
            refuse_misfit(header, expected, epoch, epoch_max)
            if header.is_control:
                for at, said in control_records(data, position, header):
                    match said:
                        case VersionSet(version):
                            versions.append((at, version))
                        case VotersSet(found):
                            voters.append((at, found))
                        case LeaderChanged():
                            pass
                        case _:
                            raise refusal(f"{said} at offset {at} belongs into a snapshot")
            end, expected, epoch = (
                position + header.size_bytes,
                header.next_offset,
                header.leader_epoch,
            )
            if epochs and epochs[-1][0] == epoch:
                epochs.pop()
            epochs.append((epoch, expected))
    except (CorruptBatch, OldFormat, UnsupportedCodec) as error:
        raise refusal(str(error)) from error
    if not end:
        raise refusal(f"no whole batch in {len(data)} bytes")
    return Batches(bytes(data[:end]), expected, tuple(epochs), tuple(voters), tuple(versions))


def refuse_misfit(header: BatchHeader, expected: int, last_epoch: int, epoch_max: int) -> None:
    """Refuse a batch that a quorum does not write, or not here."""
    found = ""
    if header.base_offset != expected:
        found = f"it has to go on at {expected}"
    elif not last_epoch <= header.leader_epoch <= epoch_max:
        found = f"its epoch is {header.leader_epoch}, not between {last_epoch} and {epoch_max}"
    elif header.record_count < 1 or header.record_count != header.last_offset_delta + 1:
        found = f"{header.record_count} records take {header.last_offset_delta + 1} offsets"
    elif header.size_bytes > BATCH_BYTES_MAX:
        found = f"{header.size_bytes} bytes, at most {BATCH_BYTES_MAX} may be"
    elif header.has_producer_id or header.is_transactional:
        found = f"producer {header.producer_id} has no place in this log"
    if found:
        raise refusal(f"batch from {header.base_offset} to {header.last_offset}: {found}")


def refusal(why: str) -> Refused:
    """Return what to say about bytes that are no part of the log."""
    return Refused(ErrorCode.CORRUPT_MESSAGE, why)
