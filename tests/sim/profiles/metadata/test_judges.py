"""All oracles together, on nodes that are not what they should be."""

from dataclasses import replace

import pytest

from barnabas.sim.world import Violation
from tests.sim.profiles.metadata.cluster import cluster


def test_two_nodes_that_do_not_agree_when_all_is_quiet_are_noticed() -> None:
    with cluster(voters=3) as story:
        story.decide("register", times=3)
        assert story.settled()
        loader = story.at("n2").metadata.loader
        right = loader.image
        fewer = replace(right.cluster, brokers={})
        for wrong, oracle in (
            (replace(right, cluster=fewer), "M-02"),
            (replace(right, provenance=replace(right.provenance, offset=1)), "M-02"),
        ):
            loader.image = wrong
            with pytest.raises(Violation) as found:
                story.scene.judges.quiet(story.scene.all_living(), again=True)
            assert found.value.oracle == oracle
        loader.image = right


def test_a_node_that_has_not_come_to_the_end_is_noticed() -> None:
    with cluster(voters=3) as story:
        story.decide("acl", times=3)
        assert story.settled()
        nodes, loader = story.scene.all_living(), story.at("n2").metadata.loader
        right = loader.image
        loader.image = replace(right, provenance=replace(right.provenance, epoch=0))
        with pytest.raises(Violation, match="ML-1"):
            story.scene.judges._converged(nodes)
        loader.image = replace(right, provenance=replace(right.provenance, offset=0))
        with pytest.raises(Violation, match="ML-1"):
            story.scene.judges._converged(nodes)
        loader.image = right


def test_what_an_oracle_finds_in_the_middle_of_a_handle_ends_the_run() -> None:
    with cluster(voters=1, fails=True) as story:
        node = story.at("n1")
        story.scene.handing(node, node.quorum.node.high_watermark + 1)
        found = story.world.violation
        assert found is not None
        assert found.oracle == "M-03"


def test_the_image_that_lags_behind_its_log_is_laid_to_the_right_promise() -> None:
    with cluster(voters=3) as story:
        node = story.at("n2")
        assert node.lags == "ML-1"
        node.desk.known = None
        assert node.lags == "ML-2"
        node.desk.offset, node.quorum.node.outline.start_offset = 0, 1
        assert node.lags == "ML-3"
        node.quorum.node.outline.start_offset = 0
