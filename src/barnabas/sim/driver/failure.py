"""Failure files: a failure as somebody else can replay and read it.

The file holds the plan and the tape rather than the seed: a seed means something only to the very
code that drew from it.  ``source`` tells whether the code is still the same; where it is not, the
plan is, and a replay that comes out otherwise is called drifted.
"""

import json
import platform
from hashlib import blake2b
from pathlib import Path
from typing import Final

import barnabas
from barnabas.model.value import value
from barnabas.sim.driver.jobs import Json, tape_from_json
from barnabas.sim.plan import Plan, as_json, from_json
from barnabas.sim.run import Outcome
from barnabas.sim.tape import Deviations

FORMAT: Final = 1


@value
class Failure:
    """What a failure file says."""

    plan: Plan
    tape: Deviations
    oracle: str
    signature: str
    story: str
    trace_hash: str
    fingerprint: str
    first_bad_event: int
    failed_at_ms: int
    source: str
    narrative: tuple[str, ...]


def failure_of(plan: Plan, tape: Deviations, outcome: Outcome) -> Failure:
    """Return the failure that playing a tape ended in."""
    return Failure(
        plan=plan,
        tape=tape,
        oracle=outcome.oracle,
        signature=outcome.signature,
        story=outcome.story,
        trace_hash=outcome.trace_hash,
        fingerprint=outcome.fingerprint,
        first_bad_event=outcome.events,
        failed_at_ms=outcome.failed_at_ms,
        source=source_hash(),
        narrative=outcome.narrative,
    )


def write(failure: Failure, directory: Path) -> Path:
    """Write a failure file; its name says the oracle and which failure of it."""
    directory.mkdir(parents=True, exist_ok=True)
    short = blake2b(failure.signature.encode(), digest_size=4).hexdigest()
    mutant = f"-{failure.plan.mutant}" if failure.plan.mutant else ""
    path = directory / f"{failure.plan.profile}{mutant}-{failure.oracle}-{short}.json"
    stored: Json = {
        "format": FORMAT,
        "barnabas": barnabas.__version__,
        "python": platform.python_version(),
        "source": failure.source,
        "oracle": failure.oracle,
        "signature": failure.signature,
        "story": failure.story,
        "trace_hash": failure.trace_hash,
        "fingerprint": failure.fingerprint,
        "first_bad_event": failure.first_bad_event,
        "failed_at_ms": failure.failed_at_ms,
        "plan": as_json(failure.plan),
        "tape": failure.tape,
        "narrative": list(failure.narrative),
    }
    path.write_text(json.dumps(stored, indent=1) + "\n")
    return path


def read(path: Path) -> Failure:
    """Read a failure file."""
    stored: Json = json.loads(path.read_text())
    if stored.get("format") != FORMAT:
        raise ValueError(f"{path} has format {stored.get('format')}; this reads {FORMAT}")
    return Failure(
        plan=from_json(stored["plan"]),
        tape=tape_from_json(stored["tape"]),
        oracle=stored["oracle"],
        signature=stored["signature"],
        story=stored["story"],
        trace_hash=stored["trace_hash"],
        fingerprint=stored["fingerprint"],
        first_bad_event=stored["first_bad_event"],
        failed_at_ms=stored["failed_at_ms"],
        source=stored["source"],
        narrative=tuple(stored["narrative"]),
    )


def source_hash() -> str:
    """Return a digest of the code that runs: every module of the package."""
    digest = blake2b(digest_size=8)
    root = Path(barnabas.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()
