"""What Apache Kafka sees in files of the metadata log: each leaf of its shell's tree, by its path.

``trees`` asks Kafka's classes, by ``Tree.java`` of ``java-metadata``: its reader of files, its
loader and the nodes of its shell, at every offset at which it publishes.  ``shell_tree`` runs the
shell itself, which sees one file as its listener, and only the end of it.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from barnabas.model.value import value
from barnabas.records.batch import batches
from tests.compat.kafka_tools import tool
from tests.compat.maven import class_path

PROJECT: Final = Path(__file__).parent / "java-metadata"

ROOT: Final = "/image"
PROVENANCE: Final = "/image/provenance"

# Without a terminal the shell waits until its loader has applied something, and then shows what it
# was told of: the image before the first now and then, or that before the last, since it takes the
# last offset for the end offset (MetadataShell.java, SnapshotFileReader.java).
SHELL_TURNS: Final = 20

Leaves = Mapping[str, str]


@value
class Tree:
    """An image that Kafka has published."""

    offset: int
    epoch: int
    batch_aligned: bool
    leaves: Leaves


def trees(files: Sequence[Path]) -> dict[int, Tree]:
    """Return every image that Kafka makes of files, by offset: a snapshot first, then the log."""
    java = subprocess.run(
        ["java", "-cp", class_path(PROJECT), "barnabas.Tree"],
        input="\t".join(map(str, files)) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    lines = java.stdout.split("\n")
    assert lines[-2:] == ["done", ""], java.stderr
    found: dict[int, Tree] = {}
    leaves: dict[str, str] = {}
    for line in lines[:-2]:
        if line.startswith("image "):
            _, offset, epoch, aligned = line.split(" ")
            leaves = {}
            found[int(offset)] = Tree(int(offset), int(epoch), aligned == "true", leaves)
        else:
            path, text = map(unwritten, line.split("\t"))
            leaves[path] = text
    return found


def unwritten(text: str) -> str:
    """Take backslashes out of a text, which stand before backslashes, "n" and "t"."""
    parts = [part.replace("\\n", "\n").replace("\\t", "\t") for part in text.split("\\\\")]
    return "\\".join(parts)


def shell_tree(file: Path) -> Leaves:
    """Return what ``kafka-metadata-shell`` prints of a snapshot, or of a log, up to its end."""
    end = f"offset {last_data_offset(file)}, "
    for _ in range(SHELL_TURNS):
        leaves = parsed(tool("metadata-shell", "--snapshot", str(file), "tree", ROOT))
        if leaves[PROVENANCE].startswith(end):
            return leaves
    raise AssertionError(f"Kafka's shell has shown no end of {file}, {SHELL_TURNS} times")


def last_data_offset(file: Path) -> int:
    """Return the offset of the last metadata record in a file."""
    headers = (header for _, header in batches(file.read_bytes()))
    return max(header.last_offset for header in headers if not header.is_control)


def parsed(printed: str) -> Leaves:
    """Return the leaves of a tree that was printed."""
    leaves: dict[str, str] = {}
    names: list[str] = []
    for line in printed.split("\n")[:-1]:
        text = line.lstrip(" ")
        depth = (len(line) - len(text)) // 2
        if text.endswith(":"):
            names[depth:] = [text[:-1]]
        else:
            leaves["/".join((ROOT, *names[:depth]))] = text
    return leaves
