"""``barnabas storage``: format a node's directories, and look at them.

    barnabas storage random-uuid
    barnabas storage format --config server.properties --cluster-id ID --standalone
    barnabas storage info --config server.properties
    barnabas storage version-mapping --release-version 4.2
    barnabas storage feature-dependencies --feature eligible.leader.replicas.version=1

Options, refusals and what is printed are those of Kafka's ``kafka-storage``, except that no
password is printed; ``barnabas.node.format`` tells what formatting writes.  The exit code is 1 if
something was refused or found wrong.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas.host.disk import HostDisk
from barnabas.host.entropy import HostEntropy
from barnabas.host.world import live
from barnabas.model.errors import Misconfigured
from barnabas.model.features import (
    FEATURES,
    FEATURES_BY_NAME,
    LATEST_PRODUCTION,
    METADATA_VERSION,
    MINIMUM_VERSION,
    version_of_level,
    version_of_release,
)
from barnabas.model.ids import Uuid, uuid_text
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.format import Wish, format_storage, name_and_level
from barnabas.node.info import storage_info
from barnabas.node.properties import parse_properties
from barnabas.runtime.runtime import Runtime


def main(words: Sequence[str]) -> int:
    """Do what was asked with the directories of a node."""
    asked = parser().parse_args(words)
    try:
        match asked.command:
            case "random-uuid":
                print(uuid_text(Uuid(HostEntropy().uuid())))
            case "format":
                asyncio.run(live("storage", lambda runtime: formatted(runtime, asked)))
            case "info":
                return info(config_of(asked.config))
            case "version-mapping":
                print("\n".join(mapping(asked.release_version)))
            case _:
                print("\n".join(line for text in asked.feature for line in dependencies(text)))
    except (Misconfigured, OSError) as why:
        print(f"barnabas storage: {why}", file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the commands and options there are."""
    made = argparse.ArgumentParser(
        prog="barnabas storage", description="Format a node's directories, and look at them."
    )
    commands = made.add_subparsers(dest="command", required=True)
    commands.add_parser("random-uuid", help="print a new id, for a cluster or a directory")
    info_parser = commands.add_parser("info", help="what the directories are, and what is wrong")
    info_parser.add_argument("--config", "-c", required=True, help="the node's properties file")
    add_format(commands.add_parser("format", help="write what a cluster and a node are"))
    about = "the levels of features that a release brings"
    mapping_parser = commands.add_parser("version-mapping", help=about)
    mapping_parser.add_argument("--release-version", "-r", default=str(LATEST_PRODUCTION))
    needs = commands.add_parser("feature-dependencies", help="what levels of features need")
    needs.add_argument("--feature", "-f", required=True, action="append", metavar="NAME=LEVEL")
    return made


def add_format(made: argparse.ArgumentParser) -> None:
    """Add the options of formatting."""
    add = made.add_argument
    add("--config", "-c", required=True, help="the node's properties file")
    add("--cluster-id", "-t", required=True, help="the same for every node of a cluster")
    add(
        *("--add-scram", "-S"),
        action="append",
        default=[],
        help="a password to begin with: 'SCRAM-SHA-256=[name=alice,password=alice-secret]' or "
        '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'',
    )
    add("--ignore-formatted", "-g", action="store_true", help="pass over what is formatted")
    add(
        *("--release-version", "-r"),
        help=f"what the features begin with, at least {MINIMUM_VERSION}; else {LATEST_PRODUCTION}",
    )
    add("--feature", "-f", action="append", default=[], metavar="NAME=LEVEL")
    quorum = made.add_mutually_exclusive_group()
    quorum.add_argument(
        *("--standalone", "-s"), action="store_true", help="this controller alone votes, at first"
    )
    quorum.add_argument(
        *("--no-initial-controllers", "-N"),
        action="store_true",
        help="others vote; this node learns from them who",
    )
    quorum.add_argument(
        *("--initial-controllers", "-I"),
        metavar="ID@HOST:PORT:DIRECTORY,…",
        help="these vote at first; the same for every node that is formatted",
    )


def config_of(path: str) -> NodeConfig:
    """Read a node's properties file."""
    return node_config(parse_properties(Path(path).read_bytes(), path))


async def formatted(runtime: Runtime, asked: argparse.Namespace) -> None:
    """Format what is not formatted."""
    wish = Wish(
        asked.cluster_id,
        asked.release_version,
        tuple(asked.feature),
        tuple(asked.add_scram),
        asked.ignore_formatted,
        asked.standalone,
        asked.no_initial_controllers,
        asked.initial_controllers,
    )
    config = config_of(asked.config)
    await format_storage(runtime.disk, runtime.clock, runtime.entropy, config, wish, print)


def info(config: NodeConfig) -> int:
    """Print what there is; return 1 if anything is wrong."""
    found = storage_info(HostDisk(), config.directories)
    print("\n".join(found.lines()))
    return 1 if found.problems else 0


def mapping(release_version: str) -> Iterator[str]:
    """Yield the levels of features that a release brings."""
    version = version_of_release(release_version, unstable=True)
    yield f"{METADATA_VERSION}={version.level} ({release_version})"
    for feature in FEATURES:
        yield f"{feature.name}={feature.default(version)}"


def dependencies(text: str) -> Iterator[str]:
    """Yield what a level of a feature needs."""
    name, level = name_and_level(text)
    if name == METADATA_VERSION:
        yield f"{name}={level} ({version_of_level(level)}) has no dependencies."
        return
    feature = FEATURES_BY_NAME.get(name)
    if feature is None:
        raise Misconfigured(f"Unknown feature: {name}")
    needs = feature.at(level).needs
    if not needs:
        yield f"{name}={level} has no dependencies."
        return
    yield f"{name}={level} requires:"
    for other, least in needs:
        called = f" ({version_of_level(least)})" if other == METADATA_VERSION else ""
        yield f"    {other}={least}{called}"
