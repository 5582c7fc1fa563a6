"""Reading a replica's disk past its process."""

from barnabas.raft.outline import BOOTSTRAP
from barnabas.sim.profiles.raft.disks import LOG, NO_VOTE, LogView, files_at, snapshots_on, vote_on
from barnabas.sim.profiles.raft.member import key_of
from tests.sim.profiles.raft.cluster import cluster
from tests.sim.profiles.raft.steps import life


def test_an_empty_disk_has_nothing() -> None:
    disk = life().home.disk
    assert files_at(disk, LOG, durable=True) == {}
    assert vote_on(disk, durable=True) == NO_VOTE
    assert snapshots_on(disk, durable=True) == {}


def test_the_files_say_what_the_product_says() -> None:
    with cluster() as quorum:
        leader = quorum.leader
        assert quorum.done(quorum.write("a", at=leader))
        for host in quorum.scene.hosts:
            disk, node = quorum.world.hosts[host].disk, quorum.at(host).quorum.node
            vote = vote_on(disk, durable=True)
            assert (vote.epoch, vote.leader_id) == (node.epoch, node.leader_id)
            assert list(snapshots_on(disk, durable=True)) == [BOOTSTRAP]
            view = LogView(disk)
            new = view.read_on(node.outline.end_offset, 0)
            assert view.end == node.outline.end_offset
            assert view.epochs() == list(node.outline.epochs)
            assert new[0].before == 0
            assert [view.bytes_of(batch) for batch in new] == [
                view.bytes_of(batch, durable=True) for batch in new
            ]


def test_a_view_that_was_cut_reads_on_from_there() -> None:
    with cluster(voters=1) as quorum:
        for text in ("a", "b", "c"):
            assert quorum.done(quorum.write(text, at="n1"))
        end = quorum.at("n1").quorum.node.outline.end_offset
        view = LogView(quorum.world.hosts["n1"].disk)
        whole = list(view.read_on(end, 0))
        view.cut(end - 2)
        assert view.end == end - 2
        assert view.read_on(end, 0) == whole[-2:]
        view.begin_at(end - 1)
        assert view.batches == whole[-1:]
        assert view.batch_with(end - 1) == whole[-1]
        assert view.batch_ending(end - 1) is None


def test_a_directory_is_known_by_its_host_and_the_number_of_its_disk() -> None:
    assert key_of("n1", 0) != key_of("n1", 1)
    assert key_of("n1", 0).id == key_of("n1", 1).id == 1
    assert key_of("o1", 0).id == 101
