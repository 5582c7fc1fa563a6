"""What a node is told in its properties file, as far as it is needed to format and to start.

    process.roles=broker,controller          what it does
    node.id=1                                who it is
    log.dirs=/data/a,/data/b                 where it keeps what; metadata.log.dir is one of these,
    metadata.log.dir=/data/a                 the first, or a directory of its own
    listeners, controller.listener.names     how it is reached
    advertised.listeners, broker.rack, …     what a broker tells of itself
    controller.quorum.…                      whom it asks, who votes where no record tells

Names, defaults, bounds and what contradicts what are Kafka's (KafkaConfig.scala, KRaftConfigs.java,
QuorumConfig.java, MetadataLogConfig.java), and so are the words of its refusals where an operator
will look for them.  What is written in a file and read by nobody here is left to whoever reads it.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from barnabas.broker.config import ALL_DIRECTORIES, CORDONED, BrokerConfig
from barnabas.log.config import LogConfig
from barnabas.metadata import cluster
from barnabas.model.errors import Misconfigured
from barnabas.model.features import supported_levels
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.node.properties import whole_number
from barnabas.raft.config import RaftConfig
from barnabas.raft.opening import METADATA_LOG
from barnabas.raft.voters import NO_VOTERS, Endpoint, Endpoints, ReplicaKey, Voter, VoterSet
from barnabas.runtime.network import Address

T = TypeVar("T")

BROKER: Final = "broker"
CONTROLLER: Final = "controller"

VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP_SERVERS: Final = "controller.quorum.bootstrap.servers"
CONTROLLER_LISTENERS: Final = "controller.listener.names"

LONG: Final = 64
ANY: Final = -(2**63)
INT_MIN: Final = -(2**31)

EVERYWHERE: Final = "0.0.0.0"

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOLS: Final = {PLAINTEXT: 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""How listeners speak, with Kafka's numbers."""
PROTOCOL_MAP: Final = "listener.security.protocol.map"
INTER_BROKER: Final = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"

COMMA: Final = re.compile(r"\s*,\s*")
LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
HOST_AND_PORT: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


