"""Brokers of Apache Kafka's under controllers of ours, while Kafka's own clients are at work.

Three controllers, three brokers: they come to run, host topics, are frozen and thawed, restarted
one after the other, and lose the controller that leads.  Whatever happens, the producer gives
nothing up, and what it was told to be written is there, once and in its order.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from barnabas.metadata.topics import NO_LEADER_CHANGE
from barnabas.records.opened import opened
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.metadata_records import decode_record
from tests.compat.clusters import SESSION_S, Cluster, Work
from tests.compat.controllers import eventually
from tests.compat.kafka_node import Node
from tests.compat.our_node import OurNode

PARTITIONS: Final = 6
EVERYWHERE: Final = {11, 12, 13}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three controllers of ours, three brokers of Kafka's."""
    with TemporaryDirectory() as place, Cluster(Path(place), [OurNode] * 3, brokers=3) as running:
        yield running


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """A topic of this test, on every broker, that takes no write that fewer than two have."""
    name: str = request.node.name[-40:]
    replicated = ["--partitions", str(PARTITIONS), "--replication-factor", "3"]
    durable = ["--config", "min.insync.replicas=2"]
    cluster.kafka("topics", "--create", "--topic", name, *replicated, *durable)
    cluster.until_in_sync(name)
    return name


def records_of(node: Node) -> list[object]:
    """Return the records in a controller's metadata log."""
    data = b"".join(path.read_bytes() for path in sorted(node.metadata.glob("*.log")))
    return [decode_record(value)[0] for batch in opened(data) for value in batch.values]


def changes(cluster: Cluster) -> list[PartitionChangeRecord]:
    """Return what was decided about partitions so far."""
    found = records_of(cluster.controllers.leader())
    return [record for record in found if isinstance(record, PartitionChangeRecord)]


# --- the story ------------------------------------------------------------------------------------


def test_brokers_register_run_and_share_what_there_is(cluster: Cluster, topic: str) -> None:
    assert cluster.fenced() == dict.fromkeys(sorted(EVERYWHERE), False)
    partitions = cluster.partitions(topic)
    assert len(partitions) == PARTITIONS
    assert {each.leader_id for each in partitions.values()} == EVERYWHERE
    assert all(set(each.replica_nodes) == EVERYWHERE for each in partitions.values())
    with Work(cluster, topic) as work:
        pass
    assert work.judge()["acknowledged"] > 0


def test_a_frozen_broker_is_fenced_and_others_lead_until_it_is_back(
    cluster: Cluster, topic: str
) -> None:
    registered = sum(
        isinstance(each, RegisterBrokerRecord) for each in records_of(cluster.controllers.leader())
    )
    with Work(cluster, topic) as work:
        broker = cluster.brokers[12]
        broker.pause()
        cluster.until_fenced(12)
        eventually(
            lambda: (
                all(
                    each.leader_id in {11, 13} and set(each.isr_nodes) == {11, 13}
                    for each in cluster.partitions(topic, beside=12).values()
                )
                or None
            ),
            "others lead",
        )
        broker.resume()
        cluster.until_unfenced(12)
        cluster.until_in_sync(topic)
    assert work.judge()["silenceMs"] < 1_000 * (3 * SESSION_S)
    # It lives on under the epoch that it had.
    records = records_of(cluster.controllers.leader())
    assert sum(isinstance(each, RegisterBrokerRecord) for each in records) == registered


def test_leaders_shrink_and_expand_the_isr_of_one_that_lags(cluster: Cluster, topic: str) -> None:
    before = len(changes(cluster))
    epochs = {key: each.leader_epoch for key, each in cluster.partitions(topic).items()}
    with Work(cluster, topic) as work:
        broker = cluster.brokers[13]
        led = {key for key, each in cluster.partitions(topic).items() if each.leader_id != 13}
        broker.pause()
        eventually(
            lambda: (
                all(
                    set(cluster.partitions(topic, beside=13)[key].isr_nodes) == {11, 12}
                    for key in led
                )
                or None
            ),
            "13 out of the ISR",
        )
        broker.resume()
        after = cluster.until_in_sync(topic)
    work.judge()
    asked = [each for each in changes(cluster)[before:] if each.leader == NO_LEADER_CHANGE]
    shrunk = [each for each in asked if each.isr is not None and set(each.isr) == {11, 12}]
    expanded = [each for each in asked if each.isr is not None and set(each.isr) == EVERYWHERE]
    assert len(shrunk) >= len(led)
    assert len(expanded) >= len(led)
    # Nobody else came to lead what the others led all the time.
    assert [after[key].leader_epoch for key in led] == [epochs[key] for key in led]


def test_brokers_restart_one_after_the_other_and_no_request_fails(
    cluster: Cluster, topic: str
) -> None:
    fences = sum(
        isinstance(each, FenceBrokerRecord) for each in records_of(cluster.controllers.leader())
    )
    with Work(cluster, topic) as work:
        for broker in cluster.brokers.values():
            broker.stop()
            # It left when the others had taken over: nobody waits for a session to be over.
            led = {each.leader_id for each in cluster.partitions(topic, beside=broker.id).values()}
            assert led == EVERYWHERE - {broker.id}
            broker.start()
            cluster.until_unfenced(broker.id)
            cluster.until_in_sync(topic)
    assert work.judge()["silenceMs"] < 1_000 * SESSION_S
    told = records_of(cluster.controllers.leader())
    assert sum(isinstance(each, FenceBrokerRecord) for each in told) == fences


def test_the_active_controller_is_killed_and_clients_do_not_notice(
    cluster: Cluster, topic: str
) -> None:
    with Work(cluster, topic) as work:
        epoch = cluster.controllers.state().leader_epoch
        killed = cluster.controllers.leader()
        killed.kill()
        cluster.controllers.new_leader(epoch)
        cluster.kafka("topics", "--create", "--topic", f"{topic}-2", "--partitions", "3")
        killed.start()
        cluster.controllers.caught_up(killed)
        epoch = cluster.controllers.state().leader_epoch
        stopped = cluster.controllers.leader()
        stopped.stop()
        cluster.controllers.new_leader(epoch)
        cluster.kafka("topics", "--alter", "--topic", f"{topic}-2", "--partitions", "5")
        stopped.start()
        cluster.controllers.caught_up(stopped)
    # The data plane has nothing to do with it.
    assert work.judge()["silenceMs"] < 1_000 * SESSION_S
    assert len(cluster.partitions(f"{topic}-2")) == 5
    assert cluster.fenced() == dict.fromkeys(sorted(EVERYWHERE), False)


def test_a_killed_broker_comes_back_while_the_controller_fails_over(
    cluster: Cluster, topic: str
) -> None:
    with Work(cluster, topic) as work:
        cluster.brokers[11].kill()
        epoch = cluster.controllers.state().leader_epoch
        killed = cluster.controllers.leader()
        killed.kill()
        cluster.controllers.new_leader(epoch)
        # Its successor gives everybody a whole session, and then finds out.
        cluster.until_fenced(11)
        cluster.brokers[11].start()
        killed.start()
        cluster.until_unfenced(11)
        cluster.until_in_sync(topic)
    work.judge()
    cluster.controllers.quiet_state()
