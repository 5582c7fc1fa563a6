"""What a controller is told, by Kafka's names and with Kafka's defaults."""

from collections.abc import Mapping
from dataclasses import field

from barnabas.model.value import value


@value
class ControllerConfig:
    """The part of a node's properties that decisions depend on."""

    node_id: int
    cluster_id: str = ""
    unstable_features: bool = False
    """Whether levels may be used that are not stable yet."""
    session_timeout_ms: int = 9_000
    """How long a broker is believed alive without a word: broker.session.timeout.ms."""
    default_replication_factor: int = 1
    num_partitions: int = 1
    idle_interval_ms: int = 500
    """How often something is written even if there is nothing to say, so that brokers see the
    log move: metadata.max.idle.interval.ms; 0 is never."""
    rebalances: bool = True
    """Whether preferred leaders get their partitions back: auto.leader.rebalance.enable."""
    rebalance_check_ms: int = 300_000
    """How often that is looked at: leader.imbalance.check.interval.seconds."""
    unclean_check_ms: int = 300_000
    """How often partitions without a leader are: unclean.leader.election.interval.ms."""
    token_check_ms: int = 3_600_000
    """How often tokens are looked through: delegation.token.expiry.check.interval.ms."""
    static: Mapping[str, str] = field(default_factory=dict)
    """The properties file, for configs of topics and brokers that nobody set in the cluster."""
