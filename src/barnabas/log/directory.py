"""One log directory: the logs in it, and what is known about all of them.

    <log dir>/.lock                                  one process at a time
              .kafka_cleanshutdown                   only after a stop that left all durable
              recovery-point-offset-checkpoint       below which each log is durable
              log-start-offset-checkpoint            where each log begins
              replication-offset-checkpoint          up to where each log is replicated
              cleaner-offset-checkpoint              up to where each log is compacted
              orders-3/ …                            the logs

Opening reads the checkpoints and the mark, and removes the mark before anything else happens: from
then on the directory is in use, and a crash, be it in the middle of opening, is a crash
(KAFKA-10471).  The mark is written last of all when closing.

What a broken checkpoint means: no recovery point, so everything is read; no high watermark, so
that of the start of the log, and the leader knows better; no start offset, so what is there.  Each
is safe, none invents a record (S-04, S-05).

An error of the disk is the whole directory's (``health``): the layer above takes its logs offline.
"""

from collections.abc import Iterable
from typing import Final

from barnabas.log.checkpoints import (
    CLEAN_MARK,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
    Checkpoint,
    decode_clean_mark,
    decode_offsets,
    decode_topic_id,
    encode_clean_mark,
    encode_offsets,
    encode_topic_id,
)
from barnabas.log.compaction import Breathe, Compacted, compact, no_rest
from barnabas.log.config import LogConfig
from barnabas.log.health import Health
from barnabas.log.names import (
    PARTITION_METADATA,
    PartitionDirectory,
    Standing,
    TopicPartition,
    directory_name,
    parse_directory,
)
from barnabas.log.partition_log import PartitionLog
from barnabas.log.recovery import Found, Report, open_log, silence
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import Uuid
from barnabas.runtime.disk import DirectoryLock, Disk


class Offsets:
    """One offset a partition, kept in a checkpoint."""

    def __init__(self, disk: Disk, directory: str, name: str) -> None:
        self._file: Final = Checkpoint(disk, directory, name)
        try:
            self.known = decode_offsets(self._file.read(), self._file.path)
            self.damage: CorruptLog | None = None
        except CorruptLog as error:
            self.known, self.damage = {}, error

    async def write(self) -> None:
        """Return when what is known is durable."""
        await self._file.replace(encode_offsets(self.known))


