"""Small files that are replaced as a whole: offsets, leader epochs, a topic's id, the clean mark.

    write x.tmp ─▶ sync ─▶ rename to x ─▶ sync the directory

After any crash such a file is its old or its new content.  All four steps are needed: without the
first sync the name may point at zeros, without the second the old file may come back after
somebody was told that the new one is there.

Two writers may overlap, because both wait for the device.  Each composes its content from the same
state in memory, so the later one knows everything the earlier one does; each writes a temporary
file of its own, and one that comes late does not replace newer content:

1. writer 1 (content 1) and writer 2 (content 1 + 2) wait for their files to be synced;
2. writer 2's is durable first and is published;
3. were writer 1 to publish now, content 2 would be gone though its caller was told otherwise.

The text format is Kafka's: a version, a count, one entry a line (CheckpointFile.java).  A file that
does not parse is reported as ``CorruptLog``; who reads it knows the safe thing to do then.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.log.names import TEMPORARY, TopicPartition
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import ZERO_UUID, Uuid, parse_uuid, uuid_text
from barnabas.runtime.disk import Disk

VERSION: Final = 0

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
START_OFFSETS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
CLEAN_MARK: Final = ".kafka_cleanshutdown"


class Checkpoint:
    """One file that is its old or its new content, whatever happens."""

    def __init__(self, disk: Disk, directory: str, name: str) -> None:
        self._disk: Final = disk
        self._directory: Final = directory
        self.path: Final = f"{directory}/{name}"
        self._begun = 0
        self._published = 0

    async def replace(self, content: bytes) -> None:
        """Return when the file durably has this content, or newer content."""
        self._begun += 1
        mine = self._begun
        temporary = f"{self.path}.{mine}{TEMPORARY}"
        if self._disk.exists(temporary):
            self._disk.remove(temporary)
        file = self._disk.open(temporary, "exclusive")
        try:
            file.write(0, [content])
            await file.sync()
        finally:
            file.close()
        if mine > self._published:
            self._published = mine
            self._disk.rename(temporary, self.path)
        else:
            self._disk.remove(temporary)
        await self._disk.sync_directory(self._directory)

    def read(self) -> bytes | None:
        """Return the content, or None if there is no such file."""
        if not self._disk.exists(self.path):
            return None
        file = self._disk.open(self.path, "read")
        try:
            return file.read(0, file.size())
        finally:
            file.close()

    async def remove(self) -> None:
        """Return when the file is durably gone."""
        if self._disk.exists(self.path):
            self._disk.remove(self.path)
        await self._disk.sync_directory(self._directory)


def encode_entries(entries: Iterable[str]) -> bytes:
    """Return the text of a checkpoint."""
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def decode_entries(content: bytes | None, path: str) -> list[list[str]]:
    """Return the words of every entry; a missing or empty file has none.

    Kafka makes these files empty before it first writes them.
    """
    if not content:
        return []
    try:
        version, count, *lines = content.decode("ascii").splitlines()
        entries = [line.split() for line in lines]
        sound = int(version) == VERSION and int(count) == len(lines) and content.endswith(b"\n")
    except ValueError as error:
        raise CorruptLog(f"{path}: not a checkpoint: {error}") from error
    if not sound:
        raise CorruptLog(
            f"{path}: version {version}, {count} entries announced, {len(lines)} found"
        )
    return entries


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Return the text of a checkpoint of one offset a partition."""
    return encode_entries(f"{tp.topic} {tp.partition} {at}" for tp, at in offsets.items())


def decode_offsets(content: bytes | None, path: str) -> dict[TopicPartition, int]:
    """Read a checkpoint of one offset a partition."""
    offsets = {}
    for words in decode_entries(content, path):
        try:
            topic, partition, offset = words
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            raise CorruptLog(f"{path}: entry {words}: {error}") from error
    return offsets


def encode_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """Return the text of a leader epoch checkpoint."""
    return encode_entries(f"{epoch} {start}" for epoch, start in entries)


def decode_epochs(content: bytes | None, path: str) -> list[tuple[int, int]]:
    """Read a leader epoch checkpoint; both columns have to rise."""
    entries: list[tuple[int, int]] = []
    for words in decode_entries(content, path):
        try:
            epoch, start = map(int, words)
        except ValueError as error:
            raise CorruptLog(f"{path}: entry {words}: {error}") from error
        if start < 0 or (entries and (epoch <= entries[-1][0] or start <= entries[-1][1])):
            raise CorruptLog(f"{path}: epoch {epoch} at {start} after {entries[-1:]}")
        entries.append((epoch, start))
    return entries


def encode_topic_id(topic_id: Uuid) -> bytes:
    """Return the text of ``partition.metadata``."""
    return f"version: {VERSION}\ntopic_id: {uuid_text(topic_id)}".encode()


def decode_topic_id(content: bytes, path: str) -> Uuid:
    """Read ``partition.metadata``; a higher version may add lines, as it may in Kafka."""
    words = [line.partition(": ") for line in content.decode("ascii", "replace").splitlines()]
    if len(words) >= 2 and words[0][0] == "version" and words[1][0] == "topic_id":
        try:
            topic_id = parse_uuid(words[1][2])
        except ValueError as error:
            raise CorruptLog(f"{path}: {error}") from error
        if words[0][2].isdecimal() and topic_id != ZERO_UUID:
            return topic_id
    raise CorruptLog(f"{path}: {content[:80]!r} names no topic id")


def encode_clean_mark(broker_epoch: int) -> bytes:
    """Return the content of the clean-shutdown mark (KIP-966)."""
    return json.dumps({"version": VERSION, "brokerEpoch": broker_epoch}).encode()


def decode_clean_mark(content: bytes) -> int | None:
    """Return the broker epoch in a clean-shutdown mark, or None if it names none.

    Before KIP-966 the mark was empty: the stop was clean, but of which life nobody can say.
    """
    try:
        mark = json.loads(content)
    except ValueError:
        return None
    epoch = mark.get("brokerEpoch") if isinstance(mark, dict) else None
    return epoch if isinstance(epoch, int) else None