class Settings:
    """The lines of a properties file, with types and bounds."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.lines: Final = lines

    def number(self, name: str, default: int | None, least: int, bits: int = 32) -> int:
        """Return a number; ``Misconfigured`` if it is none, or out of bounds."""
        text = self._text(name, default)
        if isinstance(text, int):
            return text
        found = whole_number(text.strip(), bits)
        if found is None:
            kind = "INT" if bits == 32 else "LONG"
            raise invalid(name, text, f"Not a number of type {kind}")
        if found < least:
            raise invalid(name, text, f"Value must be at least {least}")
        return found

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        text = str(self._text(name, str(default).lower())).strip().lower()
        if text not in ("true", "false"):
            raise invalid(name, text, "Expected value to be either true or false")
        return text == "true"

    def words(self, name: str, default: str | None) -> tuple[str, ...]:
        """Return a list, which is written with commas."""
        text = str(self._text(name, default)).strip()
        return tuple(COMMA.split(text)) if text else ()

    def text(self, name: str) -> str | None:
        """Return a text, or None if there is none."""
        return self.lines.get(name)

    def _text(self, name: str, default: T | None) -> str | T:
        text = self.lines.get(name, default)
        if text is None:
            raise Misconfigured(
                f'Missing required configuration "{name}" which has no default value.'
            )
        return text


def invalid(name: str, text: str, why: str) -> Misconfigured:
    """Return what to say of a value that cannot be."""
    return Misconfigured(f"Invalid value {text} for configuration {name}: {why}")


@value
class Listener:
    """Where a node listens, or says that it does."""

    name: str
    host: str | None
    """None means everywhere."""
    port: int

    @property
    def is_everywhere(self) -> bool:
        """Whether it is no address that somebody could connect to."""
        return self.host is None or self.host == EVERYWHERE

    @property
    def bound(self) -> Address:
        """Where to listen; an empty host is everywhere."""
        return Address("" if self.host is None or self.is_everywhere else self.host, self.port)


@value
class ConfiguredVoter:
    """One of ``controller.quorum.voters``."""

    node_id: int
    address: Address


@value
class BrokerSettings:
    """What the file says of the broker."""

    advertised: tuple[Listener, ...]
    """Its listeners as clients are told of them."""
    inter_broker: str
    """The name of the listener that brokers use among themselves."""
    protocols: Mapping[str, str]
    """How each listener speaks."""
    rack: str | None
    cordoned: tuple[str, ...]
    heartbeat_interval_ms: int
    session_timeout_ms: int
    registration_timeout_ms: int
    directory_failure_timeout_ms: int
    controlled_shutdown: bool


@value
class NodeConfig:
    """What a node is told."""

    node_id: int
    roles: frozenset[str]
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    listeners: tuple[Listener, ...]
    controller_listener_names: tuple[str, ...]
    advertised_controller_listeners: tuple[Listener, ...]
    broker_settings: BrokerSettings
    voters: tuple[ConfiguredVoter, ...]
    bootstrap: tuple[Address, ...]
    unstable_features: bool
    metadata_segment_bytes: int
    metadata_segment_ms: int
    metadata_retention_bytes: int
    metadata_retention_ms: int
    snapshot_after_bytes: int
    snapshot_after_ms: int
    quorum: Mapping[str, int]
    """The numbers of ``controller.quorum.…``, by the rest of their names."""
    auto_join: bool
    static: Mapping[str, str]
    """The properties file, for whoever reads configs of brokers and topics in it."""

    @property
    def directories(self) -> tuple[str, ...]:
        """Every directory of the node, in order."""
        return tuple(sorted({*self.log_dirs, self.metadata_log_dir}))

    @property
    def is_controller(self) -> bool:
        """Whether it takes part in the quorum."""
        return CONTROLLER in self.roles

    @property
    def own_controller_listeners(self) -> tuple[Listener, ...]:
        """Where a controller listens, in the order of its controller listeners; nowhere if none."""
        places = {listener.name: listener for listener in self.listeners}
        names = [name.upper() for name in self.controller_listener_names]
        return tuple(places[name] for name in names if name in places)

    @property
    def is_broker(self) -> bool:
        """Whether it serves clients."""
        return BROKER in self.roles

    @property
    def broker_listeners(self) -> tuple[Listener, ...]:
        """Where clients come to."""
        controllers = {name.upper() for name in self.controller_listener_names}
        return tuple(each for each in self.listeners if each.name not in controllers)

    @property
    def name(self) -> str:
        """What the node calls itself in messages."""
        return f"{'controller' if self.roles == {CONTROLLER} else 'broker'} {self.node_id}"

    @property
    def metadata_log(self) -> LogConfig:
        """How the metadata log behaves."""
        return replace(
            METADATA_LOG,
            segment_bytes=self.metadata_segment_bytes,
            segment_ms=self.metadata_segment_ms,
        )

    @property
    def configured_voters(self) -> VoterSet:
        """Who votes where no record tells."""
        if not self.voters:
            return NO_VOTERS
        listener = self.controller_listener_names[0].upper()
        return VoterSet.of(
            Voter(ReplicaKey(each.node_id), (endpoint_of(listener, each.address),))
            for each in self.voters
        )

    def raft(self, cluster_id: str, directory_id: Uuid) -> RaftConfig:
        """Return what the node's replica of the metadata log is told."""
        return RaftConfig(
            key=ReplicaKey(self.node_id, directory_id),
            cluster_id=cluster_id,
            endpoints=self._endpoints() if self.is_controller else (),
            listener=self.controller_listener_names[0].upper(),
            bootstrap=self.bootstrap,
            can_vote=self.is_controller,
            auto_join=self.auto_join,
            election_timeout_ms=self.quorum["election.timeout.ms"],
            election_backoff_max_ms=self.quorum["election.backoff.max.ms"],
            fetch_timeout_ms=self.quorum["fetch.timeout.ms"],
            request_timeout_ms=self.quorum["request.timeout.ms"],
            retry_backoff_ms=self.quorum["retry.backoff.ms"],
            fetch_bytes_max=self.quorum["fetch.max.bytes"],
            fetch_snapshot_bytes_max=self.quorum["fetch.snapshot.max.bytes"],
            retention_bytes=self.metadata_retention_bytes,
            retention_ms=self.metadata_retention_ms,
        )

    def broker(
        self,
        cluster_id: str,
        directories: Mapping[str, Uuid],
        previous_epoch: int,
        ports: Mapping[str, int],
    ) -> BrokerConfig:
        """Return what the broker is told; ``ports`` are those that its listeners really have."""
        told = self.broker_settings
        own = sorted(told.advertised, key=lambda each: each.name != told.inter_broker)
        return BrokerConfig(
            id=self.node_id,
            cluster_id=cluster_id,
            listeners=tuple(self._advertised(each, ports) for each in own),
            supported_features=supported_levels(self.unstable_features),
            directories=directories,
            rack=told.rack,
            cordoned=told.cordoned,
            previous_epoch=previous_epoch,
            heartbeat_interval_ms=told.heartbeat_interval_ms,
            registration_timeout_ms=told.registration_timeout_ms,
            directory_failure_timeout_ms=told.directory_failure_timeout_ms,
            controlled_shutdown=told.controlled_shutdown,
        )

    def _advertised(self, listener: Listener, ports: Mapping[str, int]) -> cluster.Endpoint:
        name, protocol = listener.name, self.broker_settings.protocols[listener.name]
        if protocol != PLAINTEXT:
            raise Misconfigured(
                f"{self.name}: listener {name} speaks {protocol} ({PROTOCOL_MAP}), which is not "
                f"built yet; {PLAINTEXT} is"
            )
        if listener.is_everywhere or listener.host is None:
            raise self._nowhere(listener)
        port = listener.port or ports[name]
        return cluster.Endpoint(name, listener.host, port, PROTOCOLS[protocol])

    def _nowhere(self, listener: Listener) -> Misconfigured:
        return Misconfigured(
            f"{self.name}: listener {listener.name} listens everywhere, and nothing tells others "
            f"where that is; add it to advertised.listeners with a host"
        )

    def _endpoints(self) -> Endpoints:
        endpoints = []
        for listener in self.advertised_controller_listeners:
            if listener.host is None:
                raise self._nowhere(listener)
            address = Address(listener.host, listener.port)
            endpoints.append(endpoint_of(listener.name, address))
        return tuple(endpoints)


