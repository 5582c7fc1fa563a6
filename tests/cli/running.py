"""A node of our own in a process of its own, for tests of commands."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from typing import Final

from barnabas.cli import storage

CLUSTER: Final = "5Nt_67aCRU6aKtpHOgzdBA"
WAIT_S: Final = 20


def free_port() -> int:
    """Return a port that nobody listens on."""
    with create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def told(place: Path, port: int, node_id: int = 1) -> Path:
    """Write a controller's properties file and return where."""
    path = place / f"{node_id}.properties"
    path.write_text(
        f"process.roles=controller\n"
        f"node.id={node_id}\n"
        f"log.dirs={place}/data{node_id}\n"
        f"listeners=CONTROLLER://127.0.0.1:{port}\n"
        f"controller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\n"
        f"controller.quorum.election.timeout.ms=100\n"
    )
    return path


@contextmanager
def running(config: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a node that leads, and end it if it has not ended."""
    assert not storage.main(
        ["format", "-c", str(config), "-t", CLUSTER, "--standalone", "--ignore-formatted"]
    )
    words = [sys.executable, "-m", "barnabas", "node", "--config", str(config)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if re.search(r"raft\] became Leader", line):
                break
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT_S)
        assert process.stderr is not None
        process.stderr.close()
