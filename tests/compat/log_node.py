"""One whole node of Apache Kafka on loopback, whose directories are worth reading."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Final

from tests.compat.log_judge import PROJECT
from tests.compat.maven import class_path

HEAP: Final = "-Xmx512m"
START_S: Final = 60
STOP_S: Final = 60
CLUSTER_ID: Final = "bWFkZS1mb3ItdGVzdHMtMQ"

SETTINGS: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Node:
    """A broker and controller in one process, stopped and started over the same directory."""

    def __init__(self, place: Path) -> None:
        self.logs: Final = place / "logs"
        self._properties: Final = place / "server.properties"
        self._output: Final = place / "output"
        self._port: Final = free_port()
        controller = free_port()
        settings = SETTINGS | {
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{controller}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": str(self.logs),
        }
        self._properties.write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
        self._process: subprocess.Popen[bytes] | None = None
        words = ["format", "--standalone", "--cluster-id", CLUSTER_ID, "--config"]
        subprocess.run(
            [*self._java("kafka.tools.StorageTool"), *words, str(self._properties)],
            check=True,
            capture_output=True,
            timeout=START_S,
        )

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""
        return f"127.0.0.1:{self._port}"

    def _java(self, main: str) -> list[str]:
        return ["java", HEAP, "-cp", class_path(PROJECT), main]

    def start(self) -> None:
        """Return when the node takes connections."""
        output = self._output.open("ab")
        self._process = subprocess.Popen(
            [*self._java("kafka.Kafka"), str(self._properties)], stdout=output, stderr=output
        )
        output.close()
        until = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return
            except OSError as error:
                ended = self._process.poll()
                if ended is not None or time.monotonic() > until:
                    self.stop()
                    said = self._output.read_text()[-2000:]
                    raise RuntimeError(f"the node did not start ({ended}):\n{said}") from error
            time.sleep(0.1)

    def kill(self) -> None:
        """Stop as the power would, as far as the process is concerned."""
        assert self._process is not None, "the node does not run"
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        """Stop cleanly, or at least stop."""
        if self._process is None:
            return
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
