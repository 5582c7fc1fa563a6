"""The log directories of a broker: claimed together when it starts, marked when it stops.

    claim ─▶ previous epoch, marks gone ─▶ … a life … ─▶ everything durable ─▶ marks with the epoch

A mark promises that all logs of its directory are as the life of that epoch left them, and durable
(B-07).  It is the last thing that is written, and gone before anything else is touched.  The
controllers compare the epoch with the one they know: a broker that comes back with it may still be
trusted with what it led (KIP-966), any other has to catch up first.

Three things follow for a life that ends early:

- one that never registered leaves the mark that it found: nothing has changed since;
- one that never got to its logs leaves no mark where it found none: they still need recovery;
- a directory that fails leaves none, whatever the others do.

A directory that cannot be claimed because its disk is broken is left out, as one that fails later.
Kafka's LogManager.java fixes when the epoch counts.
"""

import logging
from collections.abc import Mapping
from typing import Final

from barnabas.broker.config import UNKNOWN_EPOCH
from barnabas.log.directory import LogDirectory
from barnabas.log.health import DirectoryFailed
from barnabas.model.errors import Misconfigured
from barnabas.model.ids import Uuid
from barnabas.node.config import NodeConfig
from barnabas.runtime.disk import Disk

log: Final = logging.getLogger("barnabas.node")


class LogDirectories:
    """The log directories of a broker that this process works in."""

    def __init__(
        self, opened: Mapping[str, LogDirectory], ids: Mapping[str, Uuid], previous_epoch: int
    ) -> None:
        self.opened: Final = opened
        self.ids: Final = ids
        """Of each directory that is online."""
        self.previous_epoch: Final = previous_epoch
        """Of the last life, if it ended cleanly in every directory there is."""
        self.are_recovered = False
        """Whether what is in them was seen to in this life."""
        self.epoch: int | None = None
        """Of this life, if it ever had one."""

    async def close(self) -> None:
        """Make everything durable and say so, under the epoch of this life if it had one."""
        for path, directory in self.opened.items():
            if not (directory.was_clean or self.are_recovered):
                directory.abandon()
                continue
            left = directory.clean_epoch if self.epoch is None else self.epoch
            try:
                await directory.close(UNKNOWN_EPOCH if left is None else left)
            except DirectoryFailed as failed:
                log.error("[directories] no clean mark in=%s why=%s", path, failed)


async def claim(disk: Disk, config: NodeConfig, ids: Mapping[str, Uuid]) -> LogDirectories:
    """Claim the log directories, if there is a broker to use them.

    ``Misconfigured`` if none is left to work in.
    """
    name, paths = config.name, config.log_dirs if config.is_broker else ()
    opened: dict[str, LogDirectory] = {}
    broken: dict[str, str] = {path: "it cannot be read" for path in paths if path not in ids}
    try:
        for path in paths:
            if path in ids:
                try:
                    opened[path] = await LogDirectory.open(disk, path)
                except BlockingIOError:
                    raise Misconfigured(
                        f"{name}: another process works in log directory {path}; stop it, or point "
                        f"log.dirs elsewhere"
                    ) from None
                except OSError as error:
                    broken[path] = str(error)
        if paths and not opened:
            raise Misconfigured(f"{name}: no log directory can be used: {broken}")
    except Misconfigured:
        await LogDirectories(opened, {}, UNKNOWN_EPOCH).close()
        raise
    for path, why in broken.items():
        log.error("[%s] offline directory=%s why=%s", name, path, why)
    epochs = {directory.clean_epoch for directory in opened.values()}
    (epoch,) = epochs if len(epochs) == 1 and not broken else (None,)
    return LogDirectories(
        opened,
        {path: ids[path] for path in opened},
        UNKNOWN_EPOCH if epoch is None else epoch,
    )
