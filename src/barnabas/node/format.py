"""Formatting: what a cluster and a node are is written before anything runs.

    for every directory that says nothing yet, in order
        bootstrap.checkpoint                        with what the cluster begins
        __cluster_metadata-0/0…0-0…0.checkpoint     who votes first; in metadata.log.dir alone, and
                                                    only if the voters are not configured
        meta.properties                             whose it is: last, because that says all is done

A node works in no directory that was not formatted, since it could not tell an empty one from one
that was lost.  Whether voters are configured (kraft.version 0) or in the log (1) is decided here,
by ``--standalone``, ``--initial-controllers`` or ``--no-initial-controllers`` (KIP-853).

A crash in between leaves a directory without ``meta.properties``: formatting again begins it anew.

Kafka's Formatter.java and StorageTool.scala fix the files and the words.
"""

from collections.abc import Callable, Mapping
from typing import Final

from barnabas.log.checkpoints import Checkpoint
from barnabas.model.errors import Misconfigured
from barnabas.model.features import (
    FEATURES,
    FEATURES_BY_NAME,
    KRAFT_VERSION,
    LATEST_PRODUCTION,
    LATEST_TESTING,
    METADATA_VERSION,
    MetadataVersion,
    check_needs,
    version_of_level,
    version_of_release,
)
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.node.bootstrap import feature_records, write_bootstrap
from barnabas.node.config import BOOTSTRAP_SERVERS, VOTERS, NodeConfig
from barnabas.node.initial_controllers import (
    InitialController,
    initial_controllers,
    voter_set,
)
from barnabas.node.meta_properties import (
    CURRENT,
    Ensemble,
    MetaProperties,
    load_ensemble,
    write_meta_properties,
)
from barnabas.node.properties import whole_number
from barnabas.node.scram import scram_record
from barnabas.raft.control_records import (
    kraft_version,
    snapshot_footer,
    snapshot_header,
    voters_record,
)
from barnabas.raft.opening import METADATA
from barnabas.raft.outline import BOOTSTRAP
from barnabas.raft.snapshot_files import snapshot_name
from barnabas.raft.voters import RECONFIGURABLE, STATIC
from barnabas.records.snapshot import snapshot_batches
from barnabas.runtime.clock import Clock
from barnabas.runtime.disk import Disk
from barnabas.runtime.entropy import Entropy
from barnabas.wire.structs import Message

SCRAM_SINCE: Final = 11
"""The ``metadata.version`` that brought passwords."""

Say = Callable[[str], None]


@value
class Wish:
    """What an operator asks for, as it was written."""

    cluster_id: str
    release_version: str | None = None
    features: tuple[str, ...] = ()
    scram: tuple[str, ...] = ()
    ignore_formatted: bool = False
    standalone: bool = False
    no_initial_controllers: bool = False
    initial_controllers: str | None = None


@value
class Plan:
    """What a cluster and its quorum begin with."""

    version: MetadataVersion
    levels: Mapping[str, int]
    controllers: tuple[InitialController, ...]
    """The first voters, if they are not configured."""
    records: tuple[Message, ...]


def plan_of(config: NodeConfig, wish: Wish, entropy: Entropy) -> Plan:
    """Return what is to be written; ``Misconfigured`` if that contradicts itself."""
    asked = dict(map(name_and_level, wish.features))
    release = None
    if wish.release_version is not None:
        release = version_of_release(wish.release_version, config.unstable_features)
    controllers = controllers_of(config, wish, entropy)
    version = version_of(asked, release, config.unstable_features)
    levels = levels_of(asked, version, has_dynamic_quorum=not config.voters)
    records = feature_records(levels)
    if wish.scram:
        if version.level < SCRAM_SINCE:
            raise Misconfigured(
                f"SCRAM is only supported in {METADATA_VERSION} {version_of_level(SCRAM_SINCE)} "
                f"or later."
            )
        records += tuple(scram_record(argument, entropy.octets) for argument in wish.scram)
    return Plan(version, levels, controllers, records)


