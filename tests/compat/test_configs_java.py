"""Our configs are Apache Kafka's: names, kinds, defaults, when they may change, what they may be.

The tables are compared row by row.  Then every config is given values at the edges of what it may
be, and values that mean something in Java only; and whole sets of configs that contradict each
other, as a controller and as a broker judge them.
"""

import subprocess
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote_plus, unquote_plus

import pytest

from barnabas.model import group_configs, topic_configs
from barnabas.model.broker_configs import BROKER_CONFIGS, check_broker, family
from barnabas.model.configs import Between, Config, Kind, written
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.group_configs import GROUP_CONFIGS, check_group
from barnabas.model.metrics_configs import METRICS_CONFIGS, check_client_metrics
from barnabas.model.topic_configs import TOPIC_CONFIGS, check_topic
from tests.compat.maven import class_path

PROJECT: Final = Path(__file__).parent / "java-configs"
TABLES: Final = {
    "topic": TOPIC_CONFIGS,
    "broker": BROKER_CONFIGS,
    "group": GROUP_CONFIGS,
    "client-metrics": METRICS_CONFIGS,
}
NULL: Final = "~"

# Where Kafka asks more of a value than its kind and we do not, on purpose.
READ_BY_THE_NODE: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
"""What node.config reads, and refuses with Kafka's words, when the node starts."""


def ask(lines: Iterable[str]) -> list[list[str]]:
    """Send questions to Kafka's classes; return the parts of each answer, the first ok or error."""
    asked = list(lines)
    java = subprocess.run(
        ["java", "-cp", class_path(PROJECT), "barnabas.Configs"],
        input="\n".join(asked) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    answers = java.stdout.splitlines()
    if java.returncode or len(answers) != len(asked):
        raise RuntimeError(f"{len(answers)} answers to {len(asked)} questions:\n{java.stderr}")
    return [answer.split("\t") for answer in answers]


def word(text: str | None) -> str:
    """Return a text as a word of a question."""
    return NULL if text is None else quote_plus(text)


def said(found: str) -> str | None:
    """Return the text that a word of an answer stands for."""
    return None if found == NULL else unquote_plus(found)


def pairs(texts: Mapping[str, str]) -> str:
    """Return texts by names as a word of a question."""
    return "&".join(f"{word(name)}={word(text)}" for name, text in texts.items()) or NULL


class Row(NamedTuple):
    """A config as Kafka defines it."""

    table: str
    name: str
    kind: str
    default: str
    internal: str
    mode: str
    rule: str
    synonyms: tuple[str, ...]


@cache
def rows() -> tuple[Row, ...]:
    """Return all configs that Kafka defines."""
    answers = ask(f"list {kind}" for kind in TABLES)
    return tuple(
        Row(kind, name, type_, default, internal, mode, rule, tuple(synonyms))
        for kind, (_, *found) in zip(TABLES, answers, strict=True)
        for name, type_, default, internal, mode, rule, *synonyms in (
            row.split(" ") for row in found
        )
    )


def ours(row: Row) -> Config:
    """Return the same config of ours."""
    return TABLES[row.table][row.name]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.table}-{row.name}")
def test_a_config_is_defined_as_in_kafka(row: Row) -> None:
    config = ours(row)
    assert config.kind.name == row.kind
    assert config.required is (row.default == "!")
    assert config.required or config.default == said(row.default)
    assert config.internal is (row.internal == "true")
    if row.table == "broker":
        assert config.update.value == row.mode
        assert family(row.name) == row.synonyms
    if row.name not in READ_BY_THE_NODE:
        assert str(config.rule or "") == (said(row.rule) or "")


@pytest.mark.parametrize("kind", TABLES)
def test_there_are_no_other_configs(kind: str) -> None:
    assert set(TABLES[kind]) == {row.name for row in rows() if row.table == kind}


def test_the_names_that_a_broker_has_for_them_are_kafkas() -> None:
    for row in rows():
        if row.table == "topic":
            found = topic_configs.SYNONYMS.get(row.name, ())
            assert tuple(f"{one.name}={one.converted('1')}" for one in found) == row.synonyms
        elif row.table == "group":
            one = group_configs.SYNONYMS.get(row.name)
            assert ((one,) if one else ()) == row.synonyms


# --- Single values -------------------------------------------------------------------------------

