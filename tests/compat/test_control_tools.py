"""Apache Kafka's tools on two clusters that differ in nothing but who their controller is.

Every command is given to both, Kafka's controller and ours, each with three brokers of Kafka's;
what it prints has to be the same, and what it is refused with the same error.  Words of errors are
our own.  Tools that can ask controllers directly do that as well.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.value import value
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.compat.asker import ask
from tests.compat.clusters import BROKERS, Cluster
from tests.compat.controllers import Controllers, eventually
from tests.compat.kafka_node import Node, free_port
from tests.compat.kafka_tools import ToolFailed, tool
from tests.compat.our_node import OurNode

T = TypeVar("T")

KINDS: Final[tuple[type[Node], ...]] = (Node, OurNode)

AUTHORIZED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}

# What cannot be the same: ports, ids of topics and directories, paths, epochs, times, offsets.
OWN: Final = (
    (re.compile(r"127\.0\.0\.1(:| +)\d+"), r"HOST"),
    (re.compile(r"TopicId: \S{22}"), "TopicId"),
    (re.compile(r'"/[^"]+/logs"'), '"LOGS"'),
    (re.compile(r"Epoch: \d+"), "Epoch"),
    (re.compile(r"\b\d{13}\b"), "TIME"),
    (re.compile(r"\s+"), " "),
)

# Some tools tell only their log which error it was.
TELLING: Final = ("-Dlog4j2.level=ERROR",)

UNORDERED: Final = ("acls", "configs")
"""Tools that print in an order that nobody chose."""

ERROR: Final = re.compile(r"\berrors\.(\w+Exception)")


@value
class Said:
    """What a tool has said, without what cannot be the same."""

    lines: tuple[str, ...]
    errors: tuple[str, ...] = ()

    def __contains__(self, words: str) -> bool:
        return any(words in line for line in self.lines)


def said(name: str, *words: str) -> Said:
    """Run a tool."""
    try:
        return Said(normal(tool(name, *words, options=TELLING)))
    except ToolFailed as failed:
        errors = tuple(dict.fromkeys(ERROR.findall(str(failed))))
        return Said((), errors or ("refused",))


def normal(text: str) -> tuple[str, ...]:
    """Return the lines of a text without what is a cluster's own."""
    lines = []
    for line in text.splitlines():
        told = line
        for pattern, instead in OWN:
            told = pattern.sub(instead, told)
        lines.append(told.strip())
    return tuple(line for line in lines if line)


def words_of(told: Said) -> list[list[str]]:
    """Return the words that were said, in an order of their own."""
    return sorted(sorted(word.strip(",{}") for word in line.split()) for line in told.lines)


class Twins:
    """The two clusters."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self.clusters: Final = clusters

    def each(self, act: Callable[[Cluster], T]) -> list[T]:
        """Do the same with both, side by side."""
        with ThreadPoolExecutor(len(self.clusters)) as pool:
            return list(pool.map(act, self.clusters))

    def __call__(self, name: str, *words: str) -> Said:
        """Give a command to both through their brokers; return what both say."""
        return self._same(name, words, lambda it: ("--bootstrap-server", it.bootstrap))

    def directly(self, name: str, *words: str) -> Said:
        """Give a command to both controllers; return what both say."""
        return self._same(
            name, words, lambda it: ("--bootstrap-controller", it.controllers.bootstrap)
        )

    def _same(
        self, name: str, words: Sequence[str], where: Callable[[Cluster], tuple[str, str]]
    ) -> Said:
        # Argparse wants the subcommand first, and takes the address behind it.
        first = words[:1] if name == "cluster" else ()
        rest = words[len(first) :]
        theirs, ours = self.each(lambda it: said(name, *first, *where(it), *rest))
        if name in UNORDERED:
            assert ours.errors == theirs.errors, f"kafka-{name} {' '.join(words)}"
            assert words_of(ours) == words_of(theirs), f"kafka-{name} {' '.join(words)}"
        else:
            assert ours == theirs, f"kafka-{name} {' '.join(words)}"
        return ours


@pytest.fixture(scope="module")
def twins() -> Iterator[Twins]:
    """A controller of Kafka's and one of ours, with three brokers each."""
    with TemporaryDirectory() as place, ExitStack() as stack:
        made = [
            Cluster(Path(place) / kind.__name__, [kind], brokers=3, settings=AUTHORIZED)
            for kind in KINDS
        ]
        with ThreadPoolExecutor(len(made)) as pool:
            yield Twins(list(pool.map(stack.enter_context, made)))