def name_and_level(text: str) -> tuple[str, int]:
    """Read ``feature=level``."""
    name, found, level_text = text.partition("=")
    if not found:
        raise Misconfigured(f"Can't parse feature=level string {text}: equals sign not found.")
    level = whole_number(level_text.strip(), bits=16)
    if level is None:
        raise Misconfigured(
            f"Can't parse feature=level string {text}: unable to parse {level_text.strip()} as a "
            f"short."
        )
    return name.strip(), level


def controllers_of(
    config: NodeConfig, wish: Wish, entropy: Entropy
) -> tuple[InitialController, ...]:
    """Return the first voters that are asked for."""
    if config.voters and (wish.initial_controllers is not None or wish.standalone):
        raise Misconfigured(
            f"You cannot specify {VOTERS} and format the node with --initial-controllers or "
            f"--standalone. If you want to use dynamic quorum, please remove {VOTERS} and specify "
            f"{BOOTSTRAP_SERVERS} instead."
        )
    if wish.standalone:
        return (standalone(config, entropy),)
    if wish.initial_controllers is not None:
        return initial_controllers(wish.initial_controllers)
    if config.is_controller and not config.voters and not wish.no_initial_controllers:
        raise Misconfigured(
            f"Because {VOTERS} is not set on this controller, you must specify one of the "
            f"following: --standalone, --initial-controllers, or --no-initial-controllers."
        )
    return ()


def standalone(config: NodeConfig, entropy: Entropy) -> InitialController:
    """Return a node as the only voter."""
    if not config.is_controller:
        raise Misconfigured("You can only use --standalone on a controller.")
    listener = config.advertised_controller_listeners[0]
    host = listener.host or "localhost"
    return InitialController(config.node_id, host, listener.port, Uuid(entropy.uuid()))


def version_of(
    asked: Mapping[str, int], release: MetadataVersion | None, unstable: bool
) -> MetadataVersion:
    """Return the ``metadata.version`` to begin with."""
    if METADATA_VERSION in asked:
        if release is not None:
            raise Misconfigured(
                f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid "
                f"ambiguity."
            )
        release = version_of_level(asked[METADATA_VERSION])
    if release is None:
        return LATEST_TESTING if unstable else LATEST_PRODUCTION
    if release.level > LATEST_PRODUCTION.level and not unstable:
        raise Misconfigured(f"{METADATA_VERSION} {release} is not yet stable.")
    return release


def levels_of(
    asked: Mapping[str, int], version: MetadataVersion, has_dynamic_quorum: bool
) -> dict[str, int]:
    """Return the levels of all features: those asked for, and defaults."""
    for name in asked:
        if name != METADATA_VERSION and name not in FEATURES_BY_NAME:
            known = ", ".join(sorted(FEATURES_BY_NAME))
            raise Misconfigured(f"Unsupported feature: {name}. Supported features are: {known}")
    levels = {feature.name: feature.default(version) for feature in FEATURES}
    levels |= {**asked, METADATA_VERSION: version.level}
    levels[KRAFT_VERSION] = kraft_level(asked.get(KRAFT_VERSION), has_dynamic_quorum)
    for name, level in sorted(levels.items()):
        if name != METADATA_VERSION:
            check_needs(name, FEATURES_BY_NAME[name].at(level), levels)
    return levels


def kraft_level(asked: int | None, has_dynamic_quorum: bool) -> int:
    """Return the kraft.version, which follows from how the voters are told."""
    if asked is None:
        return RECONFIGURABLE if has_dynamic_quorum else STATIC
    if asked == STATIC and has_dynamic_quorum:
        raise Misconfigured(
            "Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the "
            "flags --standalone, --initial-controllers, or --no-initial-controllers is used. For "
            "dynamic controllers support, try removing the --feature flag for kraft.version."
        )
    if asked != STATIC and not has_dynamic_quorum:
        raise Misconfigured(
            f"Cannot set kraft.version to {asked} unless controller.quorum.voters is empty and "
            f"one of the flags --standalone, --initial-controllers, or --no-initial-controllers "
            f"is used. For dynamic controllers support, try using one of --standalone, "
            f"--initial-controllers, or --no-initial-controllers and removing "
            f"controller.quorum.voters."
        )
    return asked


# --- writing it ----------------------------------------------------------------------------------


