"""Apache Kafka's commands, each a Java process that ends by itself or is ended.

The classes come from the Maven project in ``java-log``: whole nodes, and every tool that looks at
a log or talks to a quorum.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.compat.maven import class_path

PROJECT: Final = Path(__file__).parent / "java-log"

# Nothing here lives long enough for the second compiler, or is large.
SMALL: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# What Kafka logs goes to standard output, where it would stand among a tool's answers.
SILENT: Final = ("-Dlog4j2.level=OFF",)

TOOLS: Final = {
    "storage": "kafka.tools.StorageTool",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "metadata-shell": "org.apache.kafka.shell.MetadataShell",
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}
"""What ``kafka-<name>.sh`` runs."""

TOOL_S: Final = 60


def java(main: str, *options: str) -> list[str]:
    """Return the words that start a class of Kafka's."""
    return ["java", *SMALL, *options, "-cp", class_path(PROJECT), main]


class ToolFailed(Exception):  # noqa: N818 -- what happened to the command, which may be what was wanted
    """A command ended with an error, or not at all in time; its words and what it printed."""


def tool(
    name: str,
    *words: str,
    options: Sequence[str] = SILENT,
    timeout_s: float = TOOL_S,
    typed: str = "",
) -> str:
    """Run ``kafka-<name>.sh`` and return what it printed; ``ToolFailed`` if it fails."""
    command = [*java(TOOLS[name], *options), *words]
    said = f"kafka-{name} {' '.join(words)}"
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout_s, input=typed
        )
    except subprocess.TimeoutExpired as late:
        raise ToolFailed(f"{said}: not done in {timeout_s} s: {late.output!r}") from late
    if ran.returncode:
        raise ToolFailed(f"{said}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout
