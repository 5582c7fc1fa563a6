"""The faults of one machine and its disk, those of the profile's own among them.

Most are the world's (``nemesis``).  Its own are those that have to know what lies where: which
directory fails, which file rots, and with which bit.
"""

import errno
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from barnabas.log.names import LOG, segment_part
from barnabas.sim.disk_content import SECTOR
from barnabas.sim.disk_faults import DiskFaults, Injection
from barnabas.sim.nemesis import KINDS, TROUBLES, Kind, Undo, one
from barnabas.sim.plan import Fault
from barnabas.sim.profiles.log.atlas import log_of
from barnabas.sim.profiles.log.layout import PATHS, log_path
from barnabas.sim.profiles.log.visitor import visit
from barnabas.sim.world import World

HOST: Final = "broker"

# Faults of the world that one machine and its disk can have, those included that a cluster only
# meets now and then.
BEARABLE: Final = (
    "crash-kill",
    "crash-power",
    "stop-clean",
    "pause",
    "wall-step",
    "fsync-stall",
    "disk-slow",
    "disk-fail",
    "disk-trouble",
    "disk-fill",
    "misdirect",
    "wipe",
)

# A bit that no character of a checkpoint has: what it strikes is no text any more.
NO_TEXT: Final = 0x80


def flaky_writes(world: World, fault: Fault) -> Undo:
    """Let writes and syncs of the disk fail now and then.

    Not reads: those fail for good, and are a kind of their own (``break_sector``).
    """
    disk = world.hosts[HOST].disk
    rate = fault.param("per_million", 1_000)
    disk.faults = DiskFaults(write_error=rate, write_full=rate, sync_error=rate, sync_stall=rate)
    return disk.heal


def fail_sync(world: World, fault: Fault) -> None:
    """Let one of the next syncs of a log's data fail, after which the kernel forgets its pages."""
    disk = world.hosts[HOST].disk
    under = log_path("plain")
    disk.inject(Injection("sync", under, error=errno.EIO, after=fault.param("after")))


def trouble_directory(world: World, fault: Fault) -> Undo:
    """Let one of the directories be full, read-only or gone for a while: a disk of several."""
    disk = world.hosts[HOST].disk
    path = fault.word("directory", PATHS[0])
    word = fault.word("trouble", "full")
    disk.trouble(path, next(known for known in TROUBLES if known == word))
    return lambda: disk.relieve(path)


def rot(world: World, fault: Fault) -> None:
    """Flip a bit of something durable: of the data, of what is derived from it, of a checkpoint."""
    disk = world.hosts[HOST].disk
    what = fault.word("what", "data")
    victims = [(path, size) for path, size in disk.durable_files() if size and sort(path) == what]
    if not victims:
        return
    path, size = victims[world.tape.below("rot/file", len(victims))]
    mask = NO_TEXT if what == "checkpoint" else 1 << world.tape.below("rot/bit", 8)
    if disk.rot(path, world.tape.below("rot/at", size), mask):
        world.note(f"rot in {path}")


def sort(path: str) -> str:
    """Return what sort of file this is, to one of which a fault applies."""
    part = segment_part(path.rpartition("/")[2])
    if part is None:
        return "checkpoint"
    return "data" if part[1] == LOG else "derived"


def break_sector(world: World, fault: Fault) -> None:
    """Let a sector of a log's file be unreadable until it is written again."""
    disk = world.hosts[HOST].disk
    victims = [
        (path, size)
        for path, size in disk.durable_files()
        if size and log_of(path) is not None and sort(path) != "checkpoint"
    ]
    if not victims:
        return
    path, size = victims[world.tape.below("sector/file", len(victims))]
    sector = world.tape.below("sector/at", -(-size // SECTOR))
    if disk.break_sectors(path, sector * SECTOR, SECTOR):
        world.note(f"unreadable sector in {path}")


def send_visitor(world: World, fault: Fault) -> None:
    """Let a second process try the directories."""
    if world.hosts[HOST].powered:
        world.visit(HOST, partial(visit, hold_ms=fault.duration_ms))


# Which destroy what was durable: a plan asks for them, and there are not too many such plans.
DESTROYING: Final = ("rot", "bad-sector", "misdirect", "wipe")

_OF_THE_WORLD: Final = {name: KINDS[name] for name in BEARABLE}
_OF_ITS_OWN: Final = {
    "disk-flaky": Kind(KINDS["disk-flaky"].draw, flaky_writes),
    "sync-fail": Kind(one(1, 1, after=(0, 0, 1, 3)), fail_sync),
    "directory-trouble": Kind(one(50, 5_000, directory=PATHS, trouble=TROUBLES), trouble_directory),
    "rot": Kind(one(1, 1, what=("data", "data", "data", "derived", "checkpoint")), rot),
    "bad-sector": Kind(one(1, 1), break_sector),
    "visitor": Kind(one(1, 1_000), send_visitor),
}
KINDS_HERE: Final[Mapping[str, Kind]] = {
    name: replace(kind, unusual=name in DESTROYING)
    for name, kind in (_OF_THE_WORLD | _OF_ITS_OWN).items()
}