def endpoint_of(listener: str, address: Address) -> Endpoint:
    """Return a listener at an address, as the quorum knows it."""
    return Endpoint(listener, address.host, address.port)


# --- reading it ----------------------------------------------------------------------------------

# Kafka's, with their defaults and least values.
QUORUM_NUMBERS: Final = {
    "election.timeout.ms": (1_000, 0),
    "election.backoff.max.ms": (1_000, 0),
    "fetch.timeout.ms": (2_000, 0),
    "append.linger.ms": (25, 0),
    "request.timeout.ms": (2_000, 0),
    "retry.backoff.ms": (20, 0),
    "fetch.snapshot.max.bytes": (1 << 20, 1),
    "fetch.max.bytes": (1 << 20, 1),
}


def node_config(lines: Mapping[str, str]) -> NodeConfig:
    """Return what the lines of a properties file tell a node."""
    settings = Settings(lines)
    roles = roles_of(settings)
    node_id = node_id_of(settings)
    log_dirs = directories_of(settings)
    names = settings.words(CONTROLLER_LISTENERS, None)
    if not names:
        raise invalid(CONTROLLER_LISTENERS, "", "Configuration must not be empty. ")
    listeners = parsed_listeners(settings, "listeners", "PLAINTEXT://:9092")
    voters = tuple(map(configured_voter, settings.words(VOTERS, "")))
    advertised = parsed_listeners(settings, "advertised.listeners", "")
    day_ms = 24 * 60 * 60 * 1000
    config = NodeConfig(
        node_id=node_id,
        roles=roles,
        log_dirs=log_dirs,
        metadata_log_dir=settings.text("metadata.log.dir") or log_dirs[0],
        listeners=listeners,
        controller_listener_names=names,
        advertised_controller_listeners=effective(names, listeners, advertised, voters, node_id),
        broker_settings=broker_settings(settings, names, listeners, advertised, log_dirs),
        voters=voters,
        bootstrap=tuple(map(bootstrap_server, settings.words(BOOTSTRAP_SERVERS, ""))),
        unstable_features=settings.flag("unstable.feature.versions.enable", False),
        metadata_segment_bytes=settings.number("metadata.log.segment.bytes", 1 << 30, 8 << 20),
        metadata_segment_ms=settings.number("metadata.log.segment.ms", 7 * day_ms, ANY, LONG),
        metadata_retention_bytes=settings.number(
            "metadata.max.retention.bytes", 100 << 20, ANY, LONG
        ),
        metadata_retention_ms=settings.number("metadata.max.retention.ms", 7 * day_ms, ANY, LONG),
        snapshot_after_bytes=settings.number(
            "metadata.log.max.record.bytes.between.snapshots", 20 << 20, 1, LONG
        ),
        snapshot_after_ms=settings.number(
            "metadata.log.max.snapshot.interval.ms", day_ms // 24, 0, LONG
        ),
        quorum={
            name: settings.number(f"controller.quorum.{name}", default, least)
            for name, (default, least) in QUORUM_NUMBERS.items()
        },
        auto_join=settings.flag("controller.quorum.auto.join.enable", False),
        static=settings.lines,
    )
    check_roles(config)
    return config