def create(twins: Twins, topic: str, assignment: str, *configs: str) -> None:
    """Create a topic with its replicas where they shall be."""
    words = [word for config in configs for word in ("--config", config)]
    told = twins("topics", "--create", "--topic", topic, "--replica-assignment", assignment, *words)
    assert f"Created topic {topic}." in told
    twins.each(lambda it: it.until_in_sync(topic))


def written(place: Path, content: object) -> str:
    """Write a file for a tool and return where."""
    place.write_text(json.dumps(content))
    return str(place)


# --- topics ---------------------------------------------------------------------------------------


def test_topics_are_created_described_grown_and_deleted(twins: Twins) -> None:
    create(twins, "grown", "11:12:13,12:13:11", "min.insync.replicas=2", "retention.ms=600000")
    describe = ["--describe", "--topic", "grown"]
    assert "Partition: 1 Leader: 12 Replicas: 12,13,11 Isr: 12,13,11" in twins("topics", *describe)
    more = ["--alter", "--topic", "grown", "--partitions", "3"]
    twins("topics", *more, "--replica-assignment", "11:12:13,12:13:11,13:11:12")
    twins.each(lambda it: eventually(lambda: 2 in it.partitions("grown") or None, "partition 2"))
    assert "Partition: 2 Leader: 13 Replicas: 13,11,12" in twins("topics", *describe)
    assert "grown" in twins("topics", "--list")
    twins("topics", "--delete", "--topic", "grown")
    twins.each(lambda it: eventually(lambda: not it.partitions("grown") or None, "no topic"))
    assert "grown" not in twins("topics", "--list")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--topic", "new", "--partitions", "1", "--replication-factor", "4"], "Replication"),
        (["--topic", "new", "--replica-assignment", "11:99"], "InvalidReplicaAssignment"),
        (["--topic", "a/b", "--partitions", "1"], "InvalidTopic"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_cannot_be_created_is_refused_alike(
    twins: Twins, words: list[str], error: str
) -> None:
    (refused, *_) = twins("topics", "--create", *words).errors
    assert error in refused


def wanted(name: str = "new", **fields: object) -> CreateTopicsRequest.CreatableTopic:
    """Return a topic of one partition, but for what is said."""
    usual: dict[str, Any] = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return CreateTopicsRequest.CreatableTopic(**{**usual, **fields})


def assigned(*partitions: tuple[int, Sequence[int]]) -> dict[str, Any]:
    """Return what a topic has whose replicas are told."""
    replicas = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=each)
        for index, each in partitions
    ]
    return {"num_partitions": -1, "replication_factor": -1, "assignments": replicas}


def set_to(name: str, text: str | None) -> dict[str, Any]:
    """Return what a topic has with a config of its own."""
    return {"configs": [CreateTopicsRequest.CreatableTopicConfig(name=name, value=text)]}


