"""The configs of subscriptions to the metrics of clients: which, from whom, how often (KIP-714).

Fixed by Kafka's ClientMetricsConfigs.java.
"""

import re
from collections.abc import Mapping
from typing import Final

from barnabas.model.configs import Config, Kind, Words, table
from barnabas.model.errors import ErrorCode, Refused

INT, LIST = Kind.INT, Kind.LIST
WORDS = Words()

# fmt: off
METRICS_CONFIGS: Final = table((
    Config("interval.ms", INT, "300000", None, "How often clients send the metrics."),
    Config("match", LIST, "", WORDS,
           "Which clients are meant: pairs of a property and a pattern; all if empty."),
    Config("metrics", LIST, "", WORDS,
           "Prefixes of the metrics that are sent; * stands for all, none if empty."),
))
# fmt: on

INTERVAL_MIN_MS, INTERVAL_MAX_MS = 100, 3_600_000

PROPERTIES: Final = (
    "client_instance_id", "client_id", "client_software_name", "client_software_version",
    "client_source_address", "client_source_port",
)  # fmt: skip
"""What of a client may be matched."""


def check_client_metrics(name: str, wanted: Mapping[str, str]) -> None:
    """Refuse a subscription that has no name, or configs that are unknown or not allowed."""
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for config in wanted:
        if config not in METRICS_CONFIGS:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {config}"
            )
    values = {config: METRICS_CONFIGS[config].parsed(text) for config, text in wanted.items()}
    interval_ms = values.get("interval.ms")
    if isinstance(interval_ms, int) and not INTERVAL_MIN_MS <= interval_ms <= INTERVAL_MAX_MS:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between "
            f"{INTERVAL_MIN_MS} and {INTERVAL_MAX_MS} (1 hour)",
        )
    matches = values.get("match")
    if isinstance(matches, tuple):
        for pattern in matches:
            check_match(pattern)


def check_match(pattern: str) -> None:
    """Refuse what is no property of a client and a regular expression for it."""
    said, _, expression = pattern.partition("=")
    try:
        re.compile(expression.strip())
    except re.error as error:
        raise illegal(pattern) from error
    # Java drops empty parts at the end, so that a pattern may end with any number of these signs.
    named = expression.rstrip("=")
    if said.strip() not in PROPERTIES or not named or "=" in named:
        raise illegal(pattern)


def illegal(pattern: str) -> Refused:
    """Return the refusal of a pattern."""
    return Refused(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")
