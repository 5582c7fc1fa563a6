"""The configs of groups: consumer groups, share groups, streams groups.

Most fall back to a config of the broker, and have to stay within two others of it: a member cannot
be told to send a heartbeat more often than the operator allows.

Fixed by Kafka's GroupConfig.java and ShareGroupAutoOffsetResetStrategy.java.
"""

import re
from collections.abc import Mapping
from typing import Final

from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.configs import Between, Config, Kind, OneOf, Parsed, invalid, table
from barnabas.model.errors import ErrorCode, Refused

BOOLEAN, STRING, INT = Kind.BOOLEAN, Kind.STRING, Kind.INT
AT_LEAST_0, AT_LEAST_1 = Between(0), Between(1)

BY_DURATION: Final = "by_duration:"
DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?"
    r"(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?)([0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE,
)
"""java.time.Duration's."""


def is_duration(text: str) -> bool:
    """Tell whether a text is a duration of ISO 8601, and not a negative one."""
    match = DURATION.fullmatch(text)
    if match is None:
        return False
    sign, days, time, hours, minutes, second_sign, seconds, fraction = match.groups()
    if time in ("T", "t") or not (days or time):
        return False
    nanos = int((fraction or "").ljust(9, "0")) + int(seconds or 0) * 10**9
    whole = (int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)
    total = whole * 60 * 10**9 + (-nanos if second_sign == "-" else nanos)
    return (-total if sign == "-" else total) >= 0


class OffsetReset:
    """Where a share group begins to read."""

    def check(self, name: str, found: Parsed) -> None:
        """Refuse what is no such place."""
        assert isinstance(found, str), f"{name} is {found!r}, no text"
        ago = found.removeprefix(BY_DURATION)
        if found not in ("earliest", "latest") and (ago == found or not is_duration(ago)):
            raise invalid(
                name, found, f"Invalid value `{found}` for configuration {name}. The value must be "
                "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
            )  # fmt: skip

    def __str__(self) -> str:
        return "[latest, earliest, by_duration:PnDTnHnMn.nS]"


# fmt: off
GROUP_CONFIGS: Final = table((
    Config("consumer.assignment.interval.ms", INT, "1000", AT_LEAST_0,
           "Shortest time between two assignments."),
    Config("consumer.heartbeat.interval.ms", INT, "5000", AT_LEAST_1,
           "How often members send heartbeats."),
    Config("consumer.session.timeout.ms", INT, "45000", AT_LEAST_1,
           "How long a member is believed alive without a heartbeat."),
    Config("share.assignment.interval.ms", INT, "1000", AT_LEAST_0,
           "Shortest time between two assignments."),
    Config("share.auto.offset.reset", STRING, "latest", OffsetReset(),
           "Where a share group begins to read: latest, earliest, or so long ago "
           "(by_duration:P1D)."),
    Config("share.delivery.count.limit", INT, "5", Between(2),
           "How often a record is delivered before it is given up."),
    Config("share.heartbeat.interval.ms", INT, "5000", AT_LEAST_1,
           "How often members send heartbeats."),
    Config("share.isolation.level", STRING, "read_uncommitted",
           OneOf(("read_committed", "read_uncommitted")),
           "Whether records of open and aborted transactions are delivered."),
    Config("share.partition.max.record.locks", INT, "2000", Between(100),
           "How many records of a partition the group may hold at once."),
    Config("share.record.lock.duration.ms", INT, "30000", Between(1000),
           "How long a record is held for the member that has it."),
    Config("share.renew.acknowledge.enable", BOOLEAN, "true", None,
           "Whether a member may hold a record for longer."),
    Config("share.session.timeout.ms", INT, "45000", AT_LEAST_1,
           "How long a member is believed alive without a heartbeat."),
    Config("streams.assignment.interval.ms", INT, "1000", AT_LEAST_0,
           "Shortest time between two assignments."),
    Config("streams.heartbeat.interval.ms", INT, "5000", AT_LEAST_1,
           "How often members send heartbeats."),
    Config("streams.initial.rebalance.delay.ms", INT, "3000", AT_LEAST_0,
           "How long a new group waits for more members."),
    Config("streams.num.standby.replicas", INT, "0", AT_LEAST_0,
           "How many standbys each task has."),
    Config("streams.session.timeout.ms", INT, "45000", AT_LEAST_1,
           "How long a member is believed alive without a heartbeat."),
))
# fmt: on

SYNONYMS: Final = {
    name: f"group.{name}" for name in GROUP_CONFIGS if f"group.{name}" in BROKER_CONFIGS
}
"""The broker's names of a group's configs."""

ONLY_IF_SET: Final = frozenset(
    ("consumer.assignment.interval.ms", "share.assignment.interval.ms",
     "streams.assignment.interval.ms")
)  # fmt: skip
"""What may lie outside of the broker's bounds as long as the group does not set it itself."""


def inherited(name: str, brokers: Mapping[str, str]) -> str | None:
    """Return what a broker has for a group's config; None if it has nothing."""
    synonym = SYNONYMS.get(name)
    return None if synonym is None else brokers.get(synonym)


def check_group(wanted: Mapping[str, str], static: Mapping[str, str]) -> None:
    """Refuse configs of a group that are unknown, not allowed, or contradict each other.

    ``wanted`` is all that will be set for the group, and ``static`` the node's file.
    """
    for name in wanted:
        if name not in GROUP_CONFIGS:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
    values = {name: parsed(config, wanted, static) for name, config in GROUP_CONFIGS.items()}
    for name in GROUP_CONFIGS:
        if name in wanted or name not in ONLY_IF_SET:
            check_bounds(name, values[name], static)
    for kind in ("consumer", "share", "streams"):
        session, beat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if whole(values[session]) <= whole(values[beat]):
            raise Refused(ErrorCode.INVALID_CONFIG, f"{session} must be greater than {beat}")


def parsed(config: Config, wanted: Mapping[str, str], static: Mapping[str, str]) -> Parsed:
    """Return what will be in force for a group."""
    text = wanted.get(config.name, inherited(config.name, static))
    return config.parsed(config.default if text is None else text)


def check_bounds(name: str, found: Parsed, static: Mapping[str, str]) -> None:
    """Refuse what is outside of the bounds that the operator has set for all groups."""
    kind, _, rest = name.partition(".")
    for bound, words in (("min", "greater"), ("max", "less")):
        limit = BROKER_CONFIGS.get(f"group.{kind}.{bound}.{rest.removeprefix('num.')}")
        if limit is None:
            continue
        allowed = limit.number(static)
        if whole(found) < allowed if bound == "min" else whole(found) > allowed:
            raise Refused(
                ErrorCode.INVALID_CONFIG, f"{name} must be {words} than or equal to {limit.name}"
            )


def whole(found: Parsed) -> int:
    """Return a whole number that is known to be one."""
    assert isinstance(found, int), f"{found!r} is no whole number"
    return found
