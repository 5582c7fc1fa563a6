"""Formatting: what is written, what is refused, and what a crash leaves."""

from dataclasses import replace

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.model.ids import Uuid, parse_uuid
from barnabas.node.bootstrap import read_bootstrap
from barnabas.node.format import Wish, plan_of
from barnabas.node.meta_properties import identify, load_ensemble
from barnabas.raft.outline import BOOTSTRAP
from barnabas.raft.snapshot_files import snapshot_name
from barnabas.raft.storage import Storage
from barnabas.raft.voters import NO_VOTERS, Endpoint, ReplicaKey
from barnabas.sim.disk_faults import PROFILES, Profile
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.log.storage import Crashed, Machine, run
from tests.node.directories import (
    CLUSTER,
    DYNAMIC,
    STATIC,
    Counting,
    config_of,
    formatted,
    tree,
    written,
)
from tests.raft.replica import StillClock
from tests.sim.drawing import Seeded

WISH = Wish(CLUSTER)
ALONE = Wish(CLUSTER, standalone=True)
THREE = (
    "0@localhost:8020:K90IZ-0DRNazJ49kCZ1EMQ,1@localhost:8030:aUARLskQTCW4qCZDtS_cwA,"
    "2@localhost:8040:2ggvsS4kQb-fSJ_-zC_Ang"
)
VOTERS = f"__cluster_metadata-0/{snapshot_name(BOOTSTRAP)}"


def test_directories_of_a_quorum_whose_voters_are_configured() -> None:
    machine = Machine()
    said = formatted(machine, config_of(STATIC), WISH)
    assert said[1:] == [
        "Formatting metadata directory /disks/a with metadata.version 4.3-IV0.",
        "Formatting data directory /disks/b with metadata.version 4.3-IV0.",
    ]
    assert sorted(tree(machine)) == [
        "/disks/a/bootstrap.checkpoint",
        "/disks/a/meta.properties",
        "/disks/b/bootstrap.checkpoint",
        "/disks/b/meta.properties",
    ]
    assert read_bootstrap(machine.process, "/disks/a").levels == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    ids = run(
        identify(machine.process, Counting(), "broker 0", 0, "/disks/a", ("/disks/b",))
    ).directory_ids
    assert len(set(ids.values())) == 2


def test_a_controller_alone_is_the_only_voter_by_its_directory() -> None:
    machine = Machine()
    config = config_of(DYNAMIC)
    said = formatted(machine, config, ALONE)
    assert said[1].startswith("Formatting dynamic metadata voter directory /disks/a with")
    assert f"/disks/a/{VOTERS}" in tree(machine)
    assert f"/disks/b/{VOTERS}" not in tree(machine)
    who = run(identify(machine.process, Counting(), config.name, 0, "/disks/a", ("/disks/b",)))
    key = ReplicaKey(0, who.directory_ids["/disks/a"])
    storage = run(Storage.open(machine.process, "/disks/a", NO_VOTERS, StillClock()))
    assert storage.voters.current.contains(key)
    assert storage.voters.current.voters[0].endpoints == (
        Endpoint("CONTROLLER", "127.0.0.1", 9093),
    )
    assert storage.voters.reconfigurable


def test_a_controller_among_others_has_the_directory_that_it_was_given() -> None:
    machine = Machine()
    wish = replace(WISH, initial_controllers=THREE)
    formatted(machine, config_of(DYNAMIC), wish)
    meta = load_ensemble(machine.process, ["/disks/a", "/disks/b"]).formatted
    assert meta["/disks/a"].directory_id == parse_uuid("K90IZ-0DRNazJ49kCZ1EMQ")
    assert meta["/disks/b"].directory_id != meta["/disks/a"].directory_id
    storage = run(Storage.open(machine.process, "/disks/a", NO_VOTERS, StillClock()))
    assert storage.voters.current.ids == (0, 1, 2)


def test_who_is_no_voter_knows_the_voters_all_the_same() -> None:
    machine = Machine()
    config = config_of(DYNAMIC, node_id="7")
    said = formatted(machine, config, replace(WISH, initial_controllers=THREE))
    assert said[1].startswith("Formatting dynamic metadata directory /disks/a")
    assert f"/disks/a/{VOTERS}" in tree(machine)


