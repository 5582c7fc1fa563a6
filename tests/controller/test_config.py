"""A controller is told little; the rest is Kafka's."""

from barnabas.controller.config import ControllerConfig


def test_defaults_are_those_of_kafka() -> None:
    config = ControllerConfig(1)
    assert config.session_timeout_ms == 9_000
    assert (config.default_replication_factor, config.num_partitions) == (1, 1)