class LogDirectory:
    """A directory of logs, claimed for this process."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk: Final = disk
        self.path: Final = path
        self.health: Final = Health(path)
        self.logs: Final[dict[TopicPartition, PartitionLog]] = {}
        self._lock: Final[DirectoryLock] = disk.lock(path)
        self._mark: Final = Checkpoint(disk, path, CLEAN_MARK)
        content = self._mark.read()
        self.was_clean: Final = content is not None
        # Of the life that stopped cleanly; a broker shows it when it registers (KIP-966).
        self.clean_epoch: Final = None if content is None else decode_clean_mark(content)
        # Logs that are as the last stop left them; one that is opened again in this life is not.
        self._untouched: Final = {
            partition.of: self.was_clean
            for _, partition in self.partitions()
            if partition.standing is Standing.SERVING
        }
        self._recovery_points: Final = Offsets(disk, path, RECOVERY_POINTS)
        self._starts: Final = Offsets(disk, path, START_OFFSETS)
        self._high_watermarks: Final = Offsets(disk, path, HIGH_WATERMARKS)
        self._cleaned: Final = Offsets(disk, path, CLEANER_OFFSETS)

    @classmethod
    async def open(cls, disk: Disk, path: str) -> "LogDirectory":
        """Claim a directory; ``BlockingIOError`` if another process works in it."""
        directory = cls(disk, path)
        await directory._mark.remove()
        return directory

    @property
    def damage(self) -> list[CorruptLog]:
        """What was found broken among the checkpoints, to be logged."""
        files = (self._recovery_points, self._starts, self._high_watermarks, self._cleaned)
        return [file.damage for file in files if file.damage is not None]

    def partitions(self) -> list[tuple[str, PartitionDirectory]]:
        """Return the partitions' directories, by name."""
        named = ((name, parse_directory(name)) for name in self.disk.names(self.path))
        return [
            (name, partition)
            for name, partition in named
            if partition is not None and self.disk.is_directory(f"{self.path}/{name}")
        ]

    def topic_id(self, of: TopicPartition) -> Uuid | None:
        """Return whose partition this is, if it says so; ``CorruptLog`` if it cannot be read."""
        metadata = Checkpoint(self.disk, f"{self.path}/{of}", PARTITION_METADATA)
        content = metadata.read()
        return None if content is None else decode_topic_id(content, metadata.path)

    # --- logs ------------------------------------------------------------------------------------

    async def create_log(
        self, of: TopicPartition, topic_id: Uuid, config: LogConfig, wall_ms: int
    ) -> PartitionLog:
        """Make an empty log; the names are durable, and whose it is, before it takes a record."""
        assert of not in self.logs, f"{of} is open in {self.path}"
        self.health.check()
        path = f"{self.path}/{directory_name(of)}"
        try:
            # Of an earlier log of this name, whose removal a crash has cut short.
            await self._forget(of)
            self.disk.make_directory(path)
            await self.disk.sync_directory(self.path)
            metadata = Checkpoint(self.disk, path, PARTITION_METADATA)
            await metadata.replace(encode_topic_id(topic_id))
        except OSError as error:
            raise self.health.fail(error) from error
        return await self.open_log(of, config, wall_ms)

    async def open_log(
        self, of: TopicPartition, config: LogConfig, wall_ms: int, report: Report = silence
    ) -> PartitionLog:
        """Open a log that is there, as far as it can be believed."""
        assert of not in self.logs, f"{of} is open in {self.path}"
        self.health.check()
        found = Found(
            self._untouched.pop(of, False),
            self._recovery_points.known.get(of, 0),
            self._starts.known.get(of, 0),
            self._cleaned.known.get(of, 0),
        )
        path = f"{self.path}/{directory_name(of)}"
        try:
            log = await open_log(self.disk, self, of, path, config, found, wall_ms, report)
            # What was cut off may have been durable and replicated, what follows it is not yet.
            await self.vouch_only_below(of, log.end_offset)
        except OSError as error:
            raise self.health.fail(error) from error
        log.set_high_watermark(self._high_watermarks.known.get(of, log.start_offset))
        self.logs[of] = log
        return log

    async def remove_log(
        self, of: TopicPartition, unique: str, standing: Standing = Standing.DELETE
    ) -> str:
        """Close a log and give its directory a name that says it is none; return that name.

        Once this returns the log will not come back, whatever happens; ``purge`` makes room.
        """
        self.health.check()
        self.logs.pop(of).abandon()
        name = directory_name(of, standing, unique)
        try:
            self.disk.rename(f"{self.path}/{directory_name(of)}", f"{self.path}/{name}")
            await self.disk.sync_directory(self.path)
            await self._forget(of)
        except OSError as error:
            raise self.health.fail(error) from error
        return name

    async def purge(self, name: str) -> None:
        """Remove a directory that is no log's any more, with everything in it."""
        partition = parse_directory(name)
        assert partition is not None, f"{name} is no partition's directory"
        assert partition.standing is not Standing.SERVING, f"{name} is in service"
        path = f"{self.path}/{name}"
        try:
            for inside in self.disk.names(path):
                self.disk.remove(f"{path}/{inside}")
            self.disk.remove_directory(path)
            await self.disk.sync_directory(self.path)
        except OSError as error:
            raise self.health.fail(error) from error

    # --- offsets ---------------------------------------------------------------------------------

    async def vouch_only_below(self, of: TopicPartition, offset: int) -> None:
        """Return when no recovery will believe a log durable or replicated above an offset.

        Other records may be written there.  Were the old high watermark to come back, they would
        be shown to consumers before anybody else has them (S-05).
        """
        for offsets in (self._cleaned, self._recovery_points, self._high_watermarks):
            if offset < offsets.known.get(of, 0):
                offsets.known[of] = offset
                await offsets.write()

    async def record_start(self, of: TopicPartition, offset: int) -> None:
        """Return when every recovery will have a log start at an offset."""
        if offset != self._starts.known.get(of, 0):
            self._starts.known[of] = offset
            await self._starts.write()

    async def _forget(self, of: TopicPartition) -> None:
        for offsets in (self._recovery_points, self._starts, self._high_watermarks, self._cleaned):
            if offsets.known.pop(of, None) is not None:
                await offsets.write()

    def cleaned_to(self, of: TopicPartition) -> int:
        """Return up to where a log is known to be compacted."""
        return self._cleaned.known.get(of, 0)

    async def compact(
        self, of: TopicPartition, wall_ms: int, breathe: Breathe = no_rest
    ) -> Compacted | None:
        """Compact a log once and remember durably how far; None if there was nothing to do."""
        log = self.logs[of]
        self.health.check()
        try:
            done = await compact(log, self.cleaned_to(of), wall_ms, breathe=breathe)
            if done is not None:
                self._cleaned.known[of] = done.end_offset
                await self._cleaned.write()
        except OSError as error:
            raise self.health.fail(error) from error
        return done

    async def checkpoint(self) -> None:
        """Return when recovery points, start offsets and high watermarks of all logs are durable.

        Only a recovery point that a flush has reached is ever written (S-03).
        """
        self.health.check()
        for of, log in sorted(self.logs.items(), key=lambda item: str(item[0])):
            self._recovery_points.known[of] = log.recovery_point
            self._starts.known[of] = log.start_offset
            self._high_watermarks.known[of] = log.high_watermark
        try:
            await self._recovery_points.write()
            await self._starts.write()
            await self._high_watermarks.write()
        except OSError as error:
            raise self.health.fail(error) from error

    # --- the end ---------------------------------------------------------------------------------

    async def close(self, broker_epoch: int) -> None:
        """Return when everything is durable and the mark says so."""
        for log in self._open_logs():
            await log.close()
        await self.checkpoint()
        try:
            await self._mark.replace(encode_clean_mark(broker_epoch))
        except OSError as error:
            raise self.health.fail(error) from error
        self.logs.clear()
        self._lock.release()

    def abandon(self) -> None:
        """Give everything back as it is: after a failure, or to stop at once."""
        for log in self._open_logs():
            log.abandon()
        self.logs.clear()
        self._lock.release()

    def _open_logs(self) -> Iterable[PartitionLog]:
        return list(self.logs.values())
