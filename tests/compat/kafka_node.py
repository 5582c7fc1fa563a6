"""A node of Apache Kafka on loopback, of any role, whose directories are worth reading.

    node = Node(place, 1, "controller")         ports are chosen, nothing is written
    node.configure({"controller.quorum.bootstrap.servers": node.controller})
    node.format("--standalone")
    node.start()
    …
    node.stop()                                 or kill, or pause and resume

Nodes are told apart by what they listen on, so that several may live side by side; a process is
ended by its id, and ends with the process that started it.
"""

import atexit
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from barnabas.model.ids import Uuid, parse_uuid
from tests.compat.kafka_tools import java, tool

START_S: Final = 60
STOP_S: Final = 60
CLUSTER_ID: Final = "bWFkZS1mb3ItdGVzdHMtMQ"

# What a node does is told by its files and its answers; of what it logs only trouble is kept.
LOGGED: Final = "-Dlog4j2.level=WARN"

# A broker's log cleaner alone wants 128 MB.
BROKER_HEAP: Final = "-Xmx512m"

BROKER: Final = {
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
"""A broker that is alone, and in a hurry."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Node:
    """One process, stopped and started over the same directory."""

    def __init__(self, place: Path, node_id: int, roles: str) -> None:
        place.mkdir(exist_ok=True, parents=True)
        self.place: Final = place
        self.id: Final = node_id
        self.roles: Final = roles
        self.logs: Final = place / "logs"
        self.properties: Final = place / "server.properties"
        self._output: Final = place / "output"
        names = {"broker": "PLAINTEXT", "controller": "CONTROLLER"}
        self.ports: Final = {names[role]: free_port() for role in roles.split(",")}
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.kill)

    def __str__(self) -> str:
        return f"Kafka's {self.roles} {self.id}"

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""
        return f"127.0.0.1:{self.ports['PLAINTEXT']}"

    @property
    def controller(self) -> str:
        """Where replicas of the quorum begin."""
        return f"127.0.0.1:{self.ports['CONTROLLER']}"

    @property
    def metadata(self) -> Path:
        """Where the quorum's log is."""
        return self.logs / "__cluster_metadata-0"

    @property
    def runs(self) -> bool:
        """Whether it was started and not stopped."""
        return self._process is not None

    @property
    def directory_id(self) -> Uuid:
        """The id of its directory, as it was formatted."""
        lines = (self.logs / "meta.properties").read_text().splitlines()
        (printed,) = (line.partition("=")[2] for line in lines if line.startswith("directory.id="))
        return parse_uuid(printed)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Write the properties file; what a node of this role and place needs is in it already."""
        listeners = (f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        told = {
            "process.roles": self.roles,
            "node.id": str(self.id),
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.logs),
            **(BROKER if "PLAINTEXT" in self.ports else {}),
            **settings,
        }
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in told.items()))

    def format(self, *words: str, cluster_id: str = CLUSTER_ID) -> None:
        """Let Kafka's tool format the directory."""
        tool(
            "storage",
            "format",
            "--cluster-id",
            cluster_id,
            "--config",
            str(self.properties),
            *words,
        )

    def start(self) -> None:
        """Return when the node takes connections."""
        self.launch()
        port = next(iter(self.ports.values()))
        until = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError as error:
                self.check()
                if time.monotonic() > until:
                    self.kill()
                    why = f"{self} did not listen in {START_S} s:\n{self.output()[-3000:]}"
                    raise RuntimeError(why) from error
            time.sleep(0.1)

    def launch(self) -> None:
        """Start the process and return at once."""
        assert self._process is None, f"{self} runs"
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(self.command(), stdout=output, stderr=output)

    def command(self) -> list[str]:
        """Return the words that start the process."""
        options = [LOGGED, BROKER_HEAP] if "PLAINTEXT" in self.ports else [LOGGED]
        return [*java("kafka.Kafka", *options), str(self.properties)]

    def check(self) -> None:
        """Fail if the process should run and does not."""
        ended = None if self._process is None else self._process.poll()
        if ended is not None:
            raise RuntimeError(f"{self} has ended with {ended}:\n{self.output()[-3000:]}")

    def output(self) -> str:
        """Return what the node has printed and logged so far."""
        return self._output.read_text() if self._output.exists() else ""

    def kill(self) -> None:
        """Stop as the power would, as far as the process is concerned."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Hold the process still."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop cleanly, or at least stop."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _signal(self, number: int) -> None:
        assert self._process is not None, f"{self} does not run"
        os.kill(self._process.pid, number)


def whole_node(place: Path) -> Node:
    """Return a formatted broker and controller in one process."""
    node = Node(place, 1, "broker,controller")
    node.configure({"controller.quorum.bootstrap.servers": node.controller})
    node.format("--standalone")
    return node
