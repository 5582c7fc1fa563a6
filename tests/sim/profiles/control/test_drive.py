"""Nodes as the profile puts them together: everything is heard, and changes nothing."""

from barnabas.sim.profiles.control.people import creation
from tests.sim.profiles.control.cluster import Cluster


def test_every_request_is_heard() -> None:
    with Cluster() as cluster:
        heard: list[str] = []
        cluster.scene.arrived = (  # type: ignore[method-assign]  # -- heard on the way
            lambda controller, request: heard.append(type(request).__name__)
        )
        cluster.until_well()
        cluster.ask(creation("orders", 1, 2, {}))
        assert {"BrokerRegistrationRequest", "BrokerHeartbeatRequest"} <= set(heard)
        assert "CreateTopicsRequest" in heard


def test_what_is_committed_is_told_from_the_first_record_on() -> None:
    with Cluster(controllers=3) as cluster:
        cluster.until_well()
        ledger = cluster.scene.ledger
        assert len(ledger.image.cluster.brokers) == 2
        assert ledger.end_offset == ledger.image.offset + 1
        (deciding,) = cluster.scene.deciding()
        assert deciding.quorum.high_watermark >= ledger.end_offset


def test_a_node_that_is_stopped_says_that_it_ends_in_good_order() -> None:
    with Cluster() as cluster:
        cluster.until_well()
        process = cluster.world.hosts["b2"].process
        assert process is not None
        cluster.world.stop("b2")
        cluster.until(lambda: process.death is not None)
        assert process.name in cluster.scene._closing