ANYWHERE: Final = (
    "",
    " ",
    "0",
    "1",
    "-1",
    "-2",
    "+7",
    " 42 ",
    "\t5\n",
    "1_000",
    "1e3",
    "0x10",
    "٣",
    "true",
    "TRUE",
    "False",
    "yes",
    "null",
    "a",
    "a,b",
    "a , b",
    "a,a",
    ",",
    "a,",
    "*",
    "0:1",
    "0:1,2:3",
    "x:y",
    "delete",
    "compact,delete",
    "Compact",
    "earliest",
    "latest",
    "none",
    "by_duration:P1D",
    "by_duration:PT",
    "by_duration:-PT5S",
    "by_duration:PT-1.5S",
    "by_duration:pt1h",
    "by_duration:",
    "read_committed",
    "gzip",
    "GZIP",
    "CreateTime",
    "0.5",
    ".5",
    "1.",
    "1.0f",
    "5d",
    "NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "0x1.8p1",
    "1e400",
    "1e-7",
    "1e7",
    "123456.789",
    "12345678.9",
    "0.001",
    "0.0009",
    "bidirectional",
    "Rs256",
    "uniform",
    "required",
    "broker",
    "\u00a01",
    *(
        str(sign * (1 << bits) + off)
        for bits in (15, 31, 63)
        for sign in (1, -1)
        for off in (-1, 0, 1)
    ),
)


def edges(config: Config) -> list[str]:
    """Return values around the bounds of a config, and its default."""
    found = [] if config.default is None else [config.default]
    if isinstance(config.rule, Between):
        bounds = [config.rule.least] + ([] if config.rule.most is None else [config.rule.most])
        step = 0.001 if config.kind is Kind.DOUBLE else 1
        found += [str(bound + off) for bound in bounds for off in (-step, 0, step)]
    return found


def values(row: Row) -> list[str]:
    """Return the values that a config is tried with."""
    config = ours(row)
    if config.kind is Kind.CLASS:
        # Kafka loads the class; we could not.
        return []
    return [*ANYWHERE, *edges(config)]


def normal(config: Config, text: str) -> str | None:
    """Return a text as it is written once it was read."""
    return written(config.parsed(text))


def verdict(take: Callable[[], object]) -> tuple[str, object]:
    """Return what became of something that may be refused."""
    try:
        return "ok", take()
    except Refused as refused:
        return "error", refused.why


@cache
def verdicts() -> Mapping[tuple[str, str, str], list[str]]:
    """Ask Kafka for its verdict on every value of every config, in one go."""
    asked = [(row.table, row.name, text) for row in rows() for text in values(row)]
    lines = [f"parse {kind} {name} {word(text)}" for kind, name, text in asked]
    return dict(zip(asked, ask(lines), strict=True))


@pytest.mark.parametrize(
    "row",
    [row for row in rows() if row.name not in READ_BY_THE_NODE],
    ids=lambda row: f"{row.table}-{row.name}",
)
def test_kafka_judges_every_value_alike(row: Row) -> None:
    config = ours(row)
    for text in values(row):
        outcome, *theirs = verdicts()[row.table, row.name, text]
        mine, found = verdict(partial(normal, config, text))
        assert mine == outcome, (text, found, theirs)
        if outcome == "ok":
            assert said(theirs[0]) == ("[hidden]" if config.is_sensitive else found), text
        else:
            assert words_of(str(found)) == words_of(said(theirs[1]) or ""), text


def words_of(why: str) -> str:
    """Return a refusal without what Java says of sets that have no order."""
    return why.partition("(case insensitive)")[0]


# --- Values that go together ---------------------------------------------------------------------


class Case(NamedTuple):
    """Configs that are to be set."""

    kind: str
    wanted: Mapping[str, str]
    before: Mapping[str, str] = {}
    static: Mapping[str, str] = {}
    resource: str = "a"


REMOTE: Final = {"remote.log.storage.system.enable": "true"}
# Kafka builds a remote storage, if there is to be one; this one needs no more than a name.
SYSTEM: Final = REMOTE | {
    "remote.log.storage.manager.class.name": "x",
    "remote.log.metadata.manager.listener.name": "CONTROLLER",
}
TIERED: Final = {"remote.storage.enable": "true"}

