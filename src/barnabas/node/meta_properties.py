"""``meta.properties``: whose a log directory is.

    version=1
    cluster.id=XcZZOzUqS4yHOjhMQB6JLQ        the cluster
    node.id=3                                the node, by number
    directory.id=Gg_4mMQDSB2kYdFdVuOgTw      this very directory (KIP-858, KIP-853)

Formatting writes it, last of all; a node reads it in each of its directories before it does
anything, and works in none that is not its own.  A node that finds another's votes would give them
a second time; one that finds an empty directory where its own should be (a mount that failed) would
begin anew and forget what it has acknowledged.

Version 0 is that of clusters that came from ZooKeeper: every line but the version may be missing,
and the node is called ``broker.id``.

Fixed by Kafka's MetaProperties.java and MetaPropertiesEnsemble.java.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from barnabas.log.checkpoints import Checkpoint
from barnabas.model.errors import Misconfigured
from barnabas.model.ids import Uuid, is_reserved_directory, parse_uuid, uuid_text
from barnabas.model.value import value
from barnabas.node.properties import parse_properties, properties_text, whole_number
from barnabas.raft.opening import METADATA
from barnabas.runtime.disk import Disk
from barnabas.runtime.entropy import Entropy

META_PROPERTIES: Final = "meta.properties"

VERSION: Final = "version"
CLUSTER_ID: Final = "cluster.id"
BROKER_ID: Final = "broker.id"
NODE_ID: Final = "node.id"
DIRECTORY_ID: Final = "directory.id"

LEGACY: Final = 0
CURRENT: Final = 1


@value
class MetaProperties:
    """What one directory says of itself."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: Uuid | None

    def properties(self) -> dict[str, str]:
        """Return the lines of the file, sorted."""
        told = {VERSION: str(self.version)}
        if self.cluster_id is not None:
            told[CLUSTER_ID] = self.cluster_id
        if self.node_id is not None:
            told[BROKER_ID if self.version == LEGACY else NODE_ID] = str(self.node_id)
        if self.directory_id is not None:
            told[DIRECTORY_ID] = uuid_text(self.directory_id)
        return dict(sorted(told.items()))


def meta_properties_of(properties: Mapping[str, str]) -> MetaProperties:
    """Return what a file says; ``Misconfigured`` if it does not say enough."""
    text = properties.get(VERSION, str(LEGACY))
    version = whole_number(text.strip())
    if version is None:
        raise Misconfigured(f"Invalid meta.properties version string '{text}'")
    if version not in (LEGACY, CURRENT):
        raise Misconfigured(f"Unknown meta.properties version number {version}")
    node_id = None
    name = BROKER_ID if version == LEGACY else NODE_ID
    if name in properties:
        node_id = whole_number(properties[name])
        if node_id is None:
            raise Misconfigured(f"Unable to read {name} as a base-10 number.")
    elif version != LEGACY:
        raise Misconfigured(f"Failed to find {name}")
    cluster_id = properties.get(CLUSTER_ID)
    if cluster_id is None and version != LEGACY:
        raise Misconfigured("cluster.id was not found.")
    directory_id = None
    if DIRECTORY_ID in properties:
        try:
            directory_id = parse_uuid(properties[DIRECTORY_ID])
        except ValueError as error:
            raise Misconfigured(f"Unable to read {DIRECTORY_ID} as a Uuid: {error}") from error
    return MetaProperties(version, cluster_id, node_id, directory_id)


async def write_meta_properties(disk: Disk, directory: str, meta: MetaProperties) -> None:
    """Return when a directory durably says whose it is."""
    await Checkpoint(disk, directory, META_PROPERTIES).replace(properties_text(meta.properties()))


@value
class Ensemble:
    """All directories of a node: those that say whose they are, those that do not, those lost."""

    formatted: Mapping[str, MetaProperties]
    empty: tuple[str, ...]
    failed: Mapping[str, str]
    """Why each of them cannot be read."""

    def verify(self, cluster_id: str | None, node_id: int) -> None:
        """Refuse directories of somebody else, and those that contradict each other.

        ``cluster_id`` is None if the directories are to tell it.
        """
        seen: dict[Uuid, str] = {}
        for directory, meta in sorted(self.formatted.items()):
            path = f"{directory}/{META_PROPERTIES}"
            if cluster_id is None:
                cluster_id = meta.cluster_id
            elif meta.cluster_id is not None and meta.cluster_id != cluster_id:
                raise Misconfigured(
                    f"Invalid cluster.id in: {path}. Expected {cluster_id}, but read "
                    f"{meta.cluster_id}"
                )
            if meta.node_id is not None and meta.node_id != node_id:
                raise Misconfigured(
                    f"Stored node id {meta.node_id} doesn't match previous node id {node_id} in "
                    f"{path}. If you moved your data, make sure your configured node id matches. "
                    f"If you intend to create a new node, you should remove all data in your data "
                    f"directories."
                )
            if meta.directory_id is None:
                continue
            if is_reserved_directory(meta.directory_id):
                raise Misconfigured(
                    f"Invalid reserved directory ID {uuid_text(meta.directory_id)} found in "
                    f"{directory}"
                )
            if meta.directory_id in seen:
                raise Misconfigured(
                    f"Duplicate directory ID {uuid_text(meta.directory_id)} found. It was the ID "
                    f"of {seen[meta.directory_id]}, but also of {directory}"
                )
            seen[meta.directory_id] = directory


