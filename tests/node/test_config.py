"""What a node is told in its properties file."""

import pytest

from barnabas.metadata.cluster import Endpoint as BrokerEndpoint
from barnabas.model.errors import Misconfigured
from barnabas.model.ids import ZERO_UUID, Uuid
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
        (STATIC, {"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "nonroutable"),
        (STATIC, {"advertised.listeners": "CONTROLLER://h:1"}, "at least one broker advertised"),
        (STATIC, {"inter.broker.listener.name": "SSL"}, "must be a listener name defined in adv"),
        (
            STATIC,
            {"advertised.listeners": "PLAINTEXT://h:1,SSL://h:2"},
            "must be equal to or a subset of the ones defined in listeners. Found PLAINTEXT,SSL",
        ),
        (STATIC, {"listeners": "X://h:1"}, "No security protocol defined for listener X"),
        (STATIC, {"listener.security.protocol.map": "X:PLAIN"}, "Not a listener and one of"),
        (STATIC, {"inter.broker.listener.name": "NONE"}, "with name NONE defined in inter.broker"),
        (STATIC, {"security.inter.broker.protocol": "NONE"}, "String must be one of: PLAINTEXT"),
        (
            STATIC,
            {"inter.broker.listener.name": "X", "security.inter.broker.protocol": "SSL"},
            "Only one of inter.broker.listener.name and security.inter.broker.protocol",
        ),
        (STATIC, {"cordoned.log.dirs": "/disks/a,/disks/c"}, "Missing entries : /disks/c"),
        (STATIC, {"cordoned.log.dirs": "*,/disks/a"}, "must not contain other values"),
        (STATIC, {"log.dir.failure.timeout.ms": "0"}, "Value must be at least 1"),
    ],
)
def test_what_the_roles_of_a_node_forbid_is_refused(
    lines: dict[str, str], more: dict[str, str], why: str
) -> None:
    with pytest.raises(Misconfigured, match=why):
        node_config(lines | more)


BROKER_LINES = STATIC | {
    "listeners": "CLIENTS://:9092,BROKERS://h:0",
    "advertised.listeners": "CLIENTS://far:19092,BROKERS://h:0",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT, BROKERS:PLAINTEXT,CONTROLLER:SSL",
    "inter.broker.listener.name": "brokers",
    "broker.rack": "r1",
    "cordoned.log.dirs": "/disks/b",
    "broker.heartbeat.interval.ms": "500",
    "initial.broker.registration.timeout.ms": "7000",
    "log.dir.failure.timeout.ms": "9000",
    "controlled.shutdown.enable": "false",
}
DISKS = {"/disks/a": Uuid(b"a" * 16)}
PORTS = {"CLIENTS": 9092, "BROKERS": 4711}


def test_a_broker_is_told_what_it_registers_with() -> None:
    config = config_of(BROKER_LINES)
    told = config.broker("cluster", DISKS, 41, PORTS)
    assert told.listeners == (
        BrokerEndpoint("BROKERS", "h", 4711, 0),
        BrokerEndpoint("CLIENTS", "far", 19092, 0),
    )
    assert (told.id, told.cluster_id, told.rack, told.cordoned) == (
        0,
        "cluster",
        "r1",
        ("/disks/b",),
    )
    assert (told.directories, told.previous_epoch) == (DISKS, 41)
    assert (told.heartbeat_interval_ms, told.registration_timeout_ms) == (500, 7_000)
    assert (told.directory_failure_timeout_ms, told.controlled_shutdown) == (9_000, False)
    assert told.supported_features["metadata.version"] == (7, 30)
    unstable = config_of(BROKER_LINES, unstable_feature_versions_enable="true")
    newest = unstable.broker("cluster", DISKS, 41, PORTS).supported_features["metadata.version"]
    assert newest == (7, 31)


def test_a_broker_waits_as_long_as_kafkas_unless_it_is_told() -> None:
    lines = STATIC | {"listeners": "PLAINTEXT://h:9092"}
    told = config_of(lines).broker("cluster", DISKS, -1, {"PLAINTEXT": 9092})
    assert told.heartbeat_interval_ms == 2_000
    assert told.registration_timeout_ms == 60_000
    assert told.directory_failure_timeout_ms == 30_000
    assert told.shutdown_timeout_ms == 300_000
    assert told.controlled_shutdown
    assert config_of(lines).broker_settings.session_timeout_ms == 9_000


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "listener PLAINTEXT listens everywhere"),
        (
            {"listeners": "SSL://h:1", "security.inter.broker.protocol": "SSL"},
            "listener SSL speaks SSL .* which is not built yet",
        ),
    ],
)
def test_what_a_broker_cannot_register_with_is_refused(more: dict[str, str], why: str) -> None:
    config = node_config(STATIC | more)
    with pytest.raises(Misconfigured, match=why):
        config.broker("cluster", DISKS, -1, {"PLAINTEXT": 9092, "SSL": 1})


def test_a_node_listens_where_it_is_told() -> None:
    config = config_of(
        DYNAMIC,
        process_roles="broker,controller",
        listeners="PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093,SECOND://n1:9094",
        controller_listener_names="SECOND,CONTROLLER",
        advertised_listeners="PLAINTEXT://n1:9092,CONTROLLER://n1:9093",
    )
    own = [listener.bound for listener in config.own_controller_listeners]
    assert own == [Address("n1", 9094), Address("", 9093)]
    assert [listener.bound for listener in config.broker_listeners] == [Address("", 9092)]
    assert config_of(STATIC).own_controller_listeners == ()


def test_what_is_missing_is_named_as_kafka_names_it() -> None:
    with pytest.raises(Misconfigured, match=r'Missing required configuration "node.id" which'):
        Settings({}).number("node.id", None, 0)
    with pytest.raises(Misconfigured, match=r'"process.roles"'):
        node_config({})


def test_lists_are_written_with_commas_and_blanks_around_them() -> None:
    assert Settings({"a": " x , y,z "}).words("a", None) == ("x", "y", "z")
    assert Settings({"a": " "}).words("a", "x") == ()
