"""Workers, and who is busy with what.

There are two *sides*, each with a hash seed of its own.  A job goes to whichever worker is free
unless it names a side; running a job on both sides and comparing is how nondeterminism is found.
"""

import json
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Final, TypeAlias

from barnabas.sim.driver.jobs import (
    BROKEN,
    INFRASTRUCTURE,
    Answer,
    Job,
    answer_from_json,
    job_as_json,
)

# One hash seed per side.
HASH_SEEDS: Final = (1, 2)


class NoResultError(Exception):
    """A run came to no result."""


class InfrastructureError(NoResultError):
    """It took too long, for reasons outside the simulation."""


class BrokenRunError(NoResultError):
    """The simulator or the profile raised: nothing of it can be believed."""


Done: TypeAlias = Callable[[Answer | NoResultError], None]


@dataclass(slots=True)
class Worker:
    """One process with a hash seed, and what it is busy with."""

    side: int
    process: subprocess.Popen[str]
    done: Done | None = None

    @property
    def output(self) -> IO[str]:
        """Where its answers come from."""
        assert self.process.stdout is not None, "workers are started with pipes"
        return self.process.stdout


@dataclass(slots=True)
class Queue:
    """Jobs that wait for a worker, in order."""

    jobs: deque[tuple[Job, Done]] = field(default_factory=deque)


class Pool:
    """A few workers on each side, and the jobs that wait for them."""

    def __init__(self, profile: str, workers: int) -> None:
        self._any: Final = Queue()
        self._sides: Final = [Queue() for _ in HASH_SEEDS]
        self._workers: Final[list[Worker]] = []
        for number in range(max(workers, len(HASH_SEEDS))):
            side = number % len(HASH_SEEDS)
            self._workers.append(Worker(side, start(profile, HASH_SEEDS[side])))

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.process.kill()
            worker.process.wait()
            for pipe in (worker.process.stdin, worker.process.stdout):
                if pipe is not None:
                    pipe.close()

    def submit(self, job: Job, done: Done, side: int | None = None) -> None:
        """Queue a job; ``done`` is called by ``work`` when it is answered."""
        (self._any if side is None else self._sides[side]).jobs.append((job, done))
        self._assign()

    def drop(self) -> None:
        """Forget the jobs that wait."""
        for queue in (self._any, *self._sides):
            queue.jobs.clear()

    def work(self) -> None:
        """Return when every job has been answered."""
        while self.step():
            pass

    def step(self) -> bool:
        """Wait for one answer and hand it out; tell whether there was one to wait for."""
        busy = [worker for worker in self._workers if worker.done is not None]
        if not busy:
            return False
        ready, _, _ = select.select([worker.output for worker in busy], [], [])
        for worker in busy:
            if worker.output in ready:
                self._take(worker)
        return True

    def run(self, job: Job, side: int | None = None) -> Answer:
        """Run one job and return its answer."""
        answers: list[Answer | NoResultError] = []
        self.submit(job, answers.append, side)
        while not answers:
            self.step()
        (answer,) = answers
        if isinstance(answer, NoResultError):
            raise answer
        return answer

    def _take(self, worker: Worker) -> None:
        done = worker.done
        worker.done = None
        line = worker.output.readline()
        assert line, f"the worker with hash seed {HASH_SEEDS[worker.side]} is gone"
        assert done is not None, "an answer to nothing"
        stored = json.loads(line)
        self._assign()
        if INFRASTRUCTURE in stored:
            done(InfrastructureError(f"seed {stored['seed']}: {stored[INFRASTRUCTURE]}"))
        elif BROKEN in stored:
            done(BrokenRunError(f"seed {stored['seed']}: {stored[BROKEN]}"))
        else:
            done(answer_from_json(stored))

    def _assign(self) -> None:
        for worker in self._workers:
            # A side's own jobs first: nobody else can do them.
            for queue in (self._sides[worker.side], self._any):
                if worker.done is None and queue.jobs:
                    job, worker.done = queue.jobs.popleft()
                    assert worker.process.stdin is not None, "workers are started with pipes"
                    worker.process.stdin.write(json.dumps(job_as_json(job)) + "\n")
                    worker.process.stdin.flush()


def start(profile: str, hash_seed: int) -> "subprocess.Popen[str]":
    """Start a worker that imports from where this process does."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "barnabas.sim.driver.worker", profile],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": path},
    )
