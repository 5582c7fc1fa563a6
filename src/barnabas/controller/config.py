"""What a controller is told, by Kafka's names and with Kafka's defaults."""

from collections.abc import Mapping
from dataclasses import field

from barnabas.model.value import value


@value
class ControllerConfig:
    """The part of a node's properties that decisions depend on."""

    node_id: int
    session_timeout_ms: int = 9_000
    """How long a broker is believed alive without a word: broker.session.timeout.ms."""
    default_replication_factor: int = 1
    num_partitions: int = 1
    static: Mapping[str, str] = field(default_factory=dict)
    """The properties file, for configs of topics and brokers that nobody set in the cluster."""
