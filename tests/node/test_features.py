"""What is told of features: the quorum's own alone, or with what the metadata say."""

from dataclasses import replace

from barnabas.metadata.features import FeaturesImage
from barnabas.metadata.image import EMPTY
from barnabas.node.features import of_quorum, told_features
from barnabas.runtime.runtime import Runtime
from tests.node.test_member import opened
from tests.sim.worlds import run_in_world


def test_the_levels_in_force_are_those_of_the_image_and_the_quorums() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        image = replace(EMPTY, features=FeaturesImage(29, {"group.version": 1}))
        told = told_features(member.quorum, image, unstable=False)
        assert told.finalized == {"metadata.version": 29, "group.version": 1, "kraft.version": 0}
        assert told.supported["metadata.version"] == range(7, 31)
        newest = told_features(member.quorum, image, unstable=True).supported["metadata.version"]
        assert newest == range(7, 32)
        await member.close(1_000)

    run_in_world(main)


def test_a_member_without_metadata_tells_of_the_quorum_alone() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        told = of_quorum(member.quorum)
        assert (dict(told.supported), dict(told.finalized)) == (
            {"kraft.version": range(2)},
            {"kraft.version": 0},
        )
        await member.close(1_000)

    run_in_world(main)
