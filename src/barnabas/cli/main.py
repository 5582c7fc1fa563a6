"""The ``barnabas`` command: find the command that is meant, load it, run it."""

import importlib
import sys
from typing import Final

import barnabas
from barnabas.model.value import value


@value
class Command:
    """A command, the module that knows it, and what it is for in one line."""

    module: str
    about: str


COMMANDS: Final[dict[str, Command]] = {
    "dump-log": Command("barnabas.cli.dump_log", "print what the files of a log hold"),
    "metadata": Command("barnabas.cli.metadata", "what the cluster is, was at an offset, and why"),
    "metadata-quorum": Command(
        "barnabas.cli.metadata_quorum", "who votes and leads; add and remove controllers"
    ),
    "node": Command("barnabas.cli.node", "be one node of a cluster"),
    "storage": Command("barnabas.cli.storage", "format a node's directories, and look at them"),
    "wire": Command("barnabas.cli.wire", "look at the protocol: APIs, layouts, bytes"),
}


def usage() -> str:
    """Return what the command can do."""
    width = max((len(name) for name in COMMANDS), default=0)
    lines = [f"  {name:<{width}}  {command.about}" for name, command in sorted(COMMANDS.items())]
    listed = "\n".join(lines)
    return f"usage: barnabas COMMAND ... | --version | --help\n\n{listed}\n"


def main() -> int:
    """Run what was asked and return its exit code."""
    match sys.argv[1:]:
        case ["--version"]:
            print(f"barnabas {barnabas.__version__}")
            return 0
        case [("--help" | "-h" | "help"), *_]:
            print(usage(), end="")
            return 0
        case [name, *words] if name in COMMANDS:
            command = importlib.import_module(COMMANDS[name].module)
            code: int = command.main(words)
            return code
        case [name, *_]:
            print(f"barnabas: there is no command {name!r}\n\n{usage()}", end="", file=sys.stderr)
            return 2
        case _:
            print(usage(), end="", file=sys.stderr)
            return 2