def test_a_controller_may_leave_the_voters_to_others() -> None:
    machine = Machine()
    said = formatted(machine, config_of(DYNAMIC), replace(WISH, no_initial_controllers=True))
    assert said[1].startswith("Formatting metadata directory /disks/a")
    assert "kraft.version=1" in said[0]
    assert f"/disks/a/{VOTERS}" not in tree(machine)


def test_a_metadata_directory_of_its_own_is_formatted_too() -> None:
    machine = Machine()
    formatted(machine, config_of(DYNAMIC, metadata_log_dir="/disks/m"), ALONE)
    assert f"/disks/m/{VOTERS}" in tree(machine)
    assert len([path for path in tree(machine) if path.endswith("meta.properties")]) == 3


def test_an_older_release_begins_with_lower_levels() -> None:
    plan = plan_of(config_of(STATIC), replace(WISH, release_version="4.0"), Counting())
    assert plan.levels == {
        "metadata.version": 25,
        "kraft.version": 0,
        "transaction.version": 2,
        "group.version": 1,
        "eligible.leader.replicas.version": 0,
        "share.version": 0,
        "streams.version": 0,
    }
    wish = replace(WISH, features=("metadata.version=20", "group.version = 1"))
    plan = plan_of(config_of(STATIC), wish, Counting())
    assert (plan.levels["metadata.version"], plan.levels["group.version"]) == (20, 1)
    unstable = config_of(STATIC, unstable_feature_versions_enable="true")
    assert plan_of(unstable, WISH, Counting()).version.level == 31


def test_passwords_are_among_the_first_records() -> None:
    wish = replace(WISH, scram=("SCRAM-SHA-256=[name=alice,password=a]",))
    machine = Machine()
    said = formatted(machine, config_of(STATIC), wish)
    last = read_bootstrap(machine.process, "/disks/b").records[-1]
    assert isinstance(last, UserScramCredentialRecord)
    assert last.name == "alice"
    assert "alice" not in "".join(said)


# --- refusals ------------------------------------------------------------------------------------

MEMBERS = {**DYNAMIC, "controller.quorum.voters": "0@localhost:9093"}


