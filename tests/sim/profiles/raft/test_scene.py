"""A table on a quorum, and those who use it."""

from tests.sim.profiles.raft.cluster import cluster


def test_a_poisoned_replay_ends_a_process_that_then_comes_back() -> None:
    with cluster(voters=3) as quorum:
        host = quorum.others(quorum.leader)[0]
        quorum.ask("poison", host)
        assert quorum.done(quorum.write("a", at=quorum.leader))
        quorum.until(lambda: f"{host}.2" in quorum.scene.members)
        assert quorum.settled()
