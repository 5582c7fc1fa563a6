"""A life of a cluster of Apache Kafka's in which everything that metadata can say is said.

    with Story(place) as story:
        story.tell()
        story.chapters["quotas"]        the offset behind the records of that chapter

Node 1 is broker and controller, node 2 a broker with two directories.  Whatever happens to them is
done as operators do it, with Kafka's own tools and with signals.  Each chapter ends at a batch of
records, since Kafka's shell cannot be shown a log that ends with one of the quorum's own.

An observer of ours follows from the beginning, and so does a node of ours that writes snapshots.
Another observer comes in the middle, when there is a snapshot to begin with.
"""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.records.batch import batches
from tests.compat.controllers import QUIET, describe, eventually
from tests.compat.kafka_node import CLUSTER_ID, Node, free_port
from tests.compat.kafka_tools import tool
from tests.compat.observer import Observer
from tests.compat.our_node import OurNode, barnabas

RELEASE_TO_BEGIN_WITH: Final = "4.0"

SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
ADMIN: Final = "admin"
SECRET: Final = "admin-secret"

# How Kafka's and our snapshots come often.
SNAPSHOTS: Final = {"metadata.log.max.record.bytes.between.snapshots": "3000"}

SETTINGS: Final = {
    **QUIET,
    **SNAPSHOTS,
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{ADMIN}",
    "delegation.token.secret.key": "a secret of the cluster",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
    ),
}

OURS: Final = 7
OBSERVER: Final = 8
LATECOMER: Final = 9
COMES_BEFORE: Final = "loss_and_return"


Told = dict[str, Any]


class Story:
    """The cluster, who watches it, and what was done to it until when."""

    def __init__(self, place: Path) -> None:
        self.place: Final = place
        self.chapters: Final[dict[str, int]] = {}
        """The chapters that were told, each with the offset of its last record."""
        self.told_alive: Final[dict[str, Told]] = {}
        """What our command has told at the end, while everything was still at work."""
        self.first: Final = Node(place / "node-1", 1, "broker,controller")
        self.second: Final = Node(place / "node-2", 2, "broker")
        self.ours: Final = OurNode(place / "node-7", OURS, "controller")
        self._sasl: Final = f"127.0.0.1:{free_port()}"
        self._client: Final = place / "admin.properties"
        settings = {**SETTINGS, "controller.quorum.bootstrap.servers": self.first.controller}
        plain, own = f"PLAINTEXT://{self.first.bootstrap}", f"CONTROLLER://{self.first.controller}"
        listeners = {"listeners": f"{plain},{own},SASL://{self._sasl}"}
        self.first.configure({**settings, **listeners})
        self.first.format("--standalone", "--release-version", RELEASE_TO_BEGIN_WITH)
        both = f"{self.directory('a')},{self.directory('b')}"
        self.second.configure({**settings, "log.dirs": both})
        self.second.format("--no-initial-controllers")
        self.ours.configure({**settings, "listener.security.protocol.map": "CONTROLLER:PLAINTEXT"})
        self.ours.format("--no-initial-controllers")
        self._client.write_text(
            "security.protocol=SASL_PLAINTEXT\n"
            "sasl.mechanism=SCRAM-SHA-256\n"
            f'sasl.jaas.config={SCRAM} username="{ADMIN}" password="{SECRET}";\n'
        )
        self.observer: Final = self._another(OBSERVER)
        self.latecomer: Final = self._another(LATECOMER)

    def __enter__(self) -> "Story":
        self.first.start()
        self.second.start()
        self.ours.start()
        self.observer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for observer in (self.observer, self.latecomer):
                observer.stop()
        finally:
            for node in (self.ours, self.second, self.first):
                node.kill()

    def _another(self, node_id: int) -> Observer:
        place = self.place / f"observer-{node_id}"
        return Observer(place, node_id, CLUSTER_ID, [self.first.controller])

    def directory(self, name: str) -> Path:
        """Return one of the directories of node 2."""
        return self.second.place / name

    # --- how it is told --------------------------------------------------------------------------

    def tell(self) -> None:
        """Let everything happen."""
        for name, chapter in CHAPTERS.items():
            if name == COMES_BEFORE:
                self.latecomer.start()
            chapter(self)
            self.chapters[name] = self.end_offset() - 1
        self.latecomer.caught_up(self.chapters[name] + 1)
        controllers, alive = self.first.controller, self.first.logs
        self.told_alive["quorum"] = looked("--bootstrap-controller", controllers, "image")
        self.told_alive["directory"] = looked("--directory", str(alive), "image")

    def end_offset(self) -> int:
        """Return the offset behind the last record that is committed, and not the quorum's own."""
        end_offset = eventually(lambda: describe(self.first), "a leader").high_watermark
        self.observer.caught_up(end_offset)
        return max(
            header.next_offset
            for _, header in batches(self.log.read_bytes())
            if header.next_offset <= end_offset and not header.is_control
        )

    @property
    def log(self) -> Path:
        """The only segment of the controller's log."""
        return self.first.metadata / f"{'0' * 20}.log"

    @property
    def now(self) -> MetadataImage:
        """What our observer knows."""
        images = self.observer.images
        return images[max(images)] if images else EMPTY

    def snapshots(self, node: Node) -> list[Path]:
        """Return the snapshots of a node, without the one that it was formatted with."""
        found = sorted(node.metadata.glob("*.checkpoint"))
        return [path for path in found if not path.name.startswith("0" * 20)]

    def until(self, look: Callable[[MetadataImage], object], what: str) -> None:
        """Wait until an image says what was waited for."""
        eventually(lambda: bool(look(self.now)) or None, what)

    def run(self, name: str, *words: str, typed: str = "") -> str:
        """Run a tool on the cluster."""
        return tool(name, "--bootstrap-server", self.first.bootstrap, *words, typed=typed)

    def configure(self, kind: str, name: str, *words: str) -> None:
        """Change the configs of something; without a name, those of all that have none."""
        which = ("--entity-name", name) if name else ("--entity-default",)
        self.run("configs", "--alter", "--entity-type", kind, *which, *words)

    def acl(self, change: str, *words: str) -> None:
        """Add or remove a rule."""
        self.run("acls", change, *words, *(["--force"] if change == "--remove" else []))

    def token(self, *words: str) -> str:
        """Do something with delegation tokens, as somebody who has proved who they are."""
        client = ["--bootstrap-server", self._sasl, "--command-config", str(self._client)]
        return tool("delegation-tokens", *client, *words)

    def reassign(self, *moves: tuple[str, int, Sequence[int], Sequence[str]]) -> None:
        """Move partitions: topic, number, replicas, and the directory of each, or "any"."""
        plan = self.place / "plan.json"
        partitions = [
            {"topic": topic, "partition": number, "replicas": replicas, "log_dirs": places}
            for topic, number, replicas, places in moves
        ]
        plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
        self.run("reassign-partitions", "--reassignment-json-file", str(plan), "--execute")


