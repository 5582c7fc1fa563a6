"""The words of ``python -m barnabas.sim``.

    [PROFILE] --seeds N       run seeds; failures are minimised and written down
    replay FILE               play a failure again, on both hash seeds
    shrink FILE               make a failure smaller
    mutants [PROFILE]         how many seeds each planted bug survives
    self-test                 the simulator on itself: determinism, planted bugs, minimising, replay
    explore SPEC [WORLD ...]  the small worlds of a specification, and what falls without its guards

Exit status is 1 for failures, divergences, mutants that live, replays that drift, worlds that do
not show what they should, and campaigns of 200 seeds or more that never saw something their
profile must see.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from barnabas.sim.driver import campaign, specs
from barnabas.sim.driver.campaign import Killed, Tally
from barnabas.sim.driver.failure import Failure, read, write
from barnabas.sim.driver.jobs import Answer, Job
from barnabas.sim.driver.pool import Pool
from barnabas.sim.driver.profiles import PROFILES, SELF_TEST, UnknownProfileError, load
from barnabas.sim.driver.report import Report, say
from barnabas.sim.profile import Mutant

# What a minimised failure of the self-test may have at most: a person reads it in a minute.
SMALL_ENTRIES: Final = 8

STORY_LINES: Final = 40

# Failures minimised in one campaign; the others differ from one of these in nothing that shows.
SIGNATURES_MAX: Final = 5


def main(words: Sequence[str]) -> int:
    """Do what the command line says; return the exit status."""
    # A profile is a word where the commands are, so that the common case is short.
    commands = {"replay", "shrink", "mutants", "self-test", "explore", "run", "-h", "--help"}
    if not words or words[0] not in commands:
        words = ["run", *words]
    options = parser().parse_args(words)
    try:
        match options.command:
            case "run":
                return run_seeds(options)
            case "mutants":
                return run_mutants(options)
            case "replay":
                return replay(options)
            case "shrink":
                return shrink(options)
            case "self-test":
                return self_test(options)
            case "explore":
                report = Report(options.json)
                spec, worlds = options.spec, options.worlds
                well = specs.explore(spec, worlds, options.deep, options.states, report)
                return 0 if well else 1
            case command:
                raise AssertionError(f"{command!r} is parsed and not done")
    except UnknownProfileError as error:
        say(str(error))
        return 2


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="./dev sim", description="whole worlds from seeds")
    commands = top.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="rows as JSON, one a line")
    common.add_argument("--jobs", type=int, default=2, help="runs at a time")
    common.add_argument("--out", type=Path, default=Path("failures"), help="for failure files")
    campaigns = argparse.ArgumentParser(add_help=False)
    campaigns.add_argument("--first", type=int, default=1, help="the first seed")

    run = commands.add_parser("run", parents=[common, campaigns], help="run seeds of a profile")
    run.add_argument("profile", nargs="?", default=SELF_TEST)
    run.add_argument("--seeds", type=int, default=100)
    run.add_argument("--double", choices=("some", "all"), default="some")
    run.add_argument("--no-shrink", action="store_true", help="leave failures as they are")

    mutants = commands.add_parser("mutants", parents=[common, campaigns], help="hunt planted bugs")
    mutants.add_argument("profile", nargs="?", help="default: every profile that has such mutants")
    mutants.add_argument("--only", default="", metavar="PREFIX", help="those whose id begins so")

    for name, what in (("replay", "play a failure again"), ("shrink", "make a failure smaller")):
        command = commands.add_parser(name, parents=[common], help=what)
        command.add_argument("file", type=Path)

    explore = commands.add_parser("explore", help="explore a specification in small worlds")
    explore.add_argument("spec", choices=specs.SPECS)
    explore.add_argument("worlds", nargs="*", metavar="WORLD", help="those that begin so")
    explore.add_argument("--deep", action="store_true", help="larger worlds, too")
    explore.add_argument("--states", type=int, default=specs.STATES_MAX, help="at most, each")
    explore.add_argument("--json", action="store_true", help="rows as JSON, one a line")

    test = commands.add_parser(
        "self-test", parents=[common, campaigns], help="prove the simulator on the register"
    )
    test.add_argument("--seeds", type=int, default=500)
    test.add_argument("--no-mutants", action="store_true", help="seeds only")
    return top


def run_seeds(options: argparse.Namespace) -> int:
    """Run seeds; minimise and write down what failed."""
    profile = load(options.profile)
    report = Report(options.json)
    with Pool(options.profile, options.jobs) as pool:
        tally = campaign.seeds(
            pool,
            options.profile,
            options.first,
            options.seeds,
            options.double == "all",
            profile.must_see,
        )
        tell(pool, tally)
        tell_seen(tally)
        write_failures(pool, tally, options.out, not options.no_shrink)
    report.last(tally.row())
    return 0 if tally.well else 1


def run_mutants(options: argparse.Namespace) -> int:
    """Hunt each mutant, of one profile or of all; one row each."""
    report = Report(options.json)
    names = list(PROFILES) if options.profile is None else [options.profile]
    chosen = {
        name: [mutant for mutant in load(name).mutants if mutant.id.startswith(options.only)]
        for name in names
    }
    hunted = {name: mutants for name, mutants in chosen.items() if mutants}
    if not hunted:
        say(f"no mutant of {', '.join(names)} begins with {options.only!r}")
        return 2
    tally = Tally(", ".join(hunted))
    dead = planted = 0
    for name, mutants in hunted.items():
        with Pool(name, options.jobs) as pool:
            for killed in hunt_all(pool, name, mutants, options.first, tally):
                report.row(killed.row())
                planted += 1
                dead += killed.answer is not None
    report.last(tally.row(dead, planted))
    return 0 if dead == planted else 1


def hunt_all(
    pool: Pool, profile: str, mutants: Sequence[Mutant], first: int, tally: Tally
) -> list[Killed]:
    """Hunt mutants one after another."""
    hunted = []
    for mutant in mutants:
        say(f"{mutant.id}: {mutant.what}")
        killed = campaign.hunt(pool, profile, mutant, first)
        tally.seeds += killed.seeds
        if killed.answer is not None:
            tally.add(killed.answer)
        hunted.append(killed)
    return hunted


def replay(options: argparse.Namespace) -> int:
    """Play a failure again on both sides and compare everything."""
    failure = read(options.file)
    with Pool(failure.plan.profile, 2) as pool:
        outcomes = campaign.replayed(pool, failure)
    for line in outcomes[0].narrative:
        say(line)
    drifted = [outcome for outcome in outcomes if not campaign.same(failure, outcome)]
    for outcome in drifted:
        came = outcome.signature or "no failure"
        say(f"drifted: {came}, trace {outcome.trace_hash}; the file says {failure.trace_hash}")
    Report(options.json).last(
        {
            "profile": failure.plan.profile,
            "signature": failure.signature,
            "event": failure.first_bad_event,
            "trace_hash": outcomes[0].trace_hash,
            "same": not drifted,
        }
    )
    return 1 if drifted else 0


def shrink(options: argparse.Namespace) -> int:
    """Make a failure file smaller."""
    failure = read(options.file)
    plan = failure.plan
    with Pool(plan.profile, 2) as pool:
        job = Job(plan.profile, plan.seed, plan.mutant, plan, failure.tape, full=True)
        answer = pool.run(job)
        if answer.outcome.signature != failure.signature:
            say(f"this no longer fails as it did: {answer.outcome.signature or 'it passes'}")
            return 1
        small = campaign.shrunk(pool, answer)
    path = write(small, options.out)
    say(f"{small.plan.size} entries: {path}")
    Report(options.json).last({"file": str(path), "entries": small.plan.size})
    return 0


def self_test(options: argparse.Namespace) -> int:
    """Prove that the simulator finds what is there, repeats itself, and sees nothing else."""
    report = Report(options.json)
    profile = load(SELF_TEST)
    mutants = [] if options.no_mutants else list(profile.mutants)
    proved = 0
    with Pool(SELF_TEST, options.jobs) as pool:
        tally = campaign.seeds(
            pool, SELF_TEST, options.first, options.seeds, True, profile.must_see
        )
        row = tally.row()
        say(f"{row['events_per_s']} events per second, {tally.doubled} seeds run twice")
        tell(pool, tally)
        tell_seen(tally)
        write_failures(pool, tally, options.out, small=True)
        for killed in hunt_all(pool, SELF_TEST, mutants, options.first, Tally(SELF_TEST)):
            row = killed.row() | {"entries": None, "replayed": False}
            if killed.answer is not None:
                failure = campaign.shrunk(pool, killed.answer)
                path = write(failure, options.out)
                again = campaign.replayed(pool, read(path))
                row["entries"] = failure.plan.size
                row["replayed"] = all(campaign.same(failure, outcome) for outcome in again)
                proved += bool(row["replayed"]) and failure.plan.size <= SMALL_ENTRIES
            report.row(row)
    report.last(tally.row(proved, len(mutants)))
    return 0 if tally.well and proved == len(mutants) else 1


def tell(pool: Pool, tally: Tally) -> None:
    """Say what came to no result, and where two runs of one seed parted."""
    for line in tally.infrastructure:
        say(f"infrastructure: {line}")
    for line in tally.broken:
        say(f"broken: {line}")
    for seed in tally.divergent[:SIGNATURES_MAX]:
        difference = campaign.first_difference(pool, Job(tally.profile, seed))
        say(f"seed {seed} diverges; the first events that differ:\n{difference}")


def tell_seen(tally: Tally) -> None:
    """Say how often that came about which must be seen, and what never did."""
    for what in tally.must_see:
        times, runs = tally.seen[what], tally.seen_in[what]
        say(f"{times:>9} times in {runs:>5} runs: {what}" if times else f"    never seen: {what}")
    if tally.blind:
        say(f"{tally.seeds} seeds ought to have seen all of it: the plans are badly drawn")


def write_failures(pool: Pool, tally: Tally, directory: Path, small: bool) -> None:
    """Write one failure of each kind, made small if wanted, and tell its story."""
    kinds: dict[str, Answer] = {}
    for answer in tally.failing:
        kinds.setdefault(answer.outcome.signature, answer)
    for signature, answer in list(kinds.items())[:SIGNATURES_MAX]:
        number = sum(each.outcome.signature == signature for each in tally.failing)
        say(f"{signature}: {number} seeds, the first is {answer.plan.seed}")
        failure = failure_in(pool, answer, small)
        for line in failure.narrative[-STORY_LINES:]:
            say(line)
        say(f"{failure.plan.size} entries: {write(failure, directory)}")


def failure_in(pool: Pool, answer: Answer, small: bool) -> Failure:
    """Return the failure of an answer, made small if wanted."""
    if small:
        return campaign.shrunk(pool, answer)
    return campaign.played(pool, answer.plan, answer.outcome.tape)


def program() -> None:
    """Be the program."""
    sys.exit(main(sys.argv[1:]))
