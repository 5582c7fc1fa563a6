"""The stupid twins: what a log must say of its batches, read from all of them, one by one.

No index, no snapshot, no window: these functions go through every batch there ever was.  What they
return is compared with what the log says, which goes through as few as it can.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.log.aborted import AbortedTransaction
from barnabas.log.producers import Origin, ProducerTable
from barnabas.log.snapshots import marker_in
from barnabas.records.batch import SEQUENCE_MODULUS, BatchHeader, header_at
from barnabas.records.record import records


class Reading:
    """What all batches of a log say together."""

    def __init__(self, stored: Sequence[bytes]) -> None:
        self.producers: Final = ProducerTable(0)
        # Every transaction that was aborted, with the offset of its marker as its last.
        self.aborted: Final[list[AbortedTransaction]] = []
        # Producers whose sequence numbers leave something out, or say it twice.
        self.broken: Final[dict[int, str]] = {}
        for data in stored:
            self._take(data)

    def _take(self, data: bytes) -> None:
        header = header_at(data)
        staging = self.producers.stage(Origin.REPLICATION)
        if header.has_producer_id and header.is_control:
            marker = marker_in(data, 0, header)
            if marker is not None:
                staging.marker(header, marker, header.base_offset)
        elif header.has_producer_id:
            self._follow(header)
            staging.batch(header, header.base_offset)
        for ended, stable_offset in self.producers.install(staging, header.next_offset):
            if not ended.commit:
                self.aborted.append(
                    AbortedTransaction(
                        ended.producer_id, ended.first_offset, ended.last_offset, stable_offset
                    )
                )

    def _follow(self, header: BatchHeader) -> None:
        entry = self.producers.entries.get(header.producer_id)
        if entry is None:
            return
        expected = 0
        if header.producer_epoch == entry.epoch and entry.batches:
            expected = (entry.last_sequence + 1) % SEQUENCE_MODULUS
        if header.base_sequence != expected or header.producer_epoch < entry.epoch:
            self.broken[header.producer_id] = (
                f"sequence {header.base_sequence} of epoch {header.producer_epoch} at "
                f"{header.base_offset}, after {entry.last_sequence} of epoch {entry.epoch}"
            )


def is_reduced(held: Sequence[bytes], stored: Sequence[bytes], end: int) -> bool:
    """Tell whether compaction may have made the one of the other, up to an end: S-14."""
    whole = [data for data in stored if header_at(data).last_offset < end]
    by_base = {header_at(data).base_offset: data for data in whole}
    bases = [header_at(data).base_offset for data in held]
    if bases != sorted(set(bases)):
        return False
    for data in held:
        before = by_base.get(header_at(data).base_offset)
        if before is None or not set(entries(data)) <= set(entries(before)):
            return False
    return newest(held, whole) == newest(whole, whole)


def entries(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """Return offset, key and value of the records of a batch."""
    found = records(data, 0, header_at(data))
    return [(each.offset, bytes(each.key or b""), bytes(each.value or b"")) for each in found]


def newest(held: Sequence[bytes], whole: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
    """Return offset and value of the last record of every key, aborted ones left out."""
    hidden = aborted_bases(whole)
    found: dict[bytes, tuple[int, bytes]] = {}
    for data in held:
        header = header_at(data)
        if not header.is_control and header.base_offset not in hidden:
            found.update({key: (offset, each) for offset, key, each in entries(data)})
    return found


def aborted_bases(whole: Sequence[bytes]) -> set[int]:
    """Return the base offsets of batches whose transactions were aborted or are open."""
    running: dict[int, list[BatchHeader]] = {}
    hidden: set[int] = set()
    for data in whole:
        header = header_at(data)
        if header.is_control:
            batch_headers = running.pop(header.producer_id, [])
            marker = marker_in(data, 0, header)
            if marker is not None and not marker.commit:
                hidden |= {each.base_offset for each in batch_headers}
        elif header.is_transactional:
            running.setdefault(header.producer_id, []).append(header)
    return hidden