def looked(*words: str) -> Told:
    """Return what ``barnabas metadata`` tells."""
    command = barnabas("metadata", "--json", "--secrets", *words)
    told: Told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return told


# --- the chapters ---------------------------------------------------------------------------------


def brokers(story: Story) -> None:
    """Both brokers come, and are let in."""
    story.until(
        lambda image: (
            image.cluster.brokers.keys() == {1, 2}
            and not any(broker.fenced for broker in image.cluster.brokers.values())
        ),
        "two brokers",
    )


def topics(story: Story) -> None:
    """Topics are created, grow, go, and one comes back with the same name and another id."""
    create = ("topics", "--create", "--topic")
    story.run(*create, "orders", "--partitions", "4", "--replication-factor", "2")
    story.run(*create, "clicks", "--partitions", "1", "--replication-factor", "1")
    story.run(*create, "payments.of_all-kinds", "--replica-assignment", "1:2,2:1,1:2")
    story.run("topics", "--alter", "--topic", "clicks", "--partitions", "3")
    story.run("topics", "--delete", "--topic", "clicks")
    story.run(*create, "clicks", "--partitions", "2", "--replication-factor", "2")


def traffic(story: Story) -> None:
    """Somebody writes, and is given a producer id; somebody reads, and there are groups."""
    story.run("console-producer", "--topic", "orders", typed="one\ntwo\n")
    words = ("--topic", "orders", "--from-beginning", "--max-messages", "2", "--group", "readers")
    assert story.run("console-consumer", *words).split() == ["one", "two"]


