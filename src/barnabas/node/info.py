"""What the directories of a node are, and what is wrong with them: ``storage info``.

    Found log directories:
      /data/a
      /data/b

    Found metadata: {cluster.id=XcZZOzUqS4yHOjhMQB6JLQ, directory.id=…, node.id=1, version=1}

    Found problem:
      /data/b is not formatted.

Word for word what Kafka's StorageTool.scala says.
"""

from collections.abc import Sequence

from barnabas.model.errors import Misconfigured
from barnabas.model.value import value
from barnabas.node.meta_properties import (
    LEGACY,
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
)
from barnabas.runtime.disk import Disk


@value
class Info:
    """What was found: the directories that there are, what the first says, what is wrong."""

    directories: tuple[str, ...]
    meta: MetaProperties | None
    problems: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return it for people."""
        told: list[str] = []
        if self.directories:
            told += paragraph("Found log director{}:", "y", "ies", self.directories)
        if self.meta is not None:
            properties = self.meta.properties()
            pairs = ", ".join(f"{name}={text}" for name, text in properties.items())
            told += [f"Found metadata: {{{pairs}}}", ""]
        if self.problems:
            told += paragraph("Found problem{}:", "", "s", self.problems)
        return told


def paragraph(heading: str, one: str, several: str, found: Sequence[str]) -> list[str]:
    """Return a heading, what was found below it, and an empty line."""
    return [heading.format(one if len(found) == 1 else several), *(f"  {x}" for x in found), ""]


def storage_info(disk: Disk, directories: Sequence[str]) -> Info:
    """Look at the directories of a node."""
    found: list[str] = []
    problems: list[str] = []
    first: MetaProperties | None = None
    for path in sorted(directories):
        directory = path.rstrip("/") or "/"
        if not disk.is_directory(directory):
            what = "is not a directory" if disk.exists(directory) else "does not exist"
            problems.append(f"{directory} {what}")
            continue
        found.append(directory)
        try:
            meta = read_meta_properties(disk, directory)
        except Misconfigured as error:
            problems.append(f"Error loading {directory}/{META_PROPERTIES}: {error}")
            continue
        if meta is None:
            problems.append(f"{directory} is not formatted.")
        elif first is None:
            first = meta
        elif meta.cluster_id != first.cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif meta.node_id != first.node_id:
            problems.append("Mismatched node IDs between storage directories.")
    if first is not None and first.version == LEGACY:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the "
            "directories are formatted for legacy mode."
        )
    return Info(tuple(found), first, tuple(problems))