CASES: Final = (
    Case("topic", {}),
    Case("topic", {"retention.ms": "1", "cleanup.policy": "compact"}),
    Case("topic", {"no.such": "1"}),
    Case("topic", {"retention.ms": "x"}),
    Case("topic", {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"}),
    Case("topic", {"min.compaction.lag.ms": "4", "max.compaction.lag.ms": "4"}),
    Case(
        "topic", {"min.compaction.lag.ms": "9"}, static={"log.cleaner.max.compaction.lag.ms": "8"}
    ),
    Case(
        "topic", {"max.compaction.lag.ms": "9"}, static={"log.cleaner.min.compaction.lag.ms": "8"}
    ),
    Case("topic", TIERED),
    Case("topic", TIERED, static=SYSTEM),
    Case("topic", TIERED | {"cleanup.policy": "compact"}, static=SYSTEM),
    Case("topic", TIERED | {"cleanup.policy": ""}, static=SYSTEM),
    Case("topic", TIERED, static=SYSTEM | {"log.cleanup.policy": "compact"}),
    Case("topic", TIERED | {"local.retention.ms": "-1"}, static=SYSTEM),
    Case("topic", TIERED | {"local.retention.ms": "-1", "retention.ms": "-1"}, static=SYSTEM),
    Case("topic", TIERED | {"local.retention.ms": "9", "retention.ms": "8"}, static=SYSTEM),
    Case("topic", TIERED | {"local.retention.ms": "8", "retention.ms": "8"}, static=SYSTEM),
    Case("topic", TIERED | {"local.retention.bytes": "-1", "retention.bytes": "8"}, static=SYSTEM),
    Case("topic", TIERED | {"local.retention.bytes": "9", "retention.bytes": "8"}, static=SYSTEM),
    Case("topic", TIERED | {"local.retention.bytes": "9"}, static=SYSTEM),
    Case(
        "topic",
        TIERED | {"local.retention.ms": "7200001"},
        static=SYSTEM | {"log.retention.hours": "2"},
    ),
    Case(
        "topic",
        TIERED | {"local.retention.ms": "7200000"},
        static=SYSTEM | {"log.retention.hours": "2"},
    ),
    Case(
        "topic",
        TIERED | {"local.retention.ms": "120001"},
        static=SYSTEM | {"log.retention.hours": "2", "log.retention.minutes": "2"},
    ),
    Case(
        "topic", TIERED | {"local.retention.ms": "5"}, static=SYSTEM | {"log.retention.hours": "-1"}
    ),
    Case("topic", TIERED | {"remote.log.copy.disable": "true"}, static=SYSTEM),
    Case(
        "topic",
        TIERED
        | {"remote.log.copy.disable": "true", "local.retention.ms": "7", "retention.ms": "8"},
        static=SYSTEM,
    ),
    Case(
        "topic",
        TIERED
        | {"remote.log.copy.disable": "true", "local.retention.bytes": "7", "retention.bytes": "8"},
        static=SYSTEM,
    ),
    Case("topic", {}, before=TIERED, static=SYSTEM),
    Case("topic", {"remote.log.delete.on.disable": "true"}, before=TIERED, static=SYSTEM),
    Case("topic", {"remote.storage.enable": "false"}, before=TIERED),
    Case("group", {}),
    Case("group", {"no.such": "1"}),
    Case("group", {"consumer.session.timeout.ms": "44999"}),
    Case("group", {"consumer.session.timeout.ms": "60001"}),
    Case("group", {"consumer.session.timeout.ms": "60000"}),
    Case("group", {"consumer.heartbeat.interval.ms": "4999"}),
    Case("group", {"consumer.heartbeat.interval.ms": "15001"}),
    Case(
        "group",
        {"consumer.heartbeat.interval.ms": "5001"},
        static={
            "group.consumer.session.timeout.ms": "5001",
            "group.consumer.min.session.timeout.ms": "5000",
        },
    ),
    Case("group", {"consumer.assignment.interval.ms": "15001"}),
    Case("group", {"consumer.assignment.interval.ms": "15000"}),
    Case("group", {"share.assignment.interval.ms": "15001"}),
    Case("group", {"streams.assignment.interval.ms": "15001"}),
    Case("group", {"share.heartbeat.interval.ms": "15001"}),
    Case("group", {"share.session.timeout.ms": "1"}),
    Case("group", {"share.record.lock.duration.ms": "14999"}),
    Case("group", {"share.record.lock.duration.ms": "60001"}),
    Case("group", {"share.delivery.count.limit": "11"}),
    Case("group", {"share.delivery.count.limit": "1"}),
    Case("group", {"share.partition.max.record.locks": "4001"}),
    Case("group", {"share.partition.max.record.locks": "99"}),
    Case("group", {"streams.num.standby.replicas": "3"}),
    Case(
        "group",
        {"streams.num.standby.replicas": "3"},
        static={"group.streams.max.standby.replicas": "3"},
    ),
    Case("group", {"streams.session.timeout.ms": "60001"}),
    Case("group", {"streams.heartbeat.interval.ms": "1"}),
    Case("client-metrics", {}),
    Case("client-metrics", {"interval.ms": "99"}),
    Case("client-metrics", {"interval.ms": "100"}),
    Case("client-metrics", {"interval.ms": "3600000"}),
    Case("client-metrics", {"interval.ms": "3600001"}),
    Case("client-metrics", {"no.such": "1"}),
    Case("client-metrics", {"metrics": "*"}, resource=""),
    Case("client-metrics", {"metrics": ""}),
    Case("client-metrics", {"match": "client_id=a.*,client_software_name=Java"}),
    Case("client-metrics", {"match": "client_id"}),
    Case("client-metrics", {"match": "client_id="}),
    Case("client-metrics", {"match": "client_id=a="}),
    Case("client-metrics", {"match": "client_id=a=b"}),
    Case("client-metrics", {"match": "client_id=="}),
    Case("client-metrics", {"match": " client_id = ( "}),
    Case("client-metrics", {"match": "no_such=a"}),
    Case("client-metrics", {"match": "=a"}),
    Case("client-metrics", {"match": ""}),
)

CODES: Final = {
    "ConfigException": ErrorCode.INVALID_CONFIG,
    "InvalidConfigurationException": ErrorCode.INVALID_CONFIG,
    "InvalidRequestException": ErrorCode.INVALID_REQUEST,
}


@cache
def together() -> list[list[str]]:
    """Ask Kafka for its verdict on all cases."""
    return ask(
        f"validate {case.kind} {word(case.resource)} {pairs(case.static)} {pairs(case.before)} "
        f"{pairs(case.wanted)}"
        for case in CASES
    )


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: repr(CASES[number]))
def test_kafka_judges_configs_that_go_together_alike(number: int) -> None:
    case, (outcome, *theirs) = CASES[number], together()[number]
    code = CODES[theirs[0]] if outcome == "error" else None
    assert refusal(case) is code, theirs


def refusal(case: Case) -> ErrorCode | None:
    """Return the code with which we refuse configs, if we do."""
    try:
        match case.kind:
            case "topic":
                check_topic(case.wanted, case.before, case.static)
            case "group":
                check_group(case.wanted, case.static)
            case _:
                check_client_metrics(case.resource, case.wanted)
    except Refused as refused:
        return refused.code
    return None


DYNAMIC: Final = (
    {"log.cleaner.threads": "2"},
    {"log.cleaner.threads": "-1"},
    {"no.such": "1"},
    {"node.id": "1"},
    {"log.cleaner.threads": "2", "node.id": "1"},
    {"ssl.keystore.password": "a"},
    {"ssl.client.auth": "required"},
    {"ssl.client.auth": "no such"},
    {"listeners": "PLAINTEXT://:1"},
    {"listeners": ""},
    {"cordoned.log.dirs": "/a"},
    {"sasl.jaas.config": "a"},
    {"max.connections": "1"},
    {"listener.name.x.ssl.keystore.password": "a"},
    {"listener.name.x.max.connections": "1"},
    {"listener.name.x.max.connections": "x"},
    {"listener.name.x.num.network.threads": "0"},
    {"listener.name.x.plain.sasl.jaas.config": "a"},
    {"listener.name.x.node.id": "x"},
    {"leader.replication.throttled.rate": "-1"},
    {"min.insync.replicas": "0"},
    {"log.retention.ms": "5"},
    {"log.retention.hours": "5"},
)


@pytest.mark.parametrize("one", [True, False], ids=["one broker", "all brokers"])
def test_a_broker_takes_what_a_broker_of_kafka_takes(one: bool) -> None:
    answers = ask(f"dynamic {str(one).lower()} {pairs(wanted)}" for wanted in DYNAMIC)
    for wanted, (outcome, *theirs) in zip(DYNAMIC, answers, strict=True):
        mine, why = verdict(partial(check_broker, wanted, one))
        assert (mine, wanted) == (outcome, wanted), (why, theirs)
