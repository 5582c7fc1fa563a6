"""A node of Barnabas in a process of its own, formatted and started like one of Kafka's."""

import subprocess
import sys

from tests.compat.kafka_node import CLUSTER_ID, Node

FORMAT_S = 30


class OurNode(Node):
    """The same directories, properties and signals; another product."""

    def __str__(self) -> str:
        return f"our {self.roles} {self.id}"

    def format(self, *words: str, cluster_id: str = CLUSTER_ID) -> None:
        """Let our tool format the directory."""
        place = ["--cluster-id", cluster_id, "--config", str(self.properties)]
        subprocess.run(
            [*barnabas("storage", "format"), *place, *words],
            check=True,
            capture_output=True,
            timeout=FORMAT_S,
        )

    def command(self) -> list[str]:
        """Return the words that start the process."""
        return barnabas("node", "--config", str(self.properties))


def barnabas(*words: str) -> list[str]:
    """Return the words that run ``barnabas`` in this very environment."""
    return [sys.executable, "-m", "barnabas", *words]