def configs(story: Story) -> None:
    """Everything that can be configured is, and some of it is taken back."""
    set_orders = "cleanup.policy=[compact,delete],retention.ms=1000000,min.insync.replicas=2"
    story.configure("topics", "orders", "--add-config", set_orders)
    story.configure("topics", "clicks", "--add-config", "compression.type=zstd")
    story.configure("topics", "orders", "--delete-config", "retention.ms")
    story.configure("topics", "clicks", "--delete-config", "compression.type")
    story.configure("brokers", "2", "--add-config", "log.cleaner.threads=2")
    story.configure("brokers", "", "--add-config", "log.retention.ms=99999999")
    story.configure("brokers", "", "--add-config", "log.retention.ms=88888888")
    story.configure("groups", "readers", "--add-config", "consumer.session.timeout.ms=50000")
    story.configure("client-metrics", "all", "--add-config", "interval.ms=5000,metrics=[]")


def quotas(story: Story) -> None:
    """Users, clients and addresses are limited, alone, together and all that are not named."""
    rate = "producer_byte_rate=1024,consumer_byte_rate=20971520"
    story.configure("users", "alice", "--add-config", rate)
    story.configure("users", "Łucja (a \\ b)", "--add-config", "request_percentage=12.5")
    story.configure("clients", "loader", "--add-config", "controller_mutation_rate=0.001")
    story.configure("ips", "127.0.0.9", "--add-config", "connection_creation_rate=10")
    story.configure("users", "", "--add-config", "producer_byte_rate=123456789012")
    pair = ("--entity-type", "clients", "--entity-name", "loader")
    story.configure("users", "alice", *pair, "--add-config", "consumer_byte_rate=7")
    story.configure("users", "alice", "--delete-config", "producer_byte_rate")
    story.configure("clients", "loader", "--delete-config", "controller_mutation_rate")