def broker_settings(
    settings: Settings,
    controllers: tuple[str, ...],
    listeners: tuple[Listener, ...],
    advertised: tuple[Listener, ...],
    log_dirs: tuple[str, ...],
) -> BrokerSettings:
    """Return what the file says of the broker."""
    others = {name.upper() for name in controllers}
    protocols = protocols_of(settings, others, listeners)
    return BrokerSettings(
        advertised=tuple(each for each in advertised or listeners if each.name not in others),
        inter_broker=inter_broker_of(settings, protocols),
        protocols=protocols,
        rack=settings.text("broker.rack"),
        cordoned=cordoned_of(settings, log_dirs),
        heartbeat_interval_ms=settings.number("broker.heartbeat.interval.ms", 2_000, INT_MIN),
        session_timeout_ms=settings.number("broker.session.timeout.ms", 9_000, INT_MIN),
        registration_timeout_ms=settings.number(
            "initial.broker.registration.timeout.ms", 60_000, INT_MIN
        ),
        directory_failure_timeout_ms=settings.number("log.dir.failure.timeout.ms", 30_000, 1, LONG),
        controlled_shutdown=settings.flag("controlled.shutdown.enable", True),
    )


def protocols_of(
    settings: Settings, controllers: set[str], listeners: tuple[Listener, ...]
) -> Mapping[str, str]:
    """Return how each listener speaks.

    Without a map a listener that bears the name of a protocol speaks that, and the controllers'
    speak plainly, unless any listener is one that does not.
    """
    written = settings.text(PROTOCOL_MAP)
    if written is None:
        protocols = {name: name for name in PROTOCOLS}
        if not {each.name for each in listeners} & protocols.keys() - {PLAINTEXT}:
            protocols |= dict.fromkeys(controllers - protocols.keys(), PLAINTEXT)
    else:
        protocols = {}
        for part in settings.words(PROTOCOL_MAP, ""):
            name, _, protocol = part.rpartition(":")
            if not name or protocol.strip() not in PROTOCOLS:
                known = ", ".join(PROTOCOLS)
                raise invalid(PROTOCOL_MAP, part, f"Not a listener and one of {known}")
            protocols[name.strip().upper()] = protocol.strip()
    return protocols


def inter_broker_of(settings: Settings, protocols: Mapping[str, str]) -> str:
    """Return the name of the listener that brokers use among themselves."""
    name = settings.text(INTER_BROKER)
    protocol = settings.text(INTER_BROKER_PROTOCOL)
    if name is None:
        protocol = protocol or PLAINTEXT
        if protocol not in PROTOCOLS:
            why = f"String must be one of: {', '.join(PROTOCOLS)}"
            raise invalid(INTER_BROKER_PROTOCOL, protocol, why)
        return protocol
    if protocol is not None:
        both = f"{INTER_BROKER} and {INTER_BROKER_PROTOCOL}"
        raise Misconfigured(f"Only one of {both} should be set.")
    if name.upper() not in protocols:
        raise Misconfigured(
            f"Listener with name {name.upper()} defined in {INTER_BROKER} not found in "
            f"{PROTOCOL_MAP}."
        )
    return name.upper()


