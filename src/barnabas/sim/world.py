"""A world: hosts with clocks, disks and a network between them, and the processes that run there.

    world = World(Tape(seed))
    for name in ("a", "b"):
        world.add_host(name)
    world.start("a", serve)
    world.run_ms(1_000)
    world.kill("a")

Everything a fault can do to a host is a method here, and a plan's entries are calls of them (see
``nemesis``).  Checkers hear every moment and look at the world after the event that caused it,
never in the middle of one: what a process updates in one handle is updated as a whole.
"""

import gc
import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol
from zlib import crc32

from barnabas.model.value import value
from barnabas.runtime.probes import Fact
from barnabas.sim.clock import NS_PER_MS, HostClock
from barnabas.sim.connection import Tuning
from barnabas.sim.disk import SimDisk
from barnabas.sim.disk_faults import Latencies, Law
from barnabas.sim.disk_faults import Profile as PowerProfile
from barnabas.sim.kernel import VIOLATION, Kernel
from barnabas.sim.link import Link
from barnabas.sim.network import Fabric
from barnabas.sim.policy import policy
from barnabas.sim.probes import Moment, Suggestions
from barnabas.sim.process import Main, Process
from barnabas.sim.tape import Site, Tape

# Moments kept for the story of a failure.
STORY_MOMENTS: Final = 400

ADDRESS: Final = re.compile(r"\b0x[0-9a-f]+")


class Violation(Exception):  # noqa: N818 -- found by a checker, not gone wrong in it
    """An oracle says no.  ``oracle`` is its id, the text says what was found and what was due."""

    def __init__(self, oracle: str, story: str, place: str = "") -> None:
        super().__init__(f"{oracle}: {story}")
        self.oracle: Final = oracle
        self.story: Final = story
        # Two failures with the same oracle and place are taken for one.
        self.place: Final = place

    @property
    def signature(self) -> str:
        """What two runs have in common that fail for one reason."""
        return f"{self.oracle} {self.place}".rstrip()


class Checker(Protocol):
    """An oracle: hears moments, and raises ``Violation`` when the world is as it must never be.

    It runs between events, reads and never changes, and awaits nothing.
    """

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of moments it wants to hear; empty for all."""
        ...

    def hear(self, moment: Moment) -> None:
        """Note what a process says.  The process is in the middle of something: do not look yet."""

    def check(self) -> None:
        """Look at the world after an event in which something was heard."""

    def finish(self) -> None:
        """Look at the world at the end of the run."""


@value
class Settings:
    """What a world is made of, apart from the seed: the knobs of a plan."""

    policy: str = "fifo"
    slack_ns: int = 0
    cpu_ns: int = 10_000
    latency_ns: int = 200_000
    spread_ns: int = 300_000
    sync_ns: int = 100_000
    window_bytes: int = 256 * 1024
    patience_ms: int = 20_000
    buggify: bool = False


class DiskDraws:
    """The draws of one host's disk: sites of its own, so that disks do not disturb each other."""

    def __init__(self, tape: Tape, host: str) -> None:
        self._tape: Final = tape
        self._host: Final = host
        self._sites: Final[dict[str, Site]] = {}

    def below(self, site: str, limit: int) -> int:
        """Draw an integer from 0, the boring one, to ``limit`` - 1."""
        return self._site(site).below(limit)

    def chance(self, site: str, per_million: int) -> bool:
        """Draw whether something happens; no is the boring answer."""
        return self._site(site).chance(per_million)

    def _site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = self._tape.site(f"{name}/{self._host}")
        return site


class Host:
    """A machine: what outlives its processes."""

    def __init__(self, name: str, clock: HostClock, disk: SimDisk) -> None:
        self.name: Final = name
        self.clock: Final = clock
        self.disk: Final = disk
        # As it was made: what faults that bend these go back to.
        self.rate_ppm: Final = clock.rate_ppm
        self.latencies: Final = disk.latencies
        self.powered = True
        # Whether an operator wants something to run here.
        self.wanted = True
        self.slowness = 1
        self.lives = 0
        # The processes of this host that are alive, oldest first; more than one when an operator
        # starts a second before the first is gone.
        self.processes: Final[list[Process]] = []

    @property
    def process(self) -> Process | None:
        """The process on this host that was started last and lives."""
        return self.processes[-1] if self.processes else None