def acls(story: Story) -> None:
    """Rules are made and unmade."""
    story.acl("--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "*")
    story.acl(
        *("--add", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1"),
        *("--operation", "All", "--topic", "pay", "--resource-pattern-type", "prefixed"),
    )
    story.acl("--add", "--allow-principal", "User:carol", "--producer", "--topic", "orders")
    story.acl(
        *("--add", "--allow-principal", "User:carol", "--operation", "IdempotentWrite"),
        *("--operation", "AlterConfigs", "--cluster"),
    )
    story.acl(
        *("--add", "--allow-principal", "User:dan", "--operation", "Describe"),
        *("--transactional-id", "tx", "--group", "readers", "--delegation-token", "id"),
    )
    story.acl("--remove", "--allow-principal", "User:carol", "--producer", "--topic", "orders")


def credentials(story: Story) -> None:
    """Users get credentials, change them and lose them."""
    own = f"SCRAM-SHA-256=[iterations=4096,password={SECRET}]"
    story.configure("users", ADMIN, "--add-config", own)
    for password in (
        "SCRAM-SHA-256=[password=one]",
        "SCRAM-SHA-512=[iterations=5000,password=two]",
        "SCRAM-SHA-256=[password=three]",
    ):
        story.configure("users", "alice", "--add-config", password)
    story.configure("users", "bob", "--add-config", "SCRAM-SHA-512=[password=four]")
    story.configure("users", "alice", "--delete-config", "SCRAM-SHA-512")


def tokens(story: Story) -> None:
    """Delegation tokens are given out, renewed, and expire."""
    forever = ("--create", "--max-life-time-period", "-1")
    told = story.token(*forever, "--renewer-principal", "User:alice")
    renewed = hmac_in(told)
    for_bob = ("--owner-principal", "User:bob", "--renewer-principal", f"User:{ADMIN}")
    expired = hmac_in(story.token(*forever, *for_bob))
    story.token("--renew", "--renew-time-period", "3600000", "--hmac", renewed)
    story.token("--expire", "--expiry-time-period", "-1", "--hmac", expired)
    two = ("--renewer-principal", "User:alice", "--renewer-principal", "User:carol")
    story.token("--create", "--max-life-time-period", "7200000", *two)


def hmac_in(printed: str) -> str:
    """Return the secret of the token that a tool has printed."""
    found = re.search(r"[A-Za-z0-9+/]{80,}={0,2}", printed)
    assert found, printed
    return found[0]


def upgrade(story: Story) -> None:
    """The levels rise, one release after the other, and one that said nothing falls again."""
    story.run("features", "upgrade", "--release-version", "4.1")
    story.run("features", "upgrade", "--metadata", "4.2-IV0")
    story.run("features", "downgrade", "--metadata", "4.1-IV1")
    story.run("features", "upgrade", "--release-version", "4.3")


def loss_and_return(story: Story) -> None:
    """Node 2 is killed: it is fenced, loses what it led, and is eligible for it; it comes back."""
    story.second.kill()
    story.until(lambda image: image.cluster.brokers[2].fenced, "a fenced broker")
    story.until(lambda image: led_by(image, 2) == 0, "a partition without node 2")
    story.second.start()
    story.until(lambda image: not image.cluster.brokers[2].fenced, "a broker that is back")
    story.until(everybody_in_sync, "replicas in sync")


def led_by(image: MetadataImage, broker: int) -> int:
    """Return how many partitions a broker leads."""
    topics = image.topics.topics.values()
    return sum(each.leader == broker for topic in topics for _, each in topic.partitions())


def everybody_in_sync(image: MetadataImage) -> bool:
    """Tell whether all replicas of all partitions are in sync."""
    return all(
        set(partition.isr) == set(partition.replicas)
        for topic in image.topics.topics.values()
        for _, partition in topic.partitions()
    )


def shutdown(story: Story) -> None:
    """Node 2 is stopped in good order, hands over what it leads, and starts again."""
    story.second.stop()
    story.until(lambda image: image.cluster.brokers[2].fenced, "a broker that has left")
    story.second.start()
    story.until(lambda image: not image.cluster.brokers[2].fenced, "a broker that is back")
    story.until(everybody_in_sync, "replicas in sync")
    words = ("--election-type", "preferred", "--all-topic-partitions")
    story.run("leader-election", *words)


def moves(story: Story) -> None:
    """Partitions are moved to other brokers, and to other directories of the same."""
    story.reassign(
        ("orders", 0, [2], ["any"]),
        ("orders", 1, [2, 1], [str(story.directory("b")), "any"]),
        ("clicks", 0, [1], ["any"]),
    )
    orders, clicks = ("orders", 0, (2,)), ("clicks", 0, (1,))
    story.until(lambda image: all(has(image, *each) for each in (orders, clicks)), "moved replicas")
    story.reassign(("clicks", 0, [2], [str(story.directory("a"))]))
    story.until(lambda image: has(image, "clicks", 0, (2,)), "a replica elsewhere")
    story.until(everybody_in_sync, "replicas in sync")


def has(image: MetadataImage, name: str, index: int, replicas: tuple[int, ...]) -> bool:
    """Tell whether a partition has these replicas, and no others come or go."""
    topic = image.topics.named(name)
    partition = topic and topic.partition(index)
    assert partition
    return partition.replicas == replicas and not (
        partition.adding_replicas or partition.removing_replicas
    )


def cordons(story: Story) -> None:
    """A directory takes nothing new any more."""
    place = f"cordoned.log.dirs={story.directory('b')}"
    story.configure("brokers", "2", "--add-config", place)
    story.until(lambda image: image.cluster.brokers[2].cordoned_directories, "a cordon")


def downgrade(story: Story) -> None:
    """Features are given up, and what they have said is taken back."""
    story.run("features", "downgrade", "--feature", "eligible.leader.replicas.version=0")
    story.run("features", "downgrade", "--feature", "streams.version=0")


def failover(story: Story) -> None:
    """The controller is killed, and begins another epoch."""
    story.first.kill()
    story.first.start()
    eventually(lambda: describe(story.first), "a leader")
    story.until(lambda image: not any(b.fenced for b in image.cluster.brokers.values()), "brokers")
    story.run("topics", "--create", "--topic", "later", "--partitions", "2")


def farewell(story: Story) -> None:
    """Node 2 leaves for good."""
    story.second.stop()
    story.until(lambda image: image.cluster.brokers[2].fenced, "a broker that has left")
    tool("cluster", "unregister", "--bootstrap-server", story.first.bootstrap, "--id", "2")
    story.until(lambda image: 2 not in image.cluster.brokers, "one broker")


CHAPTERS: Final[dict[str, Callable[[Story], None]]] = {
    chapter.__name__: chapter
    for chapter in (
        brokers,
        topics,
        traffic,
        configs,
        quotas,
        acls,
        credentials,
        tokens,
        upgrade,
        loss_and_return,
        shutdown,
        moves,
        cordons,
        downgrade,
        failover,
        farewell,
    )
}
