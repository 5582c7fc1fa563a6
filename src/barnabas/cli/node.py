"""``barnabas node``: be one node of a cluster, broker or controller or both, until told to stop.

    barnabas node --config server.properties

The file is Kafka's ``server.properties``; the directories in it have been formatted by ``barnabas
storage format``, or by Kafka.  SIGTERM and Ctrl-C stop the node in good order, a broker when the
controllers let it go; a second one ends it at once.  The exit code is 1 if the node cannot start or
comes upon something that it must not go on with.
"""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from barnabas.broker.shell import BrokerFailed
from barnabas.host.world import live
from barnabas.log.health import DirectoryFailed
from barnabas.metadata.faults import Unfoldable
from barnabas.model.errors import CorruptLog, Misconfigured
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.node import run_node
from barnabas.node.properties import parse_properties
from barnabas.raft.replica import Contradiction

LINE: Final = "%(asctime)s %(levelname)s %(message)s"

# What ends a node with one line that says what to do.
FATAL: Final = (
    Misconfigured, BrokerFailed, CorruptLog, DirectoryFailed, Contradiction, Unfoldable, OSError,
)  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Be a node."""
    parser = argparse.ArgumentParser(prog="barnabas node", description="Be one node of a cluster.")
    parser.add_argument("--config", "-c", required=True, help="the node's properties file")
    parser.add_argument("--verbose", "-v", action="store_true", help="say everything there is")
    asked = parser.parse_args(words)
    level = logging.DEBUG if asked.verbose else logging.INFO
    logging.basicConfig(level=level, format=LINE, stream=sys.stderr)
    try:
        config = node_config(parse_properties(Path(asked.config).read_bytes(), asked.config))
        asyncio.run(until_stopped(config))
    except FATAL as why:
        print(f"barnabas node: {why}", file=sys.stderr)
        return 1
    return 0


async def until_stopped(config: NodeConfig) -> None:
    """Run the node until a signal asks it to stop."""
    loop = asyncio.get_running_loop()
    life = loop.create_task(live(f"node {config.node_id}", lambda world: run_node(world, config)))

    def stop() -> None:
        life.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Whoever asks twice does not want to wait.
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await life
    except asyncio.CancelledError:
        if not life.cancelled():
            raise