WRONG: Final = {
    "no partitions": wanted(num_partitions=0),
    "fewer than none": wanted(num_partitions=-2),
    "no replicas": wanted(replication_factor=0),
    "more replicas than brokers": wanted(replication_factor=4),
    "no name": wanted(""),
    "a name of dots": wanted(".."),
    "a long name": wanted("n" * 250),
    "a name with a slash": wanted("a/b"),
    "the metadata itself": wanted("__cluster_metadata"),
    "an assignment and numbers": wanted(assignments=assigned((0, [11]))["assignments"]),
    "twice the same broker": wanted(**assigned((0, [11, 11]))),
    "nobody": wanted(**assigned((0, []))),
    "an unknown broker": wanted(**assigned((0, [99]))),
    "numbers of replicas that differ": wanted(**assigned((0, [11]), (1, [11, 12]))),
    "a gap": wanted(**assigned((0, [11]), (2, [11]))),
    "twice the same partition": wanted(**assigned((0, [11]), (0, [12]))),
    "no number": wanted(**set_to("segment.bytes", "x")),
    "too small a number": wanted(**set_to("segment.bytes", "1")),
    "nothing as a value": wanted(**set_to("segment.bytes", None)),
    "a config that nobody knows": wanted(**set_to("no.such.config", "1")),
    "an unknown word": wanted(**set_to("cleanup.policy", "burn")),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_tool_would_ask_for_is_refused_with_the_same_code(twins: Twins, wrong: str) -> None:
    def code(cluster: Cluster) -> ErrorCode:
        request = CreateTopicsRequest(topics=[WRONG[wrong]], timeout_ms=30_000)
        told = ask(cluster.brokers[12].bootstrap, request)
        assert isinstance(told, CreateTopicsResponse)
        (result,) = told.topics
        return ErrorCode(result.error_code)

    theirs, ours = twins.each(code)
    assert theirs is not ErrorCode.NONE
    assert ours is theirs


def test_what_cannot_be_changed_of_a_topic_is_refused_alike(twins: Twins) -> None:
    create(twins, "there", "11:12,12:13")
    assert twins("topics", "--create", "--topic", "there", "--partitions", "1").errors
    assert twins("topics", "--create", "--topic", "there", "--if-not-exists").errors == ()
    assert twins("topics", "--alter", "--topic", "there", "--partitions", "1").errors
    assert twins("topics", "--delete", "--topic", "not-there").errors
    assert twins("topics", "--describe", "--topic", "not-there").errors


# --- configs --------------------------------------------------------------------------------------


def test_configs_of_topics_are_set_appended_removed_and_told(twins: Twins) -> None:
    create(twins, "configured", "11:12:13")
    entity = ["--entity-type", "topics", "--entity-name", "configured"]
    values = "retention.ms=1000000,cleanup.policy=[compact,delete],min.insync.replicas=2"
    assert "Completed" in twins("configs", "--alter", *entity, "--add-config", values)
    told = twins("configs", "--describe", *entity)
    assert "cleanup.policy=compact,delete sensitive=false" in told
    twins("configs", "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms=1000000" not in twins("configs", "--describe", *entity)
    everything = twins("configs", "--describe", "--all", *entity)
    assert len(everything.lines) > 20
    refused = twins("configs", "--alter", *entity, "--add-config", "min.insync.replicas=0")
    assert refused.errors == ("InvalidConfigurationException",)


def test_configs_of_brokers_and_of_all_of_them(twins: Twins) -> None:
    one = ["--entity-type", "brokers", "--entity-name", "11"]
    everyone = ["--entity-type", "brokers", "--entity-default"]
    twins("configs", "--alter", *one, "--add-config", "log.cleaner.threads=2")
    twins("configs", "--alter", *everyone, "--add-config", "log.retention.ms=100000000")
    told = twins("configs", "--describe", *one)
    assert "log.cleaner.threads=2" in told
    assert "log.retention.ms=100000000" in twins("configs", "--describe", *everyone)
    # Read-only, and a number that is none.
    assert twins("configs", "--alter", *one, "--add-config", "broker.rack=r").errors
    assert twins("configs", "--alter", *one, "--add-config", "log.cleaner.threads=many").errors
    twins("configs", "--alter", *one, "--delete-config", "log.cleaner.threads")
    twins("configs", "--alter", *everyone, "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in twins("configs", "--describe", *everyone)


def test_configs_are_asked_of_and_given_to_a_controller_directly(twins: Twins) -> None:
    everyone = ["--entity-type", "brokers", "--entity-default"]
    itself = ["--entity-type", "brokers", "--entity-name", "1"]
    twins.directly("configs", "--alter", *everyone, "--add-config", "log.retention.ms=200000000")
    assert "log.retention.ms=200000000" in twins.directly("configs", "--describe", *everyone)
    twins.directly("configs", "--alter", *itself, "--add-config", "max.connections=5000")
    assert "max.connections=5000" in twins.directly("configs", "--describe", *itself)
    twins.directly("configs", "--alter", *everyone, "--delete-config", "log.retention.ms")
    twins.directly("configs", "--alter", *itself, "--delete-config", "max.connections")


def test_quotas_of_clients(twins: Twins) -> None:
    pair = ["--entity-type", "users", "--entity-name", "ann"]
    pair += ["--entity-type", "clients", "--entity-default"]
    values = "producer_byte_rate=1024,request_percentage=20"
    twins("configs", "--alter", *pair, "--add-config", values)
    assert "producer_byte_rate=1024.0" in twins("configs", "--describe", *pair)
    twins("configs", "--alter", *pair, "--delete-config", "request_percentage")
    assert "request_percentage" not in twins("configs", "--describe", *pair)
    assert twins("configs", "--alter", *pair, "--add-config", "no_such_rate=1").errors
    user = ["--entity-type", "users", "--entity-name", "bob"]
    assert twins("configs", "--alter", *user, "--add-config", "producer_byte_rate=-1").errors


def test_credentials_of_users(twins: Twins) -> None:
    user = ["--entity-type", "users", "--entity-name", "cyd"]
    for mechanism, iterations in (("SCRAM-SHA-256", 8192), ("SCRAM-SHA-512", 4096)):
        credential = f"{mechanism}=[iterations={iterations},password=secret]"
        twins("configs", "--alter", *user, "--add-config", credential)
    assert "SCRAM-SHA-256=iterations=8192" in twins("configs", "--describe", *user)
    twins("configs", "--alter", *user, "--delete-config", "SCRAM-SHA-256")
    assert "SCRAM-SHA-256" not in twins("configs", "--describe", *user)
    assert twins("configs", "--alter", *user, "--delete-config", "SCRAM-SHA-256").errors
    few = "SCRAM-SHA-256=[iterations=100,password=secret]"
    assert twins("configs", "--alter", *user, "--add-config", few).errors


# --- rules ----------------------------------------------------------------------------------------


def test_rules_are_added_listed_and_removed(twins: Twins) -> None:
    rule = ["--allow-principal", "User:ann", "--operation", "Read", "--topic", "orders"]
    prefixed = ["--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--group", "g"]
    assert "Adding ACLs" in twins("acls", "--add", *rule)
    twins.directly("acls", "--add", *prefixed, "--resource-pattern-type", "prefixed")
    for told in (twins("acls", "--list"), twins.directly("acls", "--list")):
        assert "principal=User:ann, host=*, operation=READ, permissionType=ALLOW" in told
        assert "principal=User:bob, host=10.0.0.1, operation=ALL, permissionType=DENY" in told
    twins("acls", "--remove", "--force", *rule)
    assert "User:ann" not in twins.directly("acls", "--list")
    twins.directly("acls", "--remove", "--force", "--group", "g", "--resource-pattern-type", "any")
    assert "User:bob" not in twins("acls", "--list")


def test_rules_are_refused_where_nobody_would_mind_them(tmp_path: Path) -> None:
    for kind in KINDS:
        with Controllers(tmp_path / kind.__name__, [kind]) as quorum:
            asked = ["--bootstrap-controller", quorum.bootstrap]
            assert said("acls", *asked, "--list").errors == ("SecurityDisabledException",)


# --- features, quorum, brokers --------------------------------------------------------------------


def test_levels_of_features_are_told_and_moved(twins: Twins) -> None:
    told = twins("features", "describe")
    assert "Feature: metadata.version" in told
    assert twins.directly("features", "describe") == told
    elr = "eligible.leader.replicas.version"
    assert twins("features", "upgrade", "--release-version", "4.3-IV0").errors == ()
    down = twins.directly("features", "downgrade", "--feature", f"{elr}=0")
    assert f"{elr} was downgraded to 0." in down
    up = twins("features", "upgrade", "--feature", f"{elr}=1", "--dry-run")
    assert f"{elr} can be upgraded to 1." in up
    assert f"{elr} was upgraded to 1." in twins("features", "upgrade", "--feature", f"{elr}=1")
    # Not below what is in use, not above what there is, and nothing that nobody knows.
    for move, feature in (
        ("downgrade", "metadata.version=20"),
        ("upgrade", "metadata.version=99"),
        ("upgrade", "no.such.feature=1"),
    ):
        assert twins("features", move, "--feature", feature).errors == ("refused",)


def test_the_quorum_and_the_brokers_are_told(twins: Twins) -> None:
    for put in (twins, twins.directly):
        assert "HighWatermark" not in put("cluster", "cluster-id")
        endpoints = put("cluster", "list-endpoints")
        assert "HOST" in endpoints
    fenced_too = twins("cluster", "list-endpoints", "--include-fenced-brokers")
    assert sum("unfenced" in line for line in fenced_too.lines) == 3
    for cluster in twins.clusters:
        status = cluster.kafka("metadata-quorum", "describe", "--status")
        assert re.search(r"LeaderId: +1\n", status)
        assert len(re.findall(r'"id": 1[123]', status)) == 3


# --- leaders and replicas -------------------------------------------------------------------------


def restarted(twins: Twins, broker_id: int) -> None:
    """Restart a broker of both, so that it leads no longer."""

    def restart(cluster: Cluster) -> None:
        cluster.brokers[broker_id].stop()
        cluster.brokers[broker_id].start()
        cluster.until_unfenced(broker_id)

    twins.each(restart)


def move(cluster: Cluster, topic: str, index: int, replicas: list[int]) -> None:
    """Ask a broker for a partition to be moved, whoever is away."""
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition(
        partition_index=index, replicas=replicas
    )
    moved = AlterPartitionReassignmentsRequest.ReassignableTopic(name=topic, partitions=[partition])
    request = AlterPartitionReassignmentsRequest(topics=[moved])
    told = ask(cluster.brokers[12].bootstrap, request)
    assert isinstance(told, AlterPartitionReassignmentsResponse)
    assert told.error_code == told.responses[0].partitions[0].error_code == ErrorCode.NONE


def test_replicas_are_moved_and_moves_called_off(twins: Twins, tmp_path: Path) -> None:
    create(twins, "moved", "11:12,12:13")

    def plan(name: str, *replicas: list[int]) -> list[str]:
        partitions = [
            {"topic": "moved", "partition": index, "replicas": each}
            for index, each in enumerate(replicas)
        ]
        content = {"version": 1, "partitions": partitions}
        return ["--reassignment-json-file", written(tmp_path / name, content)]

    there = plan("there", [12, 13], [13, 11])
    assert "Successfully started" in twins("reassign-partitions", "--execute", *there)

    def done(cluster: Cluster) -> bool | None:
        found = cluster.partitions("moved")
        replicas = [set(found[index].replica_nodes) for index in (0, 1)]
        return True if replicas == [{12, 13}, {13, 11}] else None

    twins.each(lambda it: eventually(lambda: done(it), "moved"))
    assert "Reassignment of partition moved-1 is completed." in twins(
        "reassign-partitions", "--verify", *there
    )
    assert "Leader: 12 Replicas: 12,13" in twins("topics", "--describe", "--topic", "moved")

    # To one that is away nothing can be moved, which the tool does not even ask for.
    twins.each(lambda it: it.brokers[11].stop())
    on = plan("on", [12, 11], [13, 11])
    assert twins("reassign-partitions", "--execute", *on).errors
    twins.each(lambda it: move(it, "moved", 0, [12, 11]))
    for put in (twins, twins.directly):
        assert "moved-0: replicas: 12,11,13. adding: 11. removing: 13." in put(
            "reassign-partitions", "--list"
        )
    assert "moved-0 is still in progress" in twins("reassign-partitions", "--verify", *on)
    twins("reassign-partitions", "--cancel", *on)
    assert "No partition reassignments found." in twins("reassign-partitions", "--list")
    twins.each(lambda it: it.brokers[11].start())
    twins.each(lambda it: it.until_unfenced(11))
    twins.each(lambda it: it.until_in_sync("moved"))
    nowhere = plan("nowhere", [99])
    assert twins("reassign-partitions", "--execute", *nowhere).errors


def test_leaders_are_elected_preferred_and_unclean(twins: Twins, tmp_path: Path) -> None:
    create(twins, "elected", "11:12,12:11", "min.insync.replicas=1")
    partitions = [{"topic": "elected", "partition": index} for index in (0, 1)]
    these = ["--path-to-json-file", written(tmp_path / "these", {"partitions": partitions})]
    election = ["--election-type"]
    restarted(twins, 11)
    twins.each(lambda it: it.until_in_sync("elected"))
    told = twins("leader-election", *election, "preferred", *these)
    assert "Successfully completed leader election (PREFERRED)" in told
    told = twins("leader-election", *election, "preferred", *these)
    assert "Valid replica already elected" in told

    # Both leave, 12 last; whoever comes back first has not got everything.
    twins.each(lambda it: it.brokers[11].stop())
    twins.each(lambda it: it.brokers[12].stop())
    twins.each(lambda it: it.brokers[11].start())
    twins.each(lambda it: it.until_unfenced(11))
    assert "Leader: none" in twins("topics", "--describe", "--topic", "elected")
    assert twins("leader-election", *election, "preferred", *these).errors
    told = twins("leader-election", *election, "unclean", *these)
    assert "Successfully completed leader election (UNCLEAN)" in told
    assert "Leader: 11" in twins("topics", "--describe", "--topic", "elected")
    twins.each(lambda it: it.brokers[12].start())
    twins.each(lambda it: it.until_unfenced(12))


def test_a_broker_that_left_is_forgotten(twins: Twins) -> None:
    assert twins("cluster", "unregister", "--id", "99").errors
    twins.each(lambda it: it.brokers[13].stop())
    with_fenced = ["list-endpoints", "--include-fenced-brokers"]
    assert "13 HOST null fenced" in twins("cluster", *with_fenced)
    twins("cluster", "unregister", "--id", "13")
    twins.each(
        lambda it: eventually(lambda: 13 not in it.fenced(beside=13) or None, "13 forgotten")
    )
    assert "13 HOST" not in twins("cluster", *with_fenced)


# --- tokens ---------------------------------------------------------------------------------------

PROVED: Final = "SASL"
JAAS: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
TOKENS: Final = {"delegation.token.secret.key": "a secret of the cluster"}
PASSWORDS: Final = {
    "listener.security.protocol.map": (
        f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{PROVED}:SASL_PLAINTEXT"
    ),
    "sasl.enabled.mechanisms": "PLAIN",
    f"listener.name.{PROVED.lower()}.plain.sasl.jaas.config": f'{JAAS} user_ann="secret";',
}
CLIENT: Final = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{JAAS} username="ann" password="secret";',
}


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_made_renewed_and_ended(tmp_path: Path, kind: type[Node]) -> None:
    """The same of either controller; what is random in it cannot be compared."""
    cluster = Cluster(tmp_path, [kind], brokers=1, settings=TOKENS)
    (broker,) = cluster.brokers.values()
    proved = f"127.0.0.1:{free_port()}"
    listeners = f"PLAINTEXT://{broker.bootstrap},{PROVED}://{proved}"
    where = {"controller.quorum.bootstrap.servers": cluster.controllers.bootstrap}
    broker.configure({**BROKERS, **TOKENS, **PASSWORDS, **where, "listeners": listeners})
    client = tmp_path / "client.properties"
    client.write_text("".join(f"{name}={text}\n" for name, text in CLIENT.items()))

    def tokens(*words: str) -> str:
        return tool(
            "delegation-tokens", "--bootstrap-server", proved, "--command-config", str(client),
            *words,
        )  # fmt: skip

    def columns(printed: str) -> list[str]:
        *_, line = (line for line in printed.splitlines() if "User:ann" in line)
        return line.split()

    with cluster:
        shown_to = ["--describe", "--owner-principal", "User:ann"]
        made = columns(
            tokens("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
        )
        token_id, hmac, owner, requester, renewers = made[:5]
        assert (owner, requester, renewers) == ("User:ann", "User:ann", "[User:bob]")
        shown = eventually(
            lambda: told if token_id in (told := tokens(*shown_to)) else None, "the token"
        )
        assert columns(shown)[:2] == [token_id, hmac]
        assert "Completed renew operation" in tokens(
            "--renew", "--renew-time-period", "-1", "--hmac", hmac
        )
        with pytest.raises(ToolFailed, match="DelegationTokenNotFoundException"):
            tokens("--renew", "--renew-time-period", "-1", "--hmac", "AAAA")
        tokens("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
        eventually(lambda: token_id not in tokens(*shown_to) or None, "no token")
