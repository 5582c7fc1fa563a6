"""Whose a directory is, and what a node that starts makes of its own."""

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.model.ids import Uuid, parse_uuid
from barnabas.node.meta_properties import (
    META_PROPERTIES,
    Ensemble,
    Identity,
    MetaProperties,
    identify,
    load_ensemble,
    meta_properties_of,
    read_meta_properties,
    write_meta_properties,
)
from tests.log.storage import Machine, run
from tests.node.directories import CLUSTER, Counting, tree, written

ONE, TWO = Uuid(b"\x11" * 16), Uuid(b"\x22" * 16)
META = MetaProperties(1, CLUSTER, 3, ONE)


def machine_with(**directories: MetaProperties) -> Machine:
    """Return a machine with directories that say this of themselves."""
    machine = Machine()
    for name, meta in directories.items():
        machine.process.make_directory(f"/disks/{name}")
        run(write_meta_properties(machine.process, f"/disks/{name}", meta))
    return machine


def identity(machine: Machine, node_id: int = 3) -> Identity:
    return run(
        identify(
            machine.process, Counting(), f"broker {node_id}", node_id, "/disks/a", ("/disks/b",)
        )
    )


def test_what_was_written_is_read() -> None:
    machine = machine_with(a=META)
    assert read_meta_properties(machine.process, "/disks/a") == META
    assert tree(machine)["/disks/a/meta.properties"] == (
        b"#\ncluster.id=XcZZOzUqS4yHOjhMQB6JLQ\ndirectory.id=EREREREREREREREREREREQ\n"
        b"node.id=3\nversion=1\n"
    )
    machine.crash("data-first")
    machine.process.make_directory("/disks/c")
    assert read_meta_properties(machine.process, "/disks/c") is None
    assert read_meta_properties(machine.process, "/disks/nowhere") is None


def test_version_0_may_say_little_and_calls_the_node_a_broker() -> None:
    assert meta_properties_of({}) == MetaProperties(0, None, None, None)
    assert meta_properties_of({"broker.id": "7"}).node_id == 7
    assert MetaProperties(0, None, 7, None).properties() == {"broker.id": "7", "version": "0"}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ({"version": "x"}, "Invalid meta.properties version string 'x'"),
        ({"version": "2"}, "Unknown meta.properties version number 2"),
        ({"version": "1"}, "Failed to find node.id"),
        ({"version": "1", "node.id": "x"}, "Unable to read node.id as a base-10 number."),
        ({"version": "1", "node.id": "1"}, "cluster.id was not found."),
        (
            {"version": "1", "node.id": "1", "cluster.id": "c", "directory.id": "abc"},
            "Unable to read directory.id as a Uuid: Input string `abc`",
        ),
        ({"directory.id": "a" * 30}, "is too long to be decoded as a base64 UUID"),
    ],
)
def test_a_file_that_says_too_little_is_refused_in_kafkas_words(
    lines: dict[str, str], why: str
) -> None:
    with pytest.raises(Misconfigured, match=why):
        meta_properties_of(lines)


def test_directories_are_formatted_or_empty_or_lost() -> None:
    machine = machine_with(a=META)
    machine.process.make_directory("/disks/b")
    written(machine, "/disks/c/meta.properties", b"version=9")
    written(machine, "/disks/d", b"a file")
    paths = [f"/disks/{name}" for name in "abcde"]
    ensemble = load_ensemble(machine.process, paths)
    assert ensemble.formatted == {"/disks/a": META}
    assert ensemble.empty == ("/disks/b", "/disks/e")
    assert list(ensemble.failed) == ["/disks/c", "/disks/d"]


@pytest.mark.parametrize(
    ("others", "why"),
    [
        (MetaProperties(1, "other", 3, TWO), "Invalid cluster.id in: /b/meta.properties. Expected"),
        (MetaProperties(1, CLUSTER, 4, TWO), "Stored node id 4 doesn't match previous node id 3"),
        (MetaProperties(1, CLUSTER, 3, ONE), "Duplicate directory ID .* but also of /b"),
        (MetaProperties(1, CLUSTER, 3, Uuid(bytes(15) + b"\x05")), "Invalid reserved directory ID"),
    ],
)
def test_directories_must_not_contradict_each_other(others: MetaProperties, why: str) -> None:
    ensemble = Ensemble({"/a": META, "/b": others}, (), {})
    for cluster_id in (None, CLUSTER):
        with pytest.raises(Misconfigured, match=why):
            ensemble.verify(cluster_id, 3)


# --- a node that starts --------------------------------------------------------------------------


def test_a_node_is_who_its_directories_say() -> None:
    machine = machine_with(a=META, b=MetaProperties(1, CLUSTER, 3, TWO))
    before = tree(machine)
    assert identity(machine) == Identity(CLUSTER, 3, {"/disks/a": ONE, "/disks/b": TWO}, {})
    assert tree(machine) == before


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (
            None,
            META,
            "broker 3: metadata.log.dir /disks/a is not formatted .*mount it; if not, run",
        ),
        (META, None, "broker 3: log.dirs /disks/b is not formatted"),
        (
            MetaProperties(1, CLUSTER, 5, ONE),
            META,
            r"broker 3: metadata.log.dir /disks/a belongs to node 5 \(meta.properties\); point it",
        ),
        (META, MetaProperties(1, CLUSTER, 5, TWO), "broker 3: log.dirs /disks/b belongs to node 5"),
        (META, MetaProperties(1, "other", 3, TWO), "/disks/b belongs to cluster other, other dir"),
        (MetaProperties(0, None, 3, ONE), META, "/disks/a belongs to no cluster"),
        (MetaProperties(0, CLUSTER, None, ONE), META, "/disks/a belongs to nobody"),
        (META, META, "Duplicate directory ID"),
    ],
)
def test_a_node_works_in_no_directory_that_is_not_its_own(
    a: MetaProperties | None, b: MetaProperties | None, why: str
) -> None:
    machine = machine_with(**{n: m for n, m in {"a": a, "b": b}.items() if m is not None})
    with pytest.raises(Misconfigured, match=why):
        identity(machine)


def test_a_lost_data_directory_is_told_and_a_lost_metadata_directory_is_the_end() -> None:
    machine = machine_with(a=META)
    written(machine, f"/disks/b/{META_PROPERTIES}", b"version=9")
    assert list(identity(machine).failed) == ["/disks/b"]
    machine = machine_with(b=META)
    written(machine, f"/disks/a/{META_PROPERTIES}", b"version=9")
    with pytest.raises(Misconfigured, match=r"metadata.log.dir /disks/a cannot be read: Unknown"):
        identity(machine)


def test_the_metadata_log_lies_in_its_directory_and_nowhere_else() -> None:
    machine = machine_with(a=META, b=MetaProperties(1, CLUSTER, 3, TWO))
    machine.process.make_directory("/disks/b/__cluster_metadata-0")
    with pytest.raises(Misconfigured, match="/disks/b/__cluster_metadata-0 is the metadata log"):
        identity(machine)


def test_a_directory_of_an_older_release_gets_an_id_that_stays() -> None:
    machine = machine_with(a=META, b=MetaProperties(1, CLUSTER, 3, None))
    drawn = identity(machine).directory_ids["/disks/b"]
    assert drawn != ONE
    machine.crash("data-first")
    assert identity(machine).directory_ids["/disks/b"] == drawn
    assert parse_uuid("EREREREREREREREREREREQ") == ONE
