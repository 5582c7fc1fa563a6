"""Steps are heard, logs are read on, and whoever objects is believed."""

import errno

import pytest

from barnabas.log.health import DirectoryFailed
from barnabas.raft.events import Started
from barnabas.raft.states import Follower, Leader, Unattached
from barnabas.sim.profiles.raft.lives import Step
from barnabas.sim.profiles.raft.watch import told, unread
from tests.sim.profiles.raft.cluster import cluster
from tests.sim.profiles.raft.steps import life


def test_every_life_is_followed_from_its_first_step() -> None:
    with cluster(voters=3) as quorum:
        watch = quorum.scene.judges.watch
        assert set(watch.lives) == {"n1.1", "n2.1", "n3.1"}
        events = [entry[1] for entry in quorum.at("n1").quorum.story]
        assert isinstance(events[0], Started)
        quorum.run(1_000)
        for each in watch.lives.values():
            assert each.unread_from is None
            assert each.log.end == each.node.outline.end_offset == each.home.durable_end
            assert each.verified == each.node.high_watermark
        quorum.world.kill("n1")
        assert not watch.is_alive(watch.lives["n1.1"])
        quorum.world.restart("n1")
        assert quorum.settled()
        assert watch.lives["n1.2"].home is watch.lives["n1.1"].home


def test_a_log_is_not_read_on_when_its_disk_has_failed() -> None:
    with cluster(voters=1) as quorum:
        member, watch = quorum.at("n1"), quorum.scene.judges.watch
        raft, followed = member.quorum, watch.lives["n1.1"]
        assert followed.is_settled
        # The flush under way has failed; whoever waits for it hears so after the next append.
        raft.storage.health.fail(OSError(errno.EIO, "a sync"))
        with pytest.raises(DirectoryFailed):
            raft.append(raft.node.epoch, [b"..."])
        assert raft.end_offset > raft.storage.end_offset
        assert not followed.is_settled
        watch.check()
        assert quorum.world.violation is None
        assert followed.unread_from is not None


def test_a_log_is_unread_from_the_lowest_place_that_moved() -> None:
    of = life()
    of.unread_from = None
    for offset in (7, 5, 9):
        unread(of, offset)
    assert of.unread_from == 5


def test_a_state_is_told_in_a_few_words() -> None:
    assert told(Unattached(3)) == "Unattached in epoch 3"
    assert told(Follower(3, 2, ())) == "Follower of 2 in epoch 3"
    assert told(Leader(3, 7)) == "Leader of epoch 3, from 7"
    assert Step._fields[0] == "life"