def cordoned_of(settings: Settings, log_dirs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the directories that are to be given nothing new."""
    cordoned = settings.words(CORDONED, "")
    if ALL_DIRECTORIES in cordoned:
        if len(cordoned) > 1:
            raise Misconfigured(
                f"When {CORDONED} is set to {ALL_DIRECTORIES}, it must not contain other values"
            )
        return cordoned
    unknown = [path for path in cordoned if path not in log_dirs]
    if unknown:
        raise Misconfigured(
            f"All entries in {CORDONED} must be present in log.dirs or log.dir. Missing entries : "
            f"{', '.join(unknown)}"
        )
    return cordoned


def roles_of(settings: Settings) -> frozenset[str]:
    """Return what the node does."""
    roles = settings.words("process.roles", None)
    for role in roles:
        if role not in (BROKER, CONTROLLER):
            why = f"String must be one of: {BROKER}, {CONTROLLER}"
            raise invalid("process.roles", role, why)
    if not roles:
        raise invalid("process.roles", "", "Configuration must not be empty. ")
    return frozenset(roles)


def node_id_of(settings: Settings) -> int:
    """Return who the node is; broker.id is an older name of it."""
    names = [name for name in ("node.id", "broker.id") if settings.text(name) is not None]
    ids = [settings.number(name, None, 0) for name in names or ["node.id"]]
    if len(set(ids)) > 1:
        raise Misconfigured("You must set `node.id` to the same value as `broker.id`.")
    return ids[0]


def directories_of(settings: Settings) -> tuple[str, ...]:
    """Return the directories of the broker's logs."""
    directories = settings.words("log.dirs", "") or settings.words("log.dir", "/tmp/kafka-logs")
    if not directories or not all(directories):
        raise Misconfigured("At least one log directory must be defined via log.dirs or log.dir.")
    return directories


def parsed_listeners(settings: Settings, name: str, default: str) -> tuple[Listener, ...]:
    """Return the listeners in a list of ``NAME://host:port``."""
    found = []
    for text in settings.words(name, default):
        match = LISTENER.fullmatch(text)
        if match is None:
            raise Misconfigured(
                f"Error creating broker listeners from '{settings.text(name)}': Unable to parse "
                f"{text} to a broker endpoint"
            )
        found.append(Listener(match[1].upper(), match[2] or None, int(match[3])))
    names = [listener.name for listener in found]
    if len(set(names)) < len(names):
        raise Misconfigured(
            f"Error creating broker listeners from '{settings.text(name)}': Each listener must "
            f"have a different name"
        )
    return tuple(found)


def effective(
    names: tuple[str, ...],
    listeners: tuple[Listener, ...],
    advertised: tuple[Listener, ...],
    voters: tuple[ConfiguredVoter, ...],
    node_id: int,
) -> tuple[Listener, ...]:
    """Return the controller listeners as others are told of them.

    One that listens everywhere and is not advertised is where ``controller.quorum.voters`` says,
    if it is the first.
    """
    found = []
    for number, name in enumerate(names):
        told = [each for each in advertised if each.name == name.upper()]
        own = [each for each in listeners if each.name == name.upper()]
        places = [each.address for each in voters if each.node_id == node_id]
        if told:
            found.append(told[0])
        elif own and own[0].is_everywhere and places and number == 0:
            found.append(Listener(own[0].name, places[0].host, places[0].port))
        elif own:
            host = None if own[0].is_everywhere else own[0].host
            found.append(Listener(own[0].name, host, own[0].port))
    return tuple(found)


def configured_voter(text: str) -> ConfiguredVoter:
    """Return one of ``controller.quorum.voters``."""
    form = "Each entry should be in the form `{id}@{host}:{port}`."
    id_text, found, place = text.partition("@")
    if not found or "@" in place or not id_text or not place:
        raise Misconfigured(f"Invalid configuration value for {VOTERS}. {form}")
    node_id = whole_number(id_text)
    if node_id is None:
        raise Misconfigured(f"Failed to parse voter ID as an integer from {id_text}")
    match = HOST_AND_PORT.fullmatch(place)
    if match is None:
        raise Misconfigured(
            f"Failed to parse host name from entry {text} for the configuration {VOTERS}. {form}"
        )
    return ConfiguredVoter(node_id, Address(match[1], int(match[2])))


def bootstrap_server(text: str) -> Address:
    """Return one of ``controller.quorum.bootstrap.servers``."""
    match = HOST_AND_PORT.fullmatch(text)
    if match is None:
        raise Misconfigured(
            f"Failed to parse host name from {text} for the configuration {BOOTSTRAP_SERVERS}. "
            f'Each entry should be in the form "{{host}}:{{port}}"'
        )
    return Address(match[1], int(match[2]))


# --- what contradicts what -----------------------------------------------------------------------


def check_roles(config: NodeConfig) -> None:
    """Refuse what the roles of a node forbid."""
    ids = [voter.node_id for voter in config.voters]
    if not ids and not config.bootstrap:
        raise Misconfigured(
            f"If using process.roles, either {BOOTSTRAP_SERVERS} must contain the set of "
            f"bootstrap controllers or {VOTERS} must contain a parseable set of controllers."
        )
    names = {name.upper() for name in config.controller_listener_names}
    own = {listener.name for listener in config.listeners}
    if config.is_controller:
        check_controller(config, ids, names, own)
    else:
        check_only_broker(config, ids, names, own)
    if config.is_broker:
        check_broker(config, config.broker_settings, own)


def check_only_broker(config: NodeConfig, ids: list[int], names: set[str], own: set[str]) -> None:
    """Refuse what a node that is no controller must not be told."""
    if config.node_id in ids:
        raise Misconfigured(
            f"If process.roles contains just the 'broker' role, the node id {config.node_id} must "
            f"not be included in the set of voters {VOTERS}={sorted(ids)}"
        )
    if names & own:
        raise Misconfigured(
            f"{CONTROLLER_LISTENERS} must not contain a value appearing in the 'listeners' "
            f"configuration when running KRaft with just the broker role"
        )
    if config.auto_join:
        raise Misconfigured(
            "controller.quorum.auto.join.enable is only supported when process.roles contains the "
            "'controller' role."
        )


def check_controller(config: NodeConfig, ids: list[int], names: set[str], own: set[str]) -> None:
    """Refuse what a controller must not be told."""
    if BROKER not in config.roles and not own <= names:
        raise Misconfigured(
            f"The listeners config must only contain KRaft controller listeners from "
            f"{CONTROLLER_LISTENERS} when process.roles=controller"
        )
    if ids and config.node_id not in ids:
        raise Misconfigured(
            f"If process.roles contains the 'controller' role, the node id {config.node_id} must "
            f"be included in the set of voters {VOTERS}={sorted(ids)}"
        )
    if not names & own:
        raise Misconfigured(
            f"{CONTROLLER_LISTENERS} must contain at least one value appearing in the 'listeners' "
            f"configuration when running the KRaft controller role"
        )
    if not names <= own:
        raise Misconfigured(
            f"{CONTROLLER_LISTENERS} must only contain values appearing in the 'listeners' "
            f"configuration when running the KRaft controller role"
        )
    if any(each.host == EVERYWHERE for each in config.advertised_controller_listeners):
        raise Misconfigured(
            f"advertised.listeners cannot use the nonroutable meta-address {EVERYWHERE}. Use a "
            f"routable IP address."
        )


def check_broker(config: NodeConfig, told: BrokerSettings, own: set[str]) -> None:
    """Refuse what a broker must not be told."""
    for listener in config.broker_listeners:
        if listener.name not in told.protocols:
            raise Misconfigured(
                f"No security protocol defined for listener {listener.name}; add it to "
                f"{PROTOCOL_MAP}"
            )
    names = {each.name for each in told.advertised}
    if not names:
        raise Misconfigured(
            f"There must be at least one broker advertised listener. Perhaps all listeners appear "
            f"in {CONTROLLER_LISTENERS}?"
        )
    if told.inter_broker not in names:
        raise Misconfigured(
            f"{INTER_BROKER} must be a listener name defined in advertised.listeners. The valid "
            f"options based on currently configured listeners are {','.join(sorted(names))}"
        )
    if not names <= own:
        raise Misconfigured(
            f"advertised.listeners listener names must be equal to or a subset of the ones defined "
            f"in listeners. Found {','.join(sorted(names))}. The valid options based on the "
            f"current configuration are {','.join(sorted(own))}"
        )
    if any(each.host == EVERYWHERE for each in told.advertised):
        raise Misconfigured(
            f"advertised.listeners cannot use the nonroutable meta-address {EVERYWHERE}. Use a "
            f"routable IP address."
        )