class World:
    """Hosts, what runs on them, and everything that can happen to them."""

    def __init__(
        self,
        tape: Tape,
        settings: Settings | None = None,
    ) -> None:
        self.tape: Final = tape
        self.settings: Final = settings or Settings()
        self.kernel: Final = Kernel(policy(self.settings.policy, tape), self.settings.slack_ns)
        self.kernel.after_event = self._after_event
        self.suggestions: Final = Suggestions(tape, self.settings.buggify)
        tuning = Tuning(self.settings.window_bytes, self.settings.patience_ms)
        self.fabric: Final = Fabric(self.kernel, tape, tuning, self._configure)
        self.hosts: Final[dict[str, Host]] = {}
        self.checkers: Final[list[Checker]] = []
        self.violation: Violation | None = None
        # Which failed processes are no bug: a broken disk may end a process.
        self.excuses: Callable[[Process], bool] = _no_excuse
        self.story: Final[deque[str]] = deque(maxlen=STORY_MOMENTS)
        self.heard: Final[dict[str, int]] = {}
        # What came about, and how often, of that which many runs together must have seen.
        self.seen: Final[dict[str, int]] = {}
        # Which step followed which on one host: a coarse measure of what a run went through.
        self.steps: Final[dict[str, None]] = {}
        self._last_kinds: Final[dict[str, str]] = {}
        self._mains: Final[dict[str, Main]] = {}
        self.processes: Final[list[Process]] = []
        self._visitors: Final[dict[Process, None]] = {}
        self._listeners: Final[dict[str, list[Callable[[Moment], None]]]] = {}
        self._dirty: Final[dict[Checker, None]] = {}
        self._started: Final = tape.site("clock/started")
        # The garbage collector runs when enough was allocated, which is not a moment of the world.
        self._collecting: Final = gc.isenabled()
        gc.disable()

    # ---- hosts and processes

    def add_host(self, name: str, rate_ppm: int = 0, wall_offset_ms: int = 0) -> Host:
        """Plug a machine in."""
        # Far from zero and from each other: a moment of one host means nothing on another.
        started_ns = (len(self.hosts) + 1) * 1_000_000_000_000 + self._started.below(1_000_000_000)
        clock = HostClock(self.kernel, rate_ppm, started_ns, wall_offset_ms)
        self.fabric.add_host(name)
        disk = SimDisk(DiskDraws(self.tape, name))
        sync_ns = self.settings.sync_ns
        disk.latencies = Latencies(sync=Law(sync_ns, 500, jitter_ns=sync_ns))
        host = self.hosts[name] = Host(name, clock, disk)
        return host

    def start(self, name: str, main: Main) -> Process:
        """Start a process on a host, and remember how, for ``restart``."""
        self._mains[name] = main
        return self._start(name, main)

    def visit(self, name: str, main: Main) -> Process:
        """Start a process beside what belongs on a host, as somebody who logs in may do.

        It dies of what the others die of, but nothing starts it again, and nobody waits for it to
        end before what belongs there is started.
        """
        process = self._start(name, main)
        self._visitors[process] = None
        return process

    def _start(self, name: str, main: Main) -> Process:
        host = self.hosts[name]
        assert host.powered, f"{name} has no power"
        host.lives += 1
        cpu_ns = self.settings.cpu_ns
        if cpu_ns:
            cpu_ns += self.tape.below(f"cpu/{name}", cpu_ns)
        number = len(self.processes) + 1
        process = Process(
            self, name, host.lives, number, host.clock, host.disk, cpu_ns * host.slowness
        )
        self.processes.append(process)
        host.processes.append(process)
        process.begin(main)
        self.note(f"{process.name} starts")
        return process

    def restart(self, name: str) -> None:
        """Give a host power if it has none, and start what it ran if nothing runs there.

        What is still about to stop is started again when it has.
        """
        host = self.hosts[name]
        host.wanted = True
        if not host.powered:
            host.powered = True
            self.fabric.power(name, powered=True)
        if all(process in self._visitors for process in host.processes):
            self.start(name, self._mains[name])

    def stop(self, name: str) -> None:
        """Ask a host's processes to stop, as an operator does."""
        self.hosts[name].wanted = False
        for process in list(self.hosts[name].processes):
            process.stop()

    def kill(self, name: str) -> None:
        """Kill a host's processes; the host goes on."""
        for process in list(self.hosts[name].processes):
            process.kill()

    def cut_power(self, name: str, profile: PowerProfile) -> None:
        """Take the power from a host; ``profile`` says what its disk makes of it."""
        host = self.hosts[name]
        for process in list(host.processes):
            process.cut_power()
        if host.powered:
            host.powered = False
            self.fabric.power(name, powered=False)
            host.disk.power_loss(profile)
            host.clock.reboot(self._started.below(1_000_000_000))

    def pause(self, name: str) -> None:
        """Let a host's processes run nothing, while the world goes on."""
        for process in self.hosts[name].processes:
            process.loop.pause()

    def thaw(self, name: str) -> None:
        """Let them run again."""
        for process in self.hosts[name].processes:
            process.loop.thaw()

    def slow_down(self, name: str, slowness: int) -> None:
        """Make everything a host computes take so many times as long; 1 is as usual."""
        host = self.hosts[name]
        for process in host.processes:
            process.loop.cost_ns = process.loop.cost_ns * slowness // host.slowness
        host.slowness = slowness

    # ---- time

    @property
    def now_ms(self) -> int:
        """Milliseconds since the world began."""
        return self.kernel.now_ns // NS_PER_MS

    def run_ms(self, duration_ms: int) -> None:
        """Let so much time pass, or less if something stops the run."""
        self.kernel.run(self.kernel.now_ns + duration_ms * NS_PER_MS)

    def run_until(self, reached: Callable[[], bool], limit_ms: int, step_ms: int = 10) -> bool:
        """Let time pass until something is reached; tell whether it was within the limit."""
        end_ms = self.now_ms + limit_ms
        while not reached():
            if self.now_ms >= end_ms or self.kernel.stopped:
                return False
            self.run_ms(step_ms)
        return True

    def later(self, delay_ms: int, call: Callable[[], None]) -> None:
        """Make a call after so much time; it belongs to the world and to no process."""
        self.kernel.after(delay_ms * NS_PER_MS, _make, call)

    # ---- hearing and judging

    def on(self, kind: str, call: Callable[[Moment], None]) -> None:
        """Call whenever a process says that it took a step of this kind."""
        self._listeners.setdefault(kind, []).append(call)

    def watch(self, checkers: Iterable[Checker]) -> None:
        """Let oracles listen from now on."""
        self.checkers.extend(checkers)

    def hear(self, process: Process, kind: str, facts: dict[str, Fact]) -> None:
        """Take a trace of a process."""
        moment = Moment(self.now_ms, process.host, process.life, kind, facts)
        # The text has no addresses in it, since facts have none.
        line = str(moment)
        self.kernel.mix(crc32(line.encode()))
        self.story.append(line)
        self.heard[kind] = self.heard.get(kind, 0) + 1
        self.steps[f"{self._last_kinds.get(process.host, 'nothing')} then {kind}"] = None
        self._last_kinds[process.host] = kind
        for checker in self.checkers:
            if not checker.kinds or kind in checker.kinds:
                checker.hear(moment)
                self._dirty[checker] = None
                self.kernel.curious = True
        for call in self._listeners.get(kind, ()):
            call(moment)

    def mourn(self, process: Process) -> None:
        """Learn that a process died; a bug in it ends the run."""
        self.hosts[process.host].processes.remove(process)
        death = process.death
        assert death is not None, f"{process} is mourned and lives"
        self.note(f"{process.name} {death.ending}")
        is_wanted = self.hosts[process.host].wanted and process not in self._visitors
        if death.ending == "exited" and is_wanted:
            self.later(0, partial(self.restart, process.host))
        if death.error is not None and not self.excuses(process):
            error, place = tell(death.error), place_of(death.error)
            kind = type(death.error).__name__
            story = f"{process.name} {death.where}: {error} at {place}"
            self.found(Violation("X-01", story, f"{kind} {place}"))

    def found(self, violation: Violation) -> None:
        """End the run because an oracle said no.  The first to say so is believed."""
        if self.violation is None:
            self.violation = violation
            self.note(f"violation of {violation}")
            self.kernel.stop(VIOLATION, str(violation))

    def mark(self, what: str) -> None:
        """Count that something came about which some run has to see (``Profile.must_see``).

        Said by scenes and oracles: it is no moment of a process and changes nothing in the world.
        """
        self.seen[what] = self.seen.get(what, 0) + 1

    def note(self, text: str) -> None:
        """Put a line into the story."""
        self.story.append(f"{self.now_ms:>9} ms  * {text}")

    def _after_event(self) -> None:
        dirty = list(self._dirty)
        self._dirty.clear()
        for checker in dirty:
            self.judge(checker.check)

    def judge(self, check: Callable[[], None]) -> None:
        """Let an oracle look, and take what it found."""
        try:
            check()
        except Violation as violation:
            self.found(violation)

    # ---- beginning and end

    def close(self) -> None:
        """Take the world down: nothing moves any more, and what was buried is let go."""
        for process in self.processes:
            process.bury()
        if self._collecting:
            gc.enable()

    def _configure(self, link: Link) -> None:
        link.latency_ns = self.settings.latency_ns
        link.spread_ns = self.settings.spread_ns


def tell(error: BaseException) -> str:
    """Return an error as text: the same words in every run."""
    return ADDRESS.sub("0x", f"{type(error).__name__}: {error}")


def place_of(error: BaseException) -> str:
    """Return where the product raised an error."""
    place = "nowhere"
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if "/asyncio/" not in code.co_filename:
            name = name_in_tree(code.co_filename)
            place = f"{name}:{traceback.tb_lineno} in {code.co_qualname}"
        traceback = traceback.tb_next
    return place


def name_in_tree(path: str) -> str:
    """Return the path of a module below its root, the same wherever the checkout lies."""
    roots = ("/barnabas/", "/tests/")
    return path[max((path.rfind(root) + len(root) for root in roots if root in path), default=0) :]


def _no_excuse(_: Process) -> bool:
    return False


def _make(call: Callable[[], None]) -> None:
    call()
