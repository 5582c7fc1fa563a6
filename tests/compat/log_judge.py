"""Apache Kafka's log and tools as a judge: one Java process that takes orders.

`Judge()` builds `java-log/` (offline, if it was ever built before) and starts it; `order` sends one
order and returns the answer. See `java-log/src/main/java/barnabas/Log.java` for both.
"""

import atexit
import json
import subprocess
from typing import Any, Final

from tests.compat.kafka_tools import SILENT, java

HEAP: Final = "-Xmx384m"

Order = dict[str, Any]
Answer = dict[str, Any]


class Judge:
    """A process with Kafka's classes, which ends with ours."""

    def __init__(self) -> None:
        self._java: Final = subprocess.Popen(
            java("barnabas.Log", HEAP, *SILENT),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.close)

    def order(self, order: Order) -> Answer:
        """Have one order carried out; the answer has `error` if Kafka refused."""
        assert self._java.stdin is not None
        assert self._java.stdout is not None
        self._java.stdin.write(json.dumps(order) + "\n")
        self._java.stdin.flush()
        line = self._java.stdout.readline()
        assert line, f"the judge ended with {self._java.wait()} at {order}"
        answer: Answer = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._java.kill()
        self._java.wait()
        for end in (self._java.stdin, self._java.stdout):
            if end is not None:
                end.close()
