"""A second process that wants the directories of the first: S-17.

An operator who starts a broker twice, or a tool that somebody points at a directory in use.  It
must be refused while the first lives, also while that one is paused; and where it is let in,
because nobody is there, the first must be refused.
"""

from barnabas.log.directory import LogDirectory
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.log.layout import PATHS


async def visit(runtime: Runtime, hold_ms: int) -> None:
    """Try to claim every directory; keep for a while what is free."""
    claimed: list[LogDirectory] = []
    for path in PATHS:
        try:
            claimed.append(await LogDirectory.open(runtime.disk, path))
        except BlockingIOError:
            runtime.probes.trace("log.in-use", directory=path)
        except OSError as error:
            # Not there yet, or on a disk that fails.
            runtime.probes.trace("log.unusable", why=f"{type(error).__name__}: {error}")
        else:
            runtime.probes.trace("log.claimed", directory=path)
    await runtime.clock.sleep_ms(hold_ms)
    for directory in claimed:
        directory.abandon()
        runtime.probes.trace("log.released", directory=directory.path)
