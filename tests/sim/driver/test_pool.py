"""Workers on two sides, each with a hash seed of its own."""

import pytest

from barnabas.sim.driver.jobs import Answer, Job
from barnabas.sim.driver.pool import HASH_SEEDS, InfrastructureError, NoResultError, Pool

pytestmark = pytest.mark.slow


def test_jobs_come_back_from_both_sides_with_the_same_result() -> None:
    answers: dict[tuple[int, int], str] = {}
    assert len(set(HASH_SEEDS)) == 2
    with Pool("register", 2) as pool:
        for seed in (1, 2, 3):
            for side in (0, 1):

                def done(
                    answer: Answer | NoResultError, seed: int = seed, side: int = side
                ) -> None:
                    assert isinstance(answer, Answer)
                    answers[seed, side] = answer.outcome.fingerprint

                pool.submit(Job("register", seed), done, side)
        pool.work()
        assert len(answers) == 6
        assert len(set(answers.values())) == 3
        assert all(answers[seed, 0] == answers[seed, 1] for seed in (1, 2, 3))
        dropped: list[object] = []
        for seed in range(20):
            pool.submit(Job("register", seed), dropped.append)
        pool.drop()
        pool.work()
        assert len(dropped) == 2, "only those that workers had begun"
        assert pool.run(Job("register", 1), side=1).outcome.fingerprint == answers[1, 0]
        with pytest.raises(InfrastructureError, match="seed 1: no end after 0 s"):
            pool.run(Job("register", 1, wall_s=0))
