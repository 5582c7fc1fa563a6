"""Prove that the import contracts bite: break each in a copy of the tree and see it caught by name.

    python -m tools.break_contracts

Each violation is one line added to one module (or one new module).  It counts as caught only if
`lint-imports` reports the contract that is there to forbid it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from barnabas.model.value import value

ROOT: Final = Path(__file__).parent.parent


@value
class Violation:
    """A line that must not be in a module, and the contract that says so."""

    module: str
    line: str
    contract: str


LAYERS: Final = "The tree reads top down"
CORES: Final = "Cores are synchronous and silent"
WORLD: Final = "Time, entropy, disk, sockets and threads come from barnabas.runtime"
RUNTIME: Final = "The world is protocols; the bundle is on top"
CHECKSUM: Final = "CRC-32C enters by records.checksum alone"
CODECS: Final = "Codecs enter by records.compression alone"
PARTIES: Final = "No other third-party package enters at all"
RECORDS: Final = "Records: rules over records over codecs over the header"
CYCLES: Final = "No cycles between sibling modules"
MESSAGES: Final = "Messages know how they are declared and nothing else"
LOG: Final = "Log: the directory over what changes a log over the log over its parts"
NODE: Final = "Node: what is done over what is read"
METADATA: Final = "Metadata: the loader over the fold over the image over its parts"
CONTROLLER: Final = "Controller: decisions over the state they are made on"
BROKER: Final = "Broker: the shell over the machines over what they are told"
BROKER_AND_QUORUM: Final = "A broker knows nothing of how its quorum is kept"
NET: Final = "Net: both directions over what two ends agree upon"
DRIVER: Final = "What is simulated knows nothing of the driver that runs it"
SPECS: Final = "A specification knows nothing of what it is compared with"
BESIDE: Final = "Specifications stand side by side on what explores them"
REPLICATION_SPEC: Final = "Replication's specification: proof over worlds over actions over words"
RAFT_SPEC: Final = "Raft's specification: proof over worlds over actions over words"
SIMULATED: Final = "The simulated world has no door to the real one"

VIOLATIONS: Final = (
    Violation("model/errors.py", "from barnabas.wire import codec", LAYERS),
    Violation("runtime/disk.py", "from barnabas.host import disk", LAYERS),
    Violation("wire/codec.py", "from barnabas.sim import world", LAYERS),
    Violation("wire/connection.py", "import barnabas.cli.main", LAYERS),
    Violation("host/network.py", "from barnabas.sim import network", LAYERS),
    Violation("sim/network.py", "from barnabas.host import network", LAYERS),
    Violation("host/clock.py", "from barnabas.cli import main", LAYERS),
    Violation("surprise/__init__.py", '"""A package nobody placed."""', LAYERS),
    Violation("wire/connection.py", "import asyncio", CORES),
    Violation("wire/codec.py", "import logging", CORES),
    Violation("wire/connection.py", "from barnabas.runtime import tasks", CORES),
    Violation("wire/codec.py", "import time", WORLD),
    Violation("runtime/tasks.py", "import threading", WORLD),
    Violation("runtime/entropy.py", "import random", WORLD),
    Violation("runtime/disk.py", "import os", WORLD),
    Violation("model/value.py", "import datetime", WORLD),
    Violation("runtime/clock.py", "from barnabas.runtime import runtime", RUNTIME),
    Violation("runtime/probes.py", "from barnabas.runtime import clock", RUNTIME),
    Violation("wire/codec.py", "import numpy", PARTIES),
    Violation("records/batch.py", "from crc32c import crc32c", CHECKSUM),
    Violation("records/builder.py", "import cramjam", CODECS),
    Violation("wire/connection.py", "from backports import zstd", CODECS),
    Violation("records/control.py", "from barnabas.wire import codec", LAYERS),
    Violation("records/record.py", "from barnabas.records import builder", RECORDS),
    Violation("records/control.py", "from barnabas.records import snapshot", RECORDS),
    Violation("records/validation.py", "import time", WORLD),
    Violation("views/configs.py", "import asyncio", CORES),
    Violation("views/configs.py", "import time", WORLD),
    Violation("views/configs.py", "from barnabas.controller import state", LAYERS),
    Violation("controller/state.py", "import asyncio", CORES),
    Violation("controller/state.py", "import time", WORLD),
    Violation("controller/config.py", "from barnabas.controller import state", CONTROLLER),
    Violation("controller/partitions.py", "from barnabas.controller import brokers", CONTROLLER),
    Violation("broker/lifecycle.py", "from barnabas.broker import assignments", BROKER),
    Violation("broker/lifecycle.py", "import asyncio", CORES),
    Violation("broker/shell.py", "import time", WORLD),
    Violation("broker/shell.py", "from barnabas.raft import states", BROKER_AND_QUORUM),
    Violation("broker/config.py", "from barnabas.controller import state", LAYERS),
    Violation("wire/structs.py", "from barnabas.wire import codec", CYCLES),
    Violation("wire/messages/fetch.py", "from barnabas.wire import connection", MESSAGES),
    Violation("records/batch.py", "from barnabas.records import builder", RECORDS),
    Violation("log/index.py", "from barnabas.log import partition_log", LOG),
    Violation("log/segment.py", "import os", WORLD),
    Violation("log/partition_log.py", "import asyncio", CORES),
    Violation("metadata/delta.py", "from barnabas.metadata import fold", METADATA),
    Violation("metadata/acls.py", "from barnabas.metadata import topics", METADATA),
    Violation("metadata/fold.py", "from barnabas.metadata import history", METADATA),
    Violation("metadata/acts.py", "from barnabas.metadata import causes", METADATA),
    Violation("metadata/generator.py", "import time", WORLD),
    Violation("metadata/loader.py", "import asyncio", CORES),
    Violation("metadata/batches.py", "from barnabas.log import segment", LAYERS),
    Violation("net/server.py", "from barnabas.net import peers", NET),
    Violation("net/peers.py", "import socket", WORLD),
    Violation("net/server.py", "from barnabas.host import network", LAYERS),
    Violation("node/config.py", "from barnabas.node import format", NODE),
    Violation("node/properties.py", "import os", WORLD),
    Violation("sim/network.py", "from barnabas.sim import driver", DRIVER),
    Violation("sim/network.py", "import socket", SIMULATED),
    Violation("sim/kernel.py", "import time", SIMULATED),
    Violation("sim/specs/raft/node.py", "from barnabas.raft import states", SPECS),
    Violation("sim/specs/exploration.py", "from barnabas.sim import world", DRIVER),
    Violation("sim/specs/raft/node.py", "from barnabas.sim.specs.raft import proof", RAFT_SPEC),
    Violation("sim/specs/raft/node.py", "from barnabas.sim.specs import replication", BESIDE),
    Violation(
        "sim/specs/replication/leading.py",
        "from barnabas.sim.specs.replication import closed",
        REPLICATION_SPEC,
    ),
)


def broken(source: Path) -> list[str]:
    """Return the names of the contracts that a tree breaks."""
    program = str(Path(sys.executable).parent / "lint-imports")
    done = subprocess.run(
        [program, "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        cwd=source,
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    names = re.findall(r"^(.*?) BROKEN\b", done.stdout, re.MULTILINE)
    assert done.returncode == 0 or names, done.stdout + done.stderr
    return names


def seeded(source: Path, violation: Violation) -> list[str]:
    """Return what is broken once this violation is in the tree; take it out again."""
    module = source / "barnabas" / violation.module
    before = module.read_text() if module.exists() else None
    module.parent.mkdir(exist_ok=True)
    module.write_text((before or "") + violation.line + "\n")
    caught = broken(source)
    if before is None:
        shutil.rmtree(module.parent)
    else:
        module.write_text(before)
    return caught


def main() -> None:
    """Seed each violation in turn and print what caught it."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        ignore = shutil.ignore_patterns("__pycache__", "schema")
        shutil.copytree(ROOT / "src" / "barnabas", source / "barnabas", ignore=ignore)
        clean = broken(source)
        assert not clean, f"the tree itself breaks {clean}"
        missed = 0
        for violation in VIOLATIONS:
            caught = violation.contract in seeded(source, violation)
            missed += not caught
            row = {
                "module": violation.module,
                "line": violation.line,
                "contract": violation.contract,
                "caught": caught,
            }
            print(json.dumps(row), flush=True)
    print(json.dumps({"violations": len(VIOLATIONS), "missed": missed}))
    if missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
