"""The process of the raft profile."""

from barnabas.raft.states import Follower, Leader, Prospective
from tests.sim.profiles.raft.cluster import cluster, host_of


def test_a_quorum_of_processes_takes_writes_and_snapshots_and_cleans_its_logs() -> None:
    small = (("snapshot_bytes", 1_500), ("retention_bytes", 0))
    with cluster(voters=3, observers=1, knobs=small) as quorum:
        for number in range(40):
            assert quorum.done(quorum.write(f"{number} {'.' * 100}", at=quorum.leader))
        assert quorum.settled()
        tables = {quorum.at(host).keeper.states.committed.digest for host in quorum.scene.hosts}
        assert len(tables) == 1
        assert all(quorum.at(host).quorum.node.outline.start_offset for host in quorum.scene.hosts)


def test_a_process_that_is_stopped_ends_in_good_order_and_comes_back() -> None:
    with cluster(voters=3) as quorum:
        old = quorum.leader
        quorum.world.stop(old)
        assert quorum.new_leader(than=old)
        quorum.until(lambda: quorum.world.hosts[old].process is None)
        quorum.world.restart(old)
        assert quorum.settled()
        assert isinstance(quorum.at(old).quorum.node.state, Follower)


def test_a_wait_that_is_hurried_ends_without_a_cause() -> None:
    with cluster(voters=3) as quorum:
        host = quorum.others(quorum.leader)[0]
        quorum.ask("hurry", host)
        quorum.run(0)
        quorum.until(lambda: not isinstance(quorum.at(host).quorum.node.state, Prospective))
        assert quorum.settled()


def test_a_leader_whose_table_cannot_go_on_resigns() -> None:
    with cluster(voters=3) as quorum:
        old = quorum.leader
        epoch = quorum.at(old).quorum.node.epoch
        quorum.ask("resign", old)
        quorum.until(lambda: not isinstance(quorum.at(old).quorum.node.state, Leader))
        assert quorum.settled()
        assert quorum.at(old).quorum.node.epoch > epoch


def test_a_listener_that_comes_late_is_told_everything() -> None:
    with cluster(voters=1) as quorum:
        quorum.run(2_000)
        only = quorum.at("n1")
        assert only.latecomer is not None
        assert only.latecomer.known == only.keeper.known == (1, only.quorum.node.epoch)
        assert host_of(only) == "n1"
