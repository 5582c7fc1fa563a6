"""People, and what they do to a cluster."""

from barnabas.sim.plan import Operation
from barnabas.sim.profiles.metadata import marks
from tests.sim.profiles.metadata.cluster import cluster


def test_a_subscriber_that_is_vital_takes_its_node_with_it() -> None:
    with cluster(voters=3) as story:
        host = story.others(story.leader)[0]
        story.ask("stumble", host, "vital")
        story.decide("acl")
        story.until(lambda: f"{host}.2" in story.scene.members)
        assert story.settled()
        assert story.world.seen[marks.VITAL_FAILED] == 1


def test_a_subscriber_that_raises_is_told_the_next_and_so_are_the_others() -> None:
    with cluster(voters=1) as story:
        story.ask("stumble", "n1", "first")
        story.decide("acl", times=3)
        assert story.settled()
        node = story.at("n1")
        assert node.readers["first"].image is node.readers["vital"].image is story.image("n1")
        assert story.world.seen[marks.RAISED] == 1


def test_somebody_comes_late_and_goes_and_others_do_not_notice() -> None:
    with cluster(voters=1) as story:
        story.decide("acl")
        # Who is not there cannot go.
        story.ask("leave", "n1", "late")
        story.ask("come", "n1", "late")
        story.run(100)
        late = story.at("n1").readers["late"]
        assert late.image is story.image("n1")
        story.ask("leave", "n1", "late")
        story.decide("acl")
        assert late.is_closed
        assert late.image is not story.image("n1")
        assert story.settled()
        assert story.world.seen[marks.LATE] == story.world.seen[marks.GONE] == 1


def test_subscribers_that_take_their_time_hold_up_the_log_and_lose_nothing() -> None:
    with cluster(voters=3) as story:
        host = story.others(story.leader)[0]
        story.ask("slow", host, 300, 5_000)
        story.decide("acl", times=20)
        assert story.image(host).offset < story.image(story.leader).offset
        story.run(6_000)
        assert story.settled()
        assert story.world.seen[marks.SLOW]


def test_a_host_that_is_down_is_asked_for_nothing() -> None:
    with cluster(voters=1) as story:
        story.world.kill("n1")
        for what, arguments in (
            ("alter", ("n1", 1, 0)),
            ("come", ("n1", "late")),
            ("decide", ("topic", 1, 1, 0)),
        ):
            story.scene.perform(Operation(0, "people", what, arguments))
        story.world.restart("n1")
        assert story.settled()


def test_what_cannot_be_folded_of_a_sound_log_is_laid_to_the_image() -> None:
    with cluster(voters=3, mutant="MC-18", fails=True) as story:
        for number in range(40):
            story.ask("transact", number, 1, 1, 1, 0)
            story.run(200)
            if story.world.violation is not None:
                break
        found = story.world.violation
        assert found is not None
        assert found.oracle == "M-06"
