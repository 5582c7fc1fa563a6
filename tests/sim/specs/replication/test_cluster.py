"""What a controller and brokers know."""

from dataclasses import replace

from barnabas.sim.specs.replication.cluster import (
    AlterRequest,
    Fetcher,
    Peer,
    Pending,
    Phase,
    Position,
)
from tests.sim.specs.replication.clusters import broker, controller, ids


def test_a_controller_knows_who_is_fenced_and_the_partition_as_it_is() -> None:
    the = controller()
    assert (the.unfenced, the.partition.leader) == (ids(1, 2, 3), 1)
    fenced = replace(the.registration(2), fenced=True)
    assert replace(the, brokers=(the.brokers[0], fenced, the.brokers[2])).unfenced == ids(1, 3)
    assert not the.partition.is_reassigned
    assert replace(the.partition, removing=ids(3)).is_reassigned


def test_a_leader_knows_the_last_of_each_follower() -> None:
    leader = broker().with_peer(Peer(3, 0, 3)).with_peer(Peer(2, 1, 2)).with_peer(Peer(3, 2, 4))
    assert leader.peers == (Peer(2, 1, 2), Peer(3, 2, 4))
    assert leader.peer(3) == Peer(3, 2, 4)
    assert leader.peer(4) is None


def test_an_idle_fetcher_is_as_if_it_were_not_there() -> None:
    follower = broker(2)
    assert follower.fetcher(1) == Fetcher(1, Position(0, 0))
    assert follower.fetcher(3) == Fetcher(3)
    assert follower.with_fetcher(Fetcher(1)).fetchers == ()
    waits = follower.with_fetcher(Fetcher(3, None, True))
    assert [each.leader for each in waits.fetchers] == [1, 3]


def test_a_proposal_is_undecided_until_the_partition_has_moved_on() -> None:
    request = AlterRequest(1, ids(1, 2), (), 1, 1, 1)
    leader = broker(pending=Pending(2, request))
    assert leader.waits_for_answer
    assert not replace(leader, view=replace(leader.view, partition_epoch=2)).waits_for_answer
    assert not broker().waits_for_answer


def test_a_process_runs_from_its_start_to_its_end() -> None:
    up = {phase for phase in Phase if broker(phase=phase).is_up}
    assert up == {Phase.STARTING, Phase.RUNNING}
