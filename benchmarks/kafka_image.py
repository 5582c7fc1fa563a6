"""Apache Kafka's metadata image, measured in a Java process of its own beside ours.

    with KafkaImage(log) as kafka:
        kafka.figure("replay")                 one measurement, by Kafka's own loader
        warmed(lambda: kafka.figure("replay"))

``Speed.java`` in ``tests/compat/java-metadata`` says what can be ordered and how it is measured.
It is given the same log byte for byte.  While we are measured it does nothing.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.report import spread
from tests.compat.maven import class_path

PROJECT: Final = Path(__file__).parent.parent / "tests" / "compat" / "java-metadata"

# Room for two images of a million partitions and the log; the collector is the one that Kafka's
# own scripts choose.
OPTIONS: Final = ("-Xmx4g", "-XX:+UseG1GC")

# A virtual machine compiles what it runs often: its figures fall for a while and then stand still.
WARM_S: Final = 3.0
WARM_MAX_S: Final = 20.0
LAST: Final = 5
STILL: Final = 0.1


class KafkaImage:
    """A process that has a log, and folds it when it is told to."""

    def __init__(self, log: bytes) -> None:
        self._java: Final = subprocess.Popen(
            ["java", *OPTIONS, "-cp", class_path(PROJECT), "barnabas.Speed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with TemporaryDirectory() as place:
            path = Path(place, "log")
            path.write_bytes(log)
            taken = self.figure("log", str(path))
        assert taken == len(log), f"Kafka has {taken} of {len(log)} bytes"

    def __enter__(self) -> "KafkaImage":
        return self

    def __exit__(self, *_: object) -> None:
        self._java.kill()
        self._java.communicate()

    def figures(self, *words: str) -> list[float]:
        """Order a measurement, and return its figures."""
        assert self._java.stdin is not None, "orders go into a pipe"
        assert self._java.stdout is not None, "figures come out of a pipe"
        self._java.stdin.write(" ".join(words) + "\n")
        self._java.stdin.flush()
        line = self._java.stdout.readline()
        assert line, f"Kafka's side ended with {self._java.wait()} at {words[0]}"
        return [float(figure) for figure in line.split()]

    def figure(self, *words: str) -> float:
        """Order a measurement that has one figure."""
        [figure] = self.figures(*words)
        return figure


def warmed(measure: Callable[[], float]) -> None:
    """Measure until the figures stand still, or for so long that they never will."""
    started, figures = perf_counter(), [measure()]
    while (took := perf_counter() - started) < WARM_MAX_S:
        figures.append(measure())
        if took > WARM_S and len(figures) > LAST and spread(figures[-LAST:]) < STILL:
            return