def load_ensemble(disk: Disk, directories: Iterable[str]) -> Ensemble:
    """Read every directory."""
    formatted: dict[str, MetaProperties] = {}
    empty: list[str] = []
    failed: dict[str, str] = {}
    for directory in sorted(set(directories)):
        try:
            meta = read_meta_properties(disk, directory)
        except (OSError, Misconfigured) as error:
            failed[directory] = str(error)
            continue
        if meta is None:
            empty.append(directory)
        else:
            formatted[directory] = meta
    return Ensemble(formatted, tuple(empty), failed)


def read_meta_properties(disk: Disk, directory: str) -> MetaProperties | None:
    """Return what a directory says of itself, or None if it says nothing.

    A path that is no directory is an ``OSError``, as everything else is that cannot be read.
    """
    path = f"{directory}/{META_PROPERTIES}"
    if not disk.exists(directory):
        return None
    if not disk.is_directory(directory):
        raise NotADirectoryError(20, "Not a directory", directory)
    try:
        file = disk.open(path, "read")
    except FileNotFoundError:
        return None
    try:
        content = file.read(0, file.size())
    finally:
        file.close()
    return meta_properties_of(parse_properties(content, path))


@value
class Identity:
    """Who a node is, by its directories."""

    cluster_id: str
    node_id: int
    directory_ids: Mapping[str, Uuid]
    """Of each directory that is there."""
    failed: Mapping[str, str]
    """The data directories that cannot be read, and why."""


async def identify(
    disk: Disk,
    entropy: Entropy,
    node: str,
    node_id: int,
    metadata_directory: str,
    directories: Sequence[str],
) -> Identity:
    """Read every directory of a node that is about to start, and refuse what is not its own.

    ``node`` is what the node calls itself in its messages, such as "broker 3".  A data directory
    that cannot be read is the node's to go on without; the metadata log's is not.  Nothing is
    changed but that a directory without an id, which a release before 3.7 has formatted, gets one.
    """
    ensemble = load_ensemble(disk, (metadata_directory, *directories))
    if metadata_directory in ensemble.failed:
        raise Misconfigured(
            f"{node}: metadata.log.dir {metadata_directory} cannot be read: "
            f"{ensemble.failed[metadata_directory]}; mend it, or put another disk in its place "
            f"and format that"
        )
    for directory in ensemble.empty:
        raise Misconfigured(
            f"{node}: {called(directory, metadata_directory)} is not formatted (no "
            f"{META_PROPERTIES}); if a disk should be mounted there, mount it; if not, run "
            f"'barnabas storage format'"
        )
    cluster_id = ""
    for directory, meta in ensemble.formatted.items():
        where = called(directory, metadata_directory)
        cluster_id = owned(meta, f"{node}: {where}", node_id, cluster_id)
        log = f"{directory}/{METADATA}"
        if directory != metadata_directory and disk.exists(log):
            raise Misconfigured(
                f"{node}: {log} is the metadata log of a node, but metadata.log.dir is "
                f"{metadata_directory}; point metadata.log.dir to where the log is"
            )
    ensemble.verify(cluster_id, node_id)
    ids: dict[str, Uuid] = {}
    for directory, meta in ensemble.formatted.items():
        if meta.directory_id is None:
            meta = replace(meta, directory_id=Uuid(entropy.uuid()))  # noqa: PLW2901 -- now it has one
            await write_meta_properties(disk, directory, meta)
        assert meta.directory_id is not None, f"{directory} has no id"
        ids[directory] = meta.directory_id
    return Identity(cluster_id, node_id, ids, ensemble.failed)


def owned(meta: MetaProperties, where: str, node_id: int, cluster_id: str) -> str:
    """Return the cluster of a directory if it is a node's own, and of the cluster of the others."""
    if meta.node_id != node_id:
        owner = "nobody" if meta.node_id is None else f"node {meta.node_id}"
        raise Misconfigured(
            f"{where} belongs to {owner} ({META_PROPERTIES}); point it elsewhere or set node.id "
            f"to what the directory says"
        )
    if meta.cluster_id is None:
        raise Misconfigured(f"{where} belongs to no cluster ({META_PROPERTIES} has no cluster.id)")
    if cluster_id not in ("", meta.cluster_id):
        raise Misconfigured(
            f"{where} belongs to cluster {meta.cluster_id}, other directories of this node to "
            f"cluster {cluster_id} ({META_PROPERTIES}); point it elsewhere"
        )
    return meta.cluster_id


def called(directory: str, metadata_directory: str) -> str:
    """Return what an operator calls a directory."""
    return f"{'metadata.log.dir' if directory == metadata_directory else 'log.dirs'} {directory}"
