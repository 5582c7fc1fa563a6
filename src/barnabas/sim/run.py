"""One run, from a plan to an outcome.

    boot ──▶ warm-up ──▶ chaos ──▶ heal core ──▶ heal all ──▶ quiesce ──▶ audit
             no faults   faults    must work     must work    nothing     everything is
                                   without the   again        is new      looked at
                                   others

Safety is judged after every event of every phase.  Liveness is judged three times: everything must
come up before the first fault; then, if the plan names a core, it must work within a bound while
the others stay cut off, one way or both; and work must go on everywhere within a bound after
everything was healed.  A nemesis that always heals everything at once hides what only comes back
to life when the last one does.

The outcome is the same for the same plan and tape, in every process and under every hash seed;
that is what ``fingerprint`` is compared for.
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from barnabas.model.value import value
from barnabas.sim.kernel import EVENT_LIMIT, SPINNING, WALL_LIMIT, Kernel, Node
from barnabas.sim.loop import NodeLoop, describe
from barnabas.sim.nemesis import Nemesis
from barnabas.sim.plan import Plan
from barnabas.sim.profile import Profile, Scene
from barnabas.sim.tape import Deviations, Tape
from barnabas.sim.tripwires import Tripwires
from barnabas.sim.world import Violation, World

# A run that does more than this is not a test of anything; it is counted as infrastructure.
EVENTS_MAX: Final = 20_000_000

RATE_PPM: Final = 200
WALL_OFFSET_MS: Final = 2_000

DIGITS: Final = re.compile(r"\d+")


@value
class Outcome:
    """What came of a run.  ``oracle`` is empty if nobody objected."""

    profile: str
    seed: int
    mutant: str
    oracle: str
    story: str
    signature: str
    infrastructure: bool
    failed_at_ms: int
    virtual_ms: int
    events: int
    faults: dict[str, int]
    moments: dict[str, int]
    seen: dict[str, int]
    states: tuple[str, ...]
    trace_hash: str
    fingerprint: str
    marks: tuple[int, ...]
    narrative: tuple[str, ...]
    tape: Deviations
    chaos_from_ms: int


@value
class Window:
    """Which events of a run to describe in full."""

    first: int
    last: int


def run(
    profile: Profile,
    plan: Plan,
    played: Deviations | None = None,
    started: Callable[[Kernel], None] | None = None,
    window: Window | None = None,
    described: list[str] | None = None,
) -> Outcome:
    """Carry out a plan, with choices drawn from its seed or played from a tape.

    ``started`` is handed the kernel, so that somebody outside may stop it.  The events of
    ``window`` are described, one line each, in ``described``.
    """
    tape = Tape(plan.seed, played)
    world = World(tape, plan.settings)
    world.kernel.event_limit = EVENTS_MAX
    if started is not None:
        started(world.kernel)
    if window is not None and described is not None:
        world.kernel.watcher = describer(world.kernel, window, described)
    try:
        with Tripwires(world.kernel):
            nemesis, chaos_from_ms = act(profile, plan, world)
        return outcome(plan, world, nemesis, chaos_from_ms)
    finally:
        world.close()


def act(profile: Profile, plan: Plan, world: World) -> tuple[Nemesis, int]:
    """Go through the phases until the end or the first violation."""
    for name in plan.hosts:
        ppm = world.tape.below("clock/rate", 2 * RATE_PPM)
        offset_ms = world.tape.below("clock/offset", 2 * WALL_OFFSET_MS)
        # Around zero in turns: 0, the boring draw, is a clock that is right.
        world.add_host(name, ppm if ppm < RATE_PPM else RATE_PPM - ppm, offset_ms)
    scene = profile.build(world, plan)
    world.watch(scene.checkers)
    world.excuses = scene.excuses
    nemesis = Nemesis(world, profile.kinds, scene)
    phases = plan.phases
    world.note("boot")
    if not world.run_until(scene.ready, phases.boot_ms):
        stuck(world, "L-boot", f"not everything came up within {phases.boot_ms} ms")
        return nemesis, world.now_ms
    world.run_ms(phases.warm_up_ms)
    chaos_from_ms = world.now_ms
    world.note("chaos")
    nemesis.begin(plan.faults)
    world.run_ms(phases.chaos_ms)
    if world.kernel.stopped is None:
        recover(world, scene, nemesis, plan)
    return nemesis, chaos_from_ms


def recover(world: World, scene: Scene, nemesis: Nemesis, plan: Plan) -> None:
    """Heal the world, and hold it to its promises."""
    phases = plan.phases
    nemesis.heal()
    for host in world.hosts.values():
        host.disk.heal()
        world.thaw(host.name)
        world.restart(host.name)
    if plan.core and not core_works(world, scene, plan):
        stuck(world, "L-core", f"{', '.join(plan.core)} do not work by themselves")
        return
    world.note("heal")
    scene.healed(plan.hosts)
    if not world.run_until(scene.recovered, phases.recovery_ms):
        stuck(world, "L-recovery", f"work does not go on within {phases.recovery_ms} ms of peace")
        return
    world.note("quiesce")
    world.run_ms(phases.quiesce_ms)
    if world.kernel.stopped is not None:
        return
    world.note("audit")
    world.judge(lambda: scene.audit(world))
    for checker in world.checkers:
        world.judge(checker.finish)


def core_works(world: World, scene: Scene, plan: Plan) -> bool:
    """Keep the core apart from the others, and tell whether it works."""
    core = set(plan.core)
    both = world.fabric.links.all()
    inward = [link for link in both if link.source not in core and link.target in core]
    outward = [link for link in both if link.source in core and link.target not in core]
    # The boring way is to cut both; others may still hear, or still be heard.
    apart = (inward + outward, inward, outward)[world.tape.below("core/apart", 3)]
    world.note(f"heal core: {', '.join(plan.core)}")
    world.fabric.cut(apart)
    scene.healed(plan.core)
    works = world.run_until(scene.recovered, plan.phases.recovery_ms)
    world.fabric.heal(apart)
    return works


def stuck(world: World, oracle: str, story: str) -> None:
    """Say that something did not happen in time, unless the run ended for another reason."""
    if world.kernel.stopped is None:
        world.found(Violation(oracle, story))


def outcome(plan: Plan, world: World, nemesis: Nemesis, chaos_from_ms: int) -> Outcome:
    """Sum a run up."""
    kernel = world.kernel
    violation = world.violation
    stopped = kernel.stopped
    if violation is None and stopped is not None and stopped.reason == SPINNING:
        violation = Violation(SPINNING, stopped.story, DIGITS.sub("", stopped.story))
    infrastructure = stopped is not None and stopped.reason in (EVENT_LIMIT, WALL_LIMIT)
    return Outcome(
        profile=plan.profile,
        seed=plan.seed,
        mutant=plan.mutant,
        oracle=violation.oracle if violation is not None else "",
        story=violation.story if violation is not None else (stopped.story if stopped else ""),
        signature=violation.signature if violation is not None else "",
        infrastructure=infrastructure,
        failed_at_ms=world.now_ms if violation is not None else 0,
        virtual_ms=world.now_ms,
        events=kernel.events,
        faults=dict(sorted(nemesis.done.items())),
        moments=dict(sorted(world.heard.items())),
        seen=dict(sorted(world.seen.items())),
        states=tuple(sorted(world.steps)),
        trace_hash=f"{kernel.trace_hash:016x}",
        fingerprint=fingerprint(world),
        marks=tuple(kernel.marks),
        narrative=tuple(world.story),
        tape=world.tape.deviations(),
        chaos_from_ms=chaos_from_ms,
    )


def fingerprint(world: World) -> str:
    """Return where a run ended: equal for equal runs, and for no others.

    The trace hash, the number of events, the next draw of every stream, the content of every disk.
    """
    digest = blake2b(digest_size=12)
    digest.update(f"{world.kernel.trace_hash} {world.kernel.events}\n".encode())
    digest.update(world.tape.fingerprint())
    for host in world.hosts.values():
        digest.update(host.name.encode() + host.disk.durable_hash())
    return digest.hexdigest()


def describer(kernel: Kernel, window: Window, described: list[str]) -> Callable[[Node], None]:
    """Return a watcher that writes down the events of a window."""

    def watch(node: Node) -> None:
        if window.first <= kernel.events <= window.last:
            assert isinstance(node, NodeLoop)
            call = describe(node.ready[0].call)
            hashed = f"{kernel.trace_hash:016x}"
            described.append(f"{kernel.events} {kernel.now_ns} ns {node.name} {call} {hashed}")

    return watch
