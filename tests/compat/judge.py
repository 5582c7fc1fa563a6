"""Apache Kafka's message classes as a judge: built with Maven, asked in batches.

`Judge("4.3.1")` builds `java/` against that release (offline, if it was ever built before) and
knows which messages and versions its classes know. `ask` sends any number of lines to one Java
process and returns its answers in order; see `java/src/main/java/barnabas/Wire.java` for both.

`cases` gives every version of every message to the newest release that knows it: 4.3.1 judges what
Kafka serves now, 4.0.1 the early access of share groups, 3.9.2 what Kafka 4 dropped.
"""

import json
import os
import re
import subprocess
import zipfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from tests.compat.maven import class_path
from tests.wire.naive import Schema, Struct, Twin, Versions, as_json, read_schema

PROJECT: Final = Path(__file__).parent / "java"

RELEASES: Final = ("4.3.1", "4.0.1", "3.9.2")

# Kafka has these and we do not, on purpose.
LEFT_OUT: Final = {
    "ListClientMetricsResourcesRequest": "since 4.1 it is ListConfigResourcesRequest, same bytes",
    "ListClientMetricsResourcesResponse": "since 4.1 it is ListConfigResourcesResponse, same bytes",
    "ProducerSnapshot": "a file of the broker, not a message",
    "RemoteLogSegmentMetadataRecord": "tiered storage",
    "RemoteLogSegmentMetadataSnapshotRecord": "tiered storage",
    "RemoteLogSegmentMetadataUpdateRecord": "tiered storage",
    "RemotePartitionDeleteMetadataRecord": "tiered storage",
}


class Judge:
    """The message classes of one release."""

    def __init__(self, release: str) -> None:
        self.release = release
        target = f"target/{release}"
        self.class_path = class_path(PROJECT, target, "--activate-profiles", f"kafka-{release}")

    def ask(self, lines: list[str]) -> list[list[str]]:
        """Send lines to a Java process; return the parts of each answer, the first ok or error."""
        java = subprocess.run(
            ["java", "-cp", self.class_path, "barnabas.Wire"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        answers = java.stdout.splitlines()
        if java.returncode or len(answers) != len(lines):
            raise RuntimeError(f"{len(answers)} answers to {len(lines)} questions:\n{java.stderr}")
        return [answer.split("\t") for answer in answers]

    @cached_property
    def known(self) -> dict[str, Versions]:
        """Say which messages its classes know, in which versions."""
        listed = self.table("messages")
        return {name: Versions(int(first), int(last)) for name, first, last in listed}

    def table(self, name: str) -> list[list[str]]:
        """Ask for one of its tables; return the words of each row."""
        outcome, *rows = self.ask([name])[0]
        assert outcome == "ok", rows
        return [row.split() for row in rows]

    @cached_property
    def schemas(self) -> dict[str, Twin]:
        """Read the definitions that lie in the jars."""
        found = {}
        for jar in self.class_path.split(os.pathsep):
            if "kafka" not in Path(jar).name:
                continue
            with zipfile.ZipFile(jar) as opened:
                for file in opened.namelist():
                    if re.fullmatch(r"(common/)?(message|metadata)/\w+\.json", file):
                        schema = read_json(opened.read(file).decode())
                        if schema["validVersions"] != "none":
                            found[schema["name"]] = read_schema(schema)
        return found


def to_read(name: str, version: int, data: bytes) -> str:
    """Ask what bytes say, and to write them again."""
    return f"read {name} {version} {data.hex()}"


def to_write(name: str, version: int, message: Struct, other: int | None = None) -> str:
    """Ask for the bytes of a message, in its own version or another."""
    return f"write {name} {version} {version if other is None else other} {as_json(message)}"


@dataclass(frozen=True)
class Case:
    """A message, and the versions of it that one release judges."""

    judge: Judge
    name: str
    versions: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}-{self.judge.release}"


@cache
def cases() -> tuple[Case, ...]:
    """Give every version of every message to the newest release that knows it."""
    judged: set[tuple[str, int]] = set()
    found = []
    for judge in map(Judge, RELEASES):
        for name in sorted(judge.known.keys() - LEFT_OUT.keys()):
            versions = [one for one in judge.known[name].all() if (name, one) not in judged]
            judged.update((name, one) for one in versions)
            if versions:
                found.append(Case(judge, name, tuple(versions)))
    return tuple(found)


def read_json(text: str) -> Schema:
    """Read JSON that has comment lines."""
    schema: Schema = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    return schema