async def format_storage(
    disk: Disk, clock: Clock, entropy: Entropy, config: NodeConfig, wish: Wish, say: Say
) -> None:
    """Return when every directory of a node is formatted, durably.

    ``Misconfigured`` if that cannot be; then nothing has changed.
    """
    plan = plan_of(config, wish, entropy)
    ensemble = load_ensemble(disk, config.directories)
    ensemble.verify(wish.cluster_id, config.node_id)
    refuse_formatted(ensemble, wish.ignore_formatted)
    for directory in ensemble.failed:
        say(f"I/O error trying to read log directory {directory}. Ignoring...")
    if not ensemble.empty:
        if not ensemble.formatted:
            raise Misconfigured("No available log directories to format.")
        say("All of the log directories are already formatted.")
        return
    told = ", ".join(f"{name}={level}" for name, level in sorted(plan.levels.items()))
    say(f"Bootstrap metadata: {told}")
    taken = {meta.directory_id for meta in ensemble.formatted.values()}
    for directory in ensemble.empty:
        directory_id = directory_id_of(config, plan, directory)
        while directory_id is None or directory_id in taken:
            directory_id = Uuid(entropy.uuid())
        taken.add(directory_id)
        say(
            f"Formatting {kind_of(config, plan, directory)} {directory} with {METADATA_VERSION} "
            f"{plan.version}."
        )
        meta = MetaProperties(CURRENT, wish.cluster_id, config.node_id, directory_id)
        await format_directory(disk, clock, config, plan, directory, meta)


def refuse_formatted(ensemble: Ensemble, ignore_formatted: bool) -> None:
    """Refuse to format if anything is formatted, unless that is to be passed over."""
    if ensemble.formatted and not ignore_formatted:
        raise Misconfigured(
            f"Log directory {min(ensemble.formatted)} is already formatted. Use "
            f"--ignore-formatted to ignore this directory and format the others."
        )


def is_metadata(config: NodeConfig, directory: str) -> bool:
    """Tell whether the metadata log lies in a directory."""
    return directory == config.metadata_log_dir


def directory_id_of(config: NodeConfig, plan: Plan, directory: str) -> Uuid | None:
    """Return the id that a directory has to have: as a voter it is known by it."""
    if is_metadata(config, directory):
        for controller in plan.controllers:
            if controller.node_id == config.node_id:
                return controller.directory_id
    return None


def kind_of(config: NodeConfig, plan: Plan, directory: str) -> str:
    """Return what a directory is for, in Kafka's words."""
    if not is_metadata(config, directory):
        return "data directory"
    if not plan.controllers:
        return "metadata directory"
    votes = directory_id_of(config, plan, directory) is not None
    return f"dynamic metadata {'voter ' if votes else ''}directory"


async def format_directory(
    disk: Disk,
    clock: Clock,
    config: NodeConfig,
    plan: Plan,
    directory: str,
    meta: MetaProperties,
) -> None:
    """Return when a directory is formatted."""
    wall_ms = clock.wall_ms()
    await make_durably(disk, directory)
    await write_bootstrap(disk, directory, plan.records, wall_ms)
    if is_metadata(config, directory) and plan.controllers:
        path = f"{directory}/{METADATA}"
        await make_durably(disk, path)
        voters = voter_set(plan.controllers, config.controller_listener_names[0])
        content = b"".join(
            snapshot_batches(
                BOOTSTRAP.epoch,
                wall_ms,
                snapshot_header(wall_ms),
                (),
                snapshot_footer(),
                kraft_version(plan.levels[KRAFT_VERSION]),
                voters_record(voters),
            )
        )
        await Checkpoint(disk, path, snapshot_name(BOOTSTRAP)).replace(content)
    await write_meta_properties(disk, directory, meta)


async def make_durably(disk: Disk, directory: str) -> None:
    """Return when a directory and those above it are there to stay."""
    above, missing = directory.rstrip("/"), list[str]()
    while not disk.exists(above):
        missing.append(above)
        above = parent_of(above)
    disk.make_directory(directory)
    for made in missing:
        await disk.sync_directory(parent_of(made))


def parent_of(path: str) -> str:
    """Return the directory above."""
    above, slash, _ = path.rpartition("/")
    return above or slash or "."
