"""The process of every profile with a quorum."""

from barnabas.raft.states import Follower, Leader, Prospective
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.raft.member import IDENTITY, formatted
from tests.sim.profiles.raft.cluster import cluster
from tests.sim.worlds import run_in_world


def test_a_directory_that_was_half_formatted_is_formatted_anew() -> None:
    with cluster(voters=1) as quorum:
        part = quorum.scene.part_of("n1")

    async def formats_twice(runtime: Runtime) -> None:
        await formatted(runtime.disk, part)
        file = runtime.disk.open(IDENTITY, "write")
        file.truncate(3)
        file.close()
        for _ in range(2):
            await formatted(runtime.disk, part)
            file = runtime.disk.open(IDENTITY, "read")
            assert file.read(0, 100) == part.config.key.directory_id.hex().encode()
            file.close()

    run_in_world(formats_twice)


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