@pytest.mark.parametrize(
    ("lines", "wish", "why"),
    [
        (
            MEMBERS,
            ALONE,
            "You cannot specify controller.quorum.voters and format the node with "
            "--initial-controllers or --standalone. If you want to use dynamic quorum, please "
            "remove controller.quorum.voters and specify controller.quorum.bootstrap.servers",
        ),
        (MEMBERS, replace(WISH, initial_controllers=THREE), "You cannot specify"),
        (
            DYNAMIC,
            WISH,
            "Because controller.quorum.voters is not set on this controller, you must specify one "
            "of the following: --standalone, --initial-controllers, or --no-initial-controllers.",
        ),
        (
            {
                **STATIC,
                "controller.quorum.voters": "",
                "controller.quorum.bootstrap.servers": "h:1",
            },
            ALONE,
            "You can only use --standalone on a controller.",
        ),
        (DYNAMIC, replace(WISH, initial_controllers="0@h:1:x"), "Failed to parse directory ID"),
        (STATIC, replace(WISH, release_version="9.9"), "Unknown metadata.version '9.9'. Supported"),
        (STATIC, replace(WISH, release_version="4.4-IV0"), "Unknown metadata.version '4.4-IV0'."),
        (STATIC, replace(WISH, features=("metadata.version=31",)), "4.4-IV0 is not yet stable."),
        (STATIC, replace(WISH, features=("metadata.version=6",)), "with feature level 6. Valid"),
        (
            STATIC,
            replace(WISH, release_version="4.0", features=("metadata.version=25",)),
            "Use --release-version instead of --feature metadata.version=X to avoid ambiguity.",
        ),
        (STATIC, replace(WISH, features=("x=1",)), "Unsupported feature: x. Supported features"),
        (STATIC, replace(WISH, features=("x",)), "string x: equals sign not found."),
        (STATIC, replace(WISH, features=("x=y",)), "unable to parse y as a short."),
        (STATIC, replace(WISH, features=("x=40000",)), "unable to parse 40000 as a short."),
        (
            STATIC,
            replace(WISH, features=("group.version=2",)),
            "No feature:group.version with feature level 2",
        ),
        (
            STATIC,
            replace(WISH, release_version="3.9", features=("eligible.leader.replicas.version=1",)),
            "could not be set to 1 because it depends on metadata.version level 23",
        ),
        (STATIC, replace(WISH, features=("kraft.version=1",)), "Cannot set kraft.version to 1 un"),
        (DYNAMIC, replace(ALONE, features=("kraft.version=0",)), "Cannot set kraft.version to 0 i"),
        (
            STATIC,
            replace(WISH, release_version="3.4", scram=("SCRAM-SHA-256=[name=a,password=b]",)),
            "SCRAM is only supported in metadata.version 3.5-IV2 or later.",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_kafkas_words_and_changes_nothing(
    lines: dict[str, str], wish: Wish, why: str
) -> None:
    machine = Machine()
    with pytest.raises(Misconfigured) as refused:
        formatted(machine, config_of(lines), wish)
    assert why in str(refused.value)
    assert tree(machine) == {}


def test_what_is_formatted_stays_as_it_is() -> None:
    machine = Machine()
    formatted(machine, config_of(STATIC, log_dirs="/disks/b"), WISH)
    before = tree(machine)
    with pytest.raises(Misconfigured) as refused:
        formatted(machine, config_of(STATIC), WISH)
    assert str(refused.value) == (
        "Log directory /disks/b is already formatted. Use --ignore-formatted to ignore this "
        "directory and format the others."
    )
    assert tree(machine) == before
    with pytest.raises(Misconfigured, match=r"Invalid cluster.id"):
        formatted(machine, config_of(STATIC), Wish("other", ignore_formatted=True))
    with pytest.raises(Misconfigured, match="Stored node id 0 doesn't match previous node id 5"):
        formatted(machine, config_of(STATIC, node_id="5"), replace(WISH, ignore_formatted=True))
    again = replace(WISH, ignore_formatted=True)
    formatted(machine, config_of(STATIC), again)
    assert {path: tree(machine)[path] for path in before} == before
    assert formatted(machine, config_of(STATIC), again) == [
        "All of the log directories are already formatted."
    ]


def test_directories_that_cannot_be_read_are_passed_over_unless_there_is_no_other() -> None:
    machine = Machine()
    written(machine, "/disks/b", b"a file")
    said = formatted(machine, config_of(STATIC), WISH)
    assert said[0] == "I/O error trying to read log directory /disks/b. Ignoring..."
    assert "/disks/a/meta.properties" in tree(machine)
    with pytest.raises(Misconfigured, match=r"No available log directories to format."):
        formatted(machine, config_of(STATIC, log_dirs="/disks/b"), WISH)


# --- crashes -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("way", [None, *PROFILES])
def test_a_directory_is_formatted_as_a_whole_or_not_at_all(way: Profile | None) -> None:
    config = config_of(DYNAMIC)
    at, is_done = 0, False
    while not is_done:
        at += 1
        machine = Machine(Seeded(at))
        machine.crash_at = machine.operations + at
        try:
            formatted(machine, config, ALONE)
            is_done = True
        except Crashed:
            pass
        machine.crash(way)
        found = load_ensemble(machine.process, config.directories)
        assert not found.failed
        assert not (is_done and found.empty)
        for directory in found.formatted:
            assert read_bootstrap(machine.process, directory).levels["metadata.version"] == 30
        # Going on, or beginning anew, ends with a node that can start as the voter it is.
        voted = "/disks/a" in found.formatted
        again = replace(ALONE, ignore_formatted=True)
        formatted(machine, config, again, Counting() if voted else drawn_elsewhere())
        who = run(identify(machine.process, Counting(), "0", 0, "/disks/a", ("/disks/b",)))
        storage = run(Storage.open(machine.process, "/disks/a", NO_VOTERS, StillClock()))
        key = ReplicaKey(0, Uuid(who.directory_ids["/disks/a"]))
        assert storage.voters.current.contains(key)
    assert at > 20


def drawn_elsewhere() -> Counting:
    """Return entropy that has not drawn what another run has."""
    entropy = Counting()
    entropy.drawn = 100
    return entropy
