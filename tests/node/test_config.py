"""What a node is told in its properties file."""

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.model.ids import ZERO_UUID
from barnabas.node.config import Listener, Settings, node_config
from barnabas.raft.voters import NO_VOTERS, Endpoint, ReplicaKey
from barnabas.runtime.network import Address
from tests.node.directories import DYNAMIC, STATIC, config_of


def test_a_broker_is_told_where_its_quorum_is() -> None:
    config = config_of(STATIC)
    assert config.name == "broker 0"
    assert not config.is_controller
    assert config.log_dirs == config.directories == ("/disks/a", "/disks/b")
    assert config.metadata_log_dir == "/disks/a"
    assert config.configured_voters.ids == (100,)
    voter = config.configured_voters.voters[0]
    assert voter.key == ReplicaKey(100, ZERO_UUID)
    assert voter.endpoints == (Endpoint("CONTROLLER", "localhost", 9093),)


def test_the_metadata_log_may_have_a_directory_of_its_own() -> None:
    config = config_of(STATIC, metadata_log_dir="/disks/m")
    assert config.metadata_log_dir == "/disks/m"
    assert config.directories == ("/disks/a", "/disks/b", "/disks/m")


def test_a_controller_tells_its_replica_who_it_is() -> None:
    config = config_of(
        DYNAMIC,
        controller_quorum_election_timeout_ms="1234",
        metadata_log_segment_bytes="8388608",
        metadata_log_segment_ms="1000",
    )
    assert config.name == "controller 0"
    raft = config.raft("cluster", ZERO_UUID)
    assert raft.key == ReplicaKey(0, ZERO_UUID)
    assert raft.endpoints == (Endpoint("CONTROLLER", "127.0.0.1", 9093),)
    assert raft.bootstrap == (Address("localhost", 9093),)
    assert raft.election_timeout_ms == 1234
    assert raft.can_vote
    assert config.metadata_log.segment_bytes == 8 << 20
    assert config.metadata_log.segment_ms == 1000
    assert config.metadata_log.max_message_bytes == 8 << 20
    assert config.configured_voters == NO_VOTERS
    assert config_of(STATIC).raft("cluster", ZERO_UUID).endpoints == ()


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, Listener("CONTROLLER", "127.0.0.1", 9093)),
        ({"advertised.listeners": ""}, Listener("CONTROLLER", None, 9093)),
        (
            {"advertised.listeners": "", "listeners": "controller://[::1]:5"},
            Listener("CONTROLLER", "::1", 5),
        ),
        (
            {"advertised.listeners": "", "listeners": "CONTROLLER://0.0.0.0:5"},
            Listener("CONTROLLER", None, 5),
        ),
        (
            {"advertised.listeners": "", "controller.quorum.voters": "1@x:7,0@host:8"},
            Listener("CONTROLLER", "host", 8),
        ),
    ],
)
def test_a_controller_is_reached_where_it_says_or_the_voters_say(
    more: dict[str, str], found: Listener
) -> None:
    assert node_config(DYNAMIC | more).advertised_controller_listeners == (found,)


def test_what_the_quorum_keeps_is_what_the_operator_wrote() -> None:
    lines = {"metadata.max.retention.bytes": "1234", "metadata.max.retention.ms": "-1"}
    raft = config_of(DYNAMIC | lines).raft("cluster", ZERO_UUID)
    assert (raft.retention_bytes, raft.retention_ms) == (1234, -1)


def test_a_follower_asks_for_as_much_at_once_as_the_operator_wrote() -> None:
    lines = {
        "controller.quorum.fetch.max.bytes": "1000",
        "controller.quorum.fetch.snapshot.max.bytes": "2000",
    }
    raft = config_of(DYNAMIC | lines).raft("cluster", ZERO_UUID)
    assert (raft.fetch_bytes_max, raft.fetch_snapshot_bytes_max) == (1000, 2000)


def test_a_controller_that_listens_everywhere_has_to_say_where_that_is() -> None:
    config = node_config(DYNAMIC | {"advertised.listeners": ""})
    with pytest.raises(Misconfigured, match=r"add it to advertised.listeners"):
        config.raft("cluster", ZERO_UUID)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"process.roles": ""}, "process.roles: Configuration must not be empty"),
        (
            {"process.roles": "broker,zookeeper"},
            "Invalid value zookeeper for configuration process.roles: String must be one",
        ),
        ({"node.id": "x"}, "Invalid value x for configuration node.id: Not a number of type INT"),
        ({"node.id": "-1"}, "node.id: Value must be at least 0"),
        ({"broker.id": "1"}, "set `node.id` to the same value as `broker.id`"),
        ({"log.dirs": "/a,,/b"}, "At least one log directory"),
        ({"controller.listener.names": ""}, "controller.listener.names: Config"),
        ({"controller.quorum.voters": "0@h"}, "Failed to parse host name from entry 0@h"),
        ({"controller.quorum.voters": "h:1"}, "Each entry should be in the form `{id}@{host}:"),
        ({"controller.quorum.voters": "a@h:1"}, "Failed to parse voter ID as an integer from a"),
        ({"controller.quorum.bootstrap.servers": "h"}, "Failed to parse host name from h for"),
        ({"listeners": "9092"}, "Unable to parse 9092 to a broker endpoint"),
        ({"listeners": "A://:1,A://:2"}, "Each listener must have a different name"),
        ({"unstable.feature.versions.enable": "yes"}, "either true or false"),
        ({"metadata.log.segment.bytes": "1000"}, "Value must be at least 8388608"),
        ({"metadata.log.segment.ms": "1e3"}, "Not a number of type LONG"),
        (
            {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": ""},
            "If using process.roles, either controller.quorum.bootstrap.servers",
        ),
    ],
)
def test_what_a_file_must_not_say_is_refused(more: dict[str, str], why: str) -> None:
    with pytest.raises(Misconfigured, match=why):
        node_config(DYNAMIC | more)


@pytest.mark.parametrize(
    ("lines", "more", "why"),
    [
        (STATIC, {"controller.quorum.voters": "0@h:1"}, "must not be included in the set of"),
        (STATIC, {"listeners": "CONTROLLER://:1"}, "must not contain a value appearing in the"),
        (STATIC, {"controller.quorum.auto.join.enable": "true"}, "only supported when"),
        (DYNAMIC, {"controller.quorum.voters": "1@h:1"}, "must be included in the set of voters"),
        (DYNAMIC, {"listeners": "CONTROLLER://:1,X://:2"}, "must only contain KRaft controller"),
        (
            DYNAMIC,
            {"process.roles": "broker,controller", "listeners": "X://:1"},
            "must contain at least one value appearing",
        ),
        (DYNAMIC, {"controller.listener.names": "CONTROLLER,Y"}, "must only contain values"),
        (DYNAMIC, {"advertised.listeners": "CONTROLLER://0.0.0.0:1"}, "nonroutable"),
    ],
)
def test_what_the_roles_of_a_node_forbid_is_refused(
    lines: dict[str, str], more: dict[str, str], why: str
) -> None:
    with pytest.raises(Misconfigured, match=why):
        node_config(lines | more)


def test_what_is_missing_is_named_as_kafka_names_it() -> None:
    with pytest.raises(Misconfigured, match=r'Missing required configuration "node.id" which'):
        Settings({}).number("node.id", None, 0)
    with pytest.raises(Misconfigured, match=r'"process.roles"'):
        node_config({})


def test_lists_are_written_with_commas_and_blanks_around_them() -> None:
    assert Settings({"a": " x , y,z "}).words("a", None) == ("x", "y", "z")
    assert Settings({"a": " "}).words("a", "x") == ()
