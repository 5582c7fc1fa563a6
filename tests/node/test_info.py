"""What the directories of a node are, and what is wrong with them, in Kafka's words."""

from barnabas.model.ids import Uuid
from barnabas.node.info import storage_info
from barnabas.node.meta_properties import MetaProperties, write_meta_properties
from tests.log.storage import Machine, run
from tests.node.directories import CLUSTER, written

ONE = Uuid(b"\x11" * 16)


def told(machine: Machine, *directories: str) -> str:
    """Return what the command prints."""
    return "\n".join(storage_info(machine.process, directories).lines()) + "\n"


def test_a_directory_that_is_not_formatted_is_a_problem() -> None:
    machine = Machine()
    machine.process.make_directory("/disks/a")
    assert told(machine, "/disks/a") == (
        "Found log directory:\n  /disks/a\n\nFound problem:\n  /disks/a is not formatted.\n\n"
    )


def test_a_path_that_is_no_directory_is_a_problem() -> None:
    machine = Machine()
    written(machine, "/disks/b", b"x")
    assert told(machine, "/disks/b", "/disks/a/") == (
        "Found problems:\n  /disks/a does not exist\n  /disks/b is not a directory\n\n"
    )


def test_formatted_directories_say_whose_they_are() -> None:
    machine = Machine()
    for name, node_id, cluster in (("a", 1, CLUSTER), ("b", 2, CLUSTER), ("c", 1, "other")):
        machine.process.make_directory(f"/disks/{name}")
        meta = MetaProperties(1, cluster, node_id, ONE)
        run(write_meta_properties(machine.process, f"/disks/{name}", meta))
    written(machine, "/disks/d/meta.properties", b"version=1\nnode.id=1\n")
    assert told(machine, "/disks/a") == (
        "Found log directory:\n  /disks/a\n\n"
        f"Found metadata: {{cluster.id={CLUSTER}, directory.id=EREREREREREREREREREREQ, node.id=1, "
        "version=1}\n\n"
    )
    assert told(machine, "/disks/d", "/disks/c", "/disks/b", "/disks/a").endswith(
        "Found problems:\n"
        "  Mismatched node IDs between storage directories.\n"
        "  Mismatched cluster IDs between storage directories.\n"
        "  Error loading /disks/d/meta.properties: cluster.id was not found.\n\n"
    )


def test_directories_of_a_cluster_with_zookeeper_are_a_problem() -> None:
    machine = Machine()
    content = b"version=0\nbroker.id=1\ncluster.id=26c36907-4158-4a35-919d-6534229f5241"
    written(machine, "/disks/a/meta.properties", content)
    assert told(machine, "/disks/a").endswith(
        "Found metadata: {broker.id=1, cluster.id=26c36907-4158-4a35-919d-6534229f5241, "
        "version=0}\n\nFound problem:\n  The kafka configuration file appears to be for a cluster "
        "in KRaft mode, but the directories are formatted for legacy mode.\n\n"
    )
