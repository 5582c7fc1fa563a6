"""A machine whose directories are formatted, for the tests of ``node``."""

from collections.abc import Sequence
from typing import Final

from barnabas.node.config import NodeConfig, node_config
from barnabas.node.format import Wish, format_storage
from barnabas.runtime.entropy import drawn_uuid
from tests.log.storage import Machine, run
from tests.raft.replica import StillClock

CLUSTER: Final = "XcZZOzUqS4yHOjhMQB6JLQ"

STATIC: Final = {
    "process.roles": "broker",
    "node.id": "0",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "100@localhost:9093",
    "log.dirs": "/disks/a,/disks/b",
}

DYNAMIC: Final = {
    "process.roles": "controller",
    "node.id": "0",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "CONTROLLER://:9093",
    "advertised.listeners": "CONTROLLER://127.0.0.1:9093",
    "log.dirs": "/disks/a,/disks/b",
}


class Counting:
    """Entropy that counts, so that a test knows what was drawn."""

    def __init__(self) -> None:
        self.drawn = 0

    def below(self, limit: int) -> int:
        self.drawn += 1
        return self.drawn % limit

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def octets(self, count: int) -> bytes:
        self.drawn += 1
        return bytes([self.drawn % 251 + 1]) * count

    def uuid(self) -> bytes:
        return drawn_uuid(self.octets)


def config_of(lines: dict[str, str], **more: str) -> NodeConfig:
    """Return a configuration; underscores in names stand for points."""
    return node_config(lines | {name.replace("_", "."): text for name, text in more.items()})


def formatted(
    machine: Machine, config: NodeConfig, wish: Wish, entropy: Counting | None = None
) -> list[str]:
    """Format, and return what was said."""
    said: list[str] = []
    entropy = entropy or Counting()
    run(format_storage(machine.process, StillClock(), entropy, config, wish, said.append))
    return said


def tree(machine: Machine, directory: str = "/disks") -> dict[str, bytes]:
    """Return every file below a directory, by its path."""
    found: dict[str, bytes] = {}
    disk = machine.process
    names: Sequence[str] = disk.names(directory) if disk.exists(directory) else ()
    for name in names:
        path = f"{directory}/{name}"
        if disk.is_directory(path):
            found |= tree(machine, path)
        else:
            file = disk.open(path, "read")
            found[path] = file.read(0, file.size())
    return found


def written(machine: Machine, path: str, content: bytes) -> None:
    """Write a file, and the directory it lies in."""
    machine.process.make_directory(path.rpartition("/")[0])
    file = machine.process.open(path, "create")
    file.truncate(0)
    file.write(0, [content])
