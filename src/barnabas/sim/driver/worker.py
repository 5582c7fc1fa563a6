"""A worker: takes jobs from its input, forks a child for each, answers on its output.

It is started by ``pool`` with a hash seed of its own, and ends when its input does.
"""

import gc
import json
import logging
import os
import select
import signal
import sys
import time
from typing import Final

from barnabas.sim.driver.jobs import (
    BROKEN,
    INFRASTRUCTURE,
    Answer,
    Job,
    Json,
    answer_as_json,
    job_from_json,
)
from barnabas.sim.driver.profiles import load
from barnabas.sim.run import run

CHUNK: Final = 1 << 20


def serve(profile_names: list[str]) -> None:
    """Answer jobs until there are no more."""
    # What a simulated node would tell its operator is in nobody's way here.
    logging.getLogger("barnabas").addHandler(logging.NullHandler())
    for name in profile_names:
        load(name)
    # What is here now stays, in every child: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        stored = json.loads(line)
        sys.stdout.write(json.dumps(in_child(job_from_json(stored))) + "\n")
        sys.stdout.flush()


def in_child(job: Job) -> Json:
    """Make a run in a process of its own; kill it if it takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        answered = json.dumps(answered_here(job)).encode()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answered)
        # Not a return: nothing of the worker's is the child's to finish.
        os._exit(0)
    os.close(writing)
    output = read_until(reading, time.monotonic() + job.wall_s)
    os.close(reading)
    if output is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if output is None:
        return {INFRASTRUCTURE: f"no end after {job.wall_s} s", "seed": job.seed}
    if status:
        # Its traceback is on the standard error that it shares with everybody.
        return {BROKEN: f"the child ended with status {status}", "seed": job.seed}
    answer: Json = json.loads(output)
    return answer


def answered_here(job: Job) -> Json:
    """Make a run in this process."""
    profile = load(job.profile)
    plan = job.plan or profile.plan(job.seed, job.mutant)
    described: list[str] = []
    started = time.perf_counter()
    outcome = run(profile, plan, job.tape, window=job.window, described=described)
    answer = Answer(outcome, plan, time.perf_counter() - started, tuple(described))
    return answer_as_json(answer, job.full)


def read_until(descriptor: int, deadline_s: float) -> bytes | None:
    """Read a pipe to its end; None if that did not come in time."""
    parts: list[bytes] = []
    while True:
        left_s = deadline_s - time.monotonic()
        ready, _, _ = select.select([descriptor], [], [], max(0.0, left_s))
        if not ready:
            return None
        part = os.read(descriptor, CHUNK)
        if not part:
            return b"".join(parts)
        parts.append(part)


if __name__ == "__main__":
    serve(sys.argv[1:])
