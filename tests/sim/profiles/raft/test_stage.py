"""Hosts, people, and what they may expect."""

from barnabas.sim.nemesis import stall_syncs
from barnabas.sim.plan import Fault
from tests.sim.profiles.raft.cluster import cluster


def wipe(host: str) -> Fault:
    return Fault("wipe", 0, (host,))


def test_no_more_than_a_minority_may_lose_its_disk() -> None:
    with cluster(voters=3, observers=1) as quorum:
        scene, world = quorum.scene, quorum.world
        assert scene.permits(world, wipe("o1"))
        assert scene.permits(world, wipe("n1"))
        assert not scene.permits(world, wipe("n2"))
        assert scene.disks == {"n1": 1, "n2": 0, "n3": 0, "o1": 1}


def test_who_is_known_by_its_id_alone_may_not_lose_its_disk() -> None:
    with cluster(voters=3, knobs=(("static", 1),)) as quorum:
        assert not quorum.scene.permits(quorum.world, wipe("n1"))
        assert quorum.settled()


def test_a_controller_that_moved_is_found_again() -> None:
    with cluster(voters=3) as quorum:
        host = quorum.others(quorum.leader)[0]
        quorum.ask("move", host)
        # Nobody else moves before everybody knows.
        quorum.ask("move", quorum.leader)
        assert sum(quorum.scene.ports.values()) == 3 * 9_093 + 1
        quorum.until(lambda: not quorum.scene._unreachable())
        assert quorum.settled()


def test_a_write_finds_nobody_and_gives_up() -> None:
    with cluster(voters=3) as quorum:
        for host in quorum.scene.hosts:
            quorum.world.kill(host)
        written = quorum.scene.write("key", ("a",), 0, tries=2)
        quorum.run(1_000)
        assert written.end == "refused"
        for host in quorum.scene.hosts:
            quorum.world.restart(host)
        assert quorum.settled()


def test_a_question_for_another_cluster_is_asked_and_refused() -> None:
    with cluster(voters=1) as quorum:
        for kind in (0, 1):
            quorum.ask("mistake", "n1", kind)
        quorum.run(100)


def test_an_audit_waits_for_a_snapshot_that_a_stalled_disk_still_holds() -> None:
    with cluster(voters=3, knobs=(("snapshot_bytes", 1_500),)) as quorum:
        leader, scene = quorum.leader, quorum.scene
        end = stall_syncs(quorum.world, stall(leader))
        # The others are a majority, and commit what the leader has not flushed.
        assert all(quorum.done(quorum.write(f"{at}" * 2_000, at=leader)) for at in range(4))
        end()
        assert not quorum.at(leader).is_calm
        scene.audit(quorum.world)


def test_an_audit_waits_for_a_write_that_a_stalled_disk_still_holds() -> None:
    with cluster(voters=1) as quorum:
        end = stall_syncs(quorum.world, stall("n1"))
        written = quorum.write("a", at="n1")
        quorum.run(10)
        end()
        assert written.end == "waits"
        quorum.scene.audit(quorum.world)
        assert written.end == "done"


def stall(host: str) -> Fault:
    # A sync that begins within it takes as long: past what a plan leaves for coming to rest.
    return Fault("fsync-stall", 0, (host,), 20_000)
