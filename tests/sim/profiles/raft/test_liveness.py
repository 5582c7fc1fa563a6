"""What a healthy part of a quorum owes."""

import pytest

from barnabas.sim.profiles.raft.liveness import Healing
from tests.sim.profiles.raft.cluster import cluster


def test_a_core_with_a_majority_is_held_to_its_promises_and_others_are_not() -> None:
    with cluster(voters=3) as quorum:
        assert Healing(quorum.scene, ["n1", "n2"], for_core=True).has_majority()
        assert not Healing(quorum.scene, ["n1"], for_core=True).has_majority()
        assert Healing(quorum.scene, ["n1"], for_core=True).is_over()


def test_a_core_keeps_its_leader_while_another_is_apart() -> None:
    with cluster(voters=3) as quorum:
        apart = quorum.others(quorum.leader)[0]
        quorum.cut_off(apart)
        healing = Healing(quorum.scene, quorum.others(apart), for_core=True)
        quorum.until(healing.is_over)
        quorum.heal()
        assert quorum.settled()


@pytest.mark.parametrize(("cut", "owed"), [(2, "RL-1"), (1, "RL-4")])
def test_what_is_not_given_in_time_is_named(cut: int, owed: str) -> None:
    with cluster(voters=3, seed=2, fails=True) as quorum:
        # Two that are apart from each other and from the third, or one follower alone.
        for host in (quorum.others() if cut > 1 else quorum.others(quorum.leader))[:cut]:
            quorum.cut_off(host)
        healing = Healing(quorum.scene, quorum.scene.hosts, for_core=False)
        quorum.world.run_until(healing.is_over, 400_000)
        assert quorum.world.violation is not None
        assert quorum.world.violation.oracle == owed
