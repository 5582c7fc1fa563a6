"""The process of the raft profile."""

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


def test_a_listener_that_comes_late_is_told_everything() -> None:
    with cluster(voters=1) as quorum:
        quorum.run(2_000)
        only = quorum.at("n1")
        assert only.latecomer is not None
        assert only.latecomer.known == only.keeper.known == (1, only.quorum.node.epoch)
        assert host_of(only) == "n1"
