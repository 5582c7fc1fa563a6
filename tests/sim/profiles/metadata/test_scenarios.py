"""Stories of a cluster's metadata: what goes wrong in a certain order, and what must come of it."""

import pytest

from barnabas.metadata.faults import Unfoldable
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.metadata import marks
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import encode_record
from tests.sim.profiles.metadata.cluster import Story, cluster

OFTEN = (("snapshot_bytes", 600), ("retention_bytes", 0))


def topic(number: int, name: str = "orders") -> TopicRecord:
    return TopicRecord(name=name, topic_id=Uuid(bytes(15) + bytes([number])))


def test_no_snapshot_is_written_while_a_transaction_is_open() -> None:
    # Joint schedule 12 of the oracle book.
    with cluster(voters=3, knobs=OFTEN) as story:
        story.decide("register", times=10)
        before = story.image("n1").offset
        story.ask("transact", 7, 5, 500, 0, 0)
        story.until(lambda: story.at("n1").metadata.loader.in_transaction)
        story.run(1_200)
        assert story.at("n1").metadata.loader.in_transaction
        assert story.image("n1").offset <= before + 2
        ends = [each.quorum.node.outline.latest_snapshot for each in story.scene.all_living()]
        assert all(each is not None and each.end_offset <= before + 3 for each in ends)
        story.until(lambda: not story.at("n1").metadata.loader.in_transaction)
        story.decide("register", times=10)
        assert story.settled()


def fill(story: Story, times: int) -> None:
    """Write so much that logs are cleaned."""
    story.decide("register", times)


@pytest.mark.slow
def test_an_observer_far_behind_goes_on_with_the_next_leaders_snapshot() -> None:
    # Joint schedule 13: behind the log's start, and the leader changes while it fetches.
    with cluster(voters=3, observers=1, knobs=(*OFTEN, ("fetch_bytes", 512))) as story:
        story.decide("topic", times=2)
        story.run(2_000)
        story.cut_off("o1")
        fill(story, 60)
        old, observer = story.leader, story.at("o1").quorum.node
        story.heal()
        story.until(lambda: observer.following.received_bytes > 0)
        story.world.cut_power(old, "prefix")
        story.new_leader(than=old)
        story.world.restart(old)
        assert story.settled()
        assert observer.outline.start_offset > 0
        assert story.world.seen[marks.LOADED]


def test_a_topic_deleted_and_made_anew_while_a_node_is_down_is_another_topic() -> None:
    with cluster(voters=3, knobs=OFTEN) as story:
        story.put(topic(1), topic(2, "payments"))
        away = story.others(story.leader)[0]
        story.run(2_000)
        story.cut_off(away)
        story.put(RemoveTopicRecord(topic_id=topic(1).topic_id))
        story.put(RemoveTopicRecord(topic_id=topic(2).topic_id), topic(3))
        fill(story, 40)
        story.heal()
        assert story.settled()
        assert story.topics(away) == ["orders"]
        assert story.image(away).topics.names["orders"] == topic(3).topic_id
        assert story.world.seen[marks.REMOVED]


def test_a_transaction_that_lost_its_leader_never_was() -> None:
    with cluster(voters=3) as story:
        story.put(topic(1))
        old = story.leader
        story.ask("transact", 4, 5, 2_000, 0, 0)
        story.until(lambda: all(n.metadata.loader.in_transaction for n in story.scene.all_living()))
        before = {host: story.image(host).topics for host in story.scene.hosts}
        story.world.kill(old)
        story.world.restart(old)
        story.until(lambda: f"{old}.2" in story.scene.members)
        assert story.world.seen[marks.RESTARTED]
        assert story.settled()
        new = story.leader
        assert story.world.seen[marks.INHERITED]
        assert story.image(new).topics == before[new]
        assert not story.at(new).metadata.loader.in_transaction


def test_a_level_that_nobody_here_knows_stops_whoever_comes_to_it() -> None:
    with cluster(voters=3, fails=True) as story:
        level = FeatureLevelRecord(name="metadata.version", feature_level=99)
        node = story.at(story.leader)
        story.world.excuses = lambda process: True
        # It is written past the draft, which would not have it.
        node.quorum.append(node.quorum.node.epoch, [encode_record(level, 0)])
        story.run(5_000)
        deaths = [process.death for process in story.world.processes if process.death is not None]
        # A majority has committed it; the third learns of that from whoever comes back, and who
        # comes back stops again.
        assert len(deaths) >= 2
        for host in story.scene.hosts:
            story.world.restart(host)
        story.run(20_000)
        again = [process.death for process in story.world.processes if process.death is not None]
        assert len(again) >= len(deaths) + 2
        deaths = again
        assert all(isinstance(death.error, Unfoldable) for death in deaths)
        assert "metadata.version is 99, and this build knows 7" in str(deaths[0].error)


def test_who_raises_at_the_introduction_hears_nothing_more() -> None:
    with cluster(voters=1) as story:
        story.ask("stumble", "n1", "late")
        story.ask("come", "n1", "late")
        story.run(100)
        story.decide("register", times=3)
        assert "late" not in story.at("n1").readers
        # Another may come in its place.
        story.ask("come", "n1", "late")
        story.run(100)
        assert story.at("n1").readers["late"].image is story.image("n1")
        assert story.world.seen[marks.STUMBLED] == 1


def test_who_comes_in_the_place_of_another_does_not_take_its_news() -> None:
    with cluster(voters=1) as story:
        story.ask("come", "n1", "late")
        story.run(100)
        story.ask("slow", "n1", 500, 10_000)
        story.decide("register")
        old = story.at("n1").readers["late"]
        story.ask("swap", "n1", "late")
        story.run(10_000)
        new = story.at("n1").readers["late"]
        assert old.is_closed
        assert not new.is_closed
        assert new.image is story.image("n1")
        assert story.settled()


def test_a_record_that_one_node_cannot_read_stops_that_node_alone() -> None:
    with cluster(voters=3) as story:
        host = story.others(story.leader)[0]
        story.ask("poison", host)
        story.decide("register")
        story.until(lambda: f"{host}.2" in story.scene.members)
        assert story.settled()
        assert story.world.seen[marks.POISONED] == 1


def test_an_answer_may_come_before_the_log_tells_and_is_not_taken_back() -> None:
    with cluster(voters=1) as story:
        story.decide("register")
        for _ in range(20):
            story.decide("topic")
            story.ask("alter", "n1", 3, 0)
            story.run(50)
            story.decide("remove_topic")
        assert story.settled()
        assert story.world.seen[marks.AHEAD] or story.world.seen[marks.NOT_ELECTED]
