"""A small replicated map: the state machine that stands on the simulated quorum's log.

Its records are metadata records like any other (``ConfigRecord``), so everything between a decision
and the disk is the product's.  A table also carries a *digest* of every value it was ever given, in
order: two replicas that skipped, repeated or swapped a record differ for ever, even if the keys
were overwritten since.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final
from zlib import crc32

from barnabas.model.value import value
from barnabas.runtime.disk import Buffer
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.metadata_records import decode_record, encode_record

# Kafka's number for the configuration of a broker; any would do.
RESOURCE: Final = 4

# The row of a snapshot that holds the digest.
DIGEST: Final = "#digest"

VERSION: Final = 0


@value
class Table:
    """The newest value of every key, and the digest of all there ever were."""

    rows: Mapping[str, str] = field(default_factory=dict)
    digest: int = 0

    def apply(self, entries: Sequence[ConfigRecord]) -> "Table":
        """Return the table with some more values."""
        rows, digest = dict(self.rows), self.digest
        for entry in entries:
            text = entry.value or ""
            if entry.name == DIGEST:
                digest = int(text)
            else:
                digest = crc32(f"{entry.name}={text}".encode(), digest)
                rows[entry.name] = text
        return Table(rows, digest)

    def entries(self) -> Iterator[ConfigRecord]:
        """Yield the records that make this table of an empty one: the content of a snapshot."""
        for key, text in self.rows.items():
            yield entry(key, text)
        # Last, since every row before it moves the digest.
        yield entry(DIGEST, str(self.digest))


class Tables:
    """The reference: every table that the committed records have made."""

    def __init__(self) -> None:
        self.at: Final[dict[int, Table]] = {0: Table()}
        """The table at every committed end of a batch."""
        self.values: Final[dict[str, int]] = {}
        """Every committed value, and the offset of its batch's end."""
        self._latest = Table()

    def take(self, batch: Batch, values: Sequence[bytes]) -> None:
        """Fold what is committed next."""
        entries = [entry_of(each) for each in values]
        for each in entries:
            self.values[each.value or ""] = batch.end
        self._latest = self._latest.apply(entries)
        self.at[batch.end] = self._latest

    def objection(self, end: int, values: Sequence[bytes]) -> str:
        """Say how a snapshot's table is another than that of the log below its end."""
        found, due = Table().apply([entry_of(each) for each in values]), self.at[end]
        same = found.digest == due.digest and dict(found.rows) == dict(due.rows)
        return "" if same else f"holds {found}, committed was {due}"


def entry(key: str, text: str) -> ConfigRecord:
    """Return the record that gives a key a value."""
    return ConfigRecord(resource_type=RESOURCE, resource_name="", name=key, value=text)


def encode(record: ConfigRecord) -> bytes:
    """Write a record."""
    return encode_record(record, VERSION)


def entry_of(data: Buffer) -> ConfigRecord:
    """Read a record."""
    message, _ = decode_record(bytes(data))
    assert isinstance(message, ConfigRecord), f"{type(message).__name__} is no row of a table"
    return message
