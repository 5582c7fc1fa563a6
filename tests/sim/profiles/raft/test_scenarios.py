"""Stories of a quorum: what goes wrong in a certain order, and what must come of it."""

import errno

from barnabas.raft.states import Follower, Leader, Unattached
from barnabas.sim.disk_faults import Injection
from barnabas.sim.plan import Fault
from barnabas.sim.profiles.raft.disks import LOG
from barnabas.sim.profiles.raft.history import compare
from barnabas.sim.profiles.raft.member import key_of
from barnabas.sim.world import Settings
from tests.sim.profiles.raft.cluster import Cluster, cluster


def epoch_at(quorum: Cluster, host: str) -> int:
    return quorum.at(host).quorum.node.epoch


def test_of_two_who_lead_only_the_one_with_a_majority_commits() -> None:
    with cluster(voters=3) as quorum:
        old = quorum.leader
        quorum.cut_off(old)
        lost = quorum.write("on the small side", at=old)
        new = quorum.new_leader(than=old)
        assert quorum.done(quorum.write("on the large side", at=new))
        assert not quorum.done(lost)
        quorum.heal()
        assert quorum.settled()
        assert "on the small side" not in quorum.scene.committed_values
        compare(quorum.scene.written, quorum.scene.committed_values)


def test_a_lagging_voter_that_comes_back_first_is_not_elected() -> None:
    with cluster(voters=3) as quorum:
        old = quorum.leader
        lagging, complete = quorum.others(old)
        quorum.cut_off(lagging)
        # Until nothing is on its way any more.
        quorum.run(5_000)
        assert quorum.done(quorum.write("it has not this", at=old))
        quorum.world.cut_power(old, "prefix")
        quorum.world.cut_power(complete, "prefix")
        quorum.heal()
        quorum.run(5_000)
        assert not isinstance(quorum.at(lagging).quorum.node.state, Leader)
        quorum.world.restart(complete)
        assert quorum.new_leader(than=old) == complete
        quorum.world.restart(old)
        assert quorum.settled()


def test_a_leader_that_is_removed_commits_that_and_then_lets_go() -> None:
    with cluster(voters=3) as quorum:
        old = quorum.leader
        quorum.ask("remove", old, 0)
        new = quorum.new_leader(than=old)
        assert quorum.settled()
        voters = quorum.at(new).quorum.node.voters.current
        assert len(voters) == 2
        assert isinstance(quorum.at(old).quorum.node.state, Follower)
        # It comes back as a voter, and is the same replica with the same disk.
        quorum.ask("add", old, 0)
        quorum.until(lambda: len(quorum.at(new).quorum.node.voters.current) == 3)
        assert quorum.settled()


def test_a_snapshot_that_is_half_fetched_when_the_leader_changes_is_fetched_from_the_next() -> None:
    small = (("fetch_bytes", 512), ("snapshot_bytes", 1_500), ("retention_bytes", 0))
    with cluster(voters=3, observers=1, knobs=small) as quorum:
        old = quorum.leader
        quorum.cut_off("o1")
        for number in range(40):
            text = f"{number} {'.' * 300}"
            quorum.scene.write(f"k{number}", (text,), 0)
            quorum.run(50)
        quorum.heal()
        observer = quorum.at("o1").quorum.node
        quorum.until(lambda: observer.following.received_bytes > 0)
        quorum.world.cut_power(old, "prefix")
        assert quorum.new_leader(than=old)
        quorum.world.restart(old)
        assert quorum.settled()
        assert observer.outline.start_offset > 0


def test_a_change_of_voters_that_is_not_committed_goes_with_its_leader() -> None:
    with cluster(voters=3, spares=1) as quorum:
        old = quorum.leader
        quorum.until(lambda: quorum.at("n4").quorum.node.high_watermark > 0)
        quorum.run(2_000)
        quorum.ask("add", "n4", 0)
        # The newcomer has told its versions, and the record is in the leader's log alone.
        quorum.until(lambda: len(quorum.at(old).quorum.node.voters.current) == 4)
        quorum.cut_off(old)
        new = quorum.new_leader(than=old)
        quorum.heal()
        assert quorum.settled()
        assert {len(quorum.at(host).quorum.node.voters.current) for host in (old, new)} <= {3, 4}
        assert (
            quorum.at(old).quorum.node.voters.current == quorum.at(new).quorum.node.voters.current
        )


def test_a_voter_that_does_not_know_it_yet_elects_whoever_needs_its_vote() -> None:
    # Slow enough for a link to be cut while a record is on its way.
    slow = Settings(latency_ns=20_000_000)
    with cluster(voters=3, spares=1, settings=slow) as quorum:
        old = quorum.leader
        newcomer = quorum.at("n4").quorum.node
        quorum.until(lambda: newcomer.high_watermark > 0)
        quorum.run(2_000)
        quorum.ask("add", "n4", 0)
        quorum.until(lambda: len(quorum.at(old).quorum.node.voters.current) == 4)
        # All have the record but the newcomer, and then the leader is lost for good: of four
        # voters, three have to vote.
        quorum.part(old, "n4")
        rest = [quorum.at(host).quorum.node for host in quorum.others(old, "n4")]
        quorum.until(lambda: all(len(node.voters.current) == 4 for node in rest))
        quorum.cut_off(old)
        assert not newcomer.is_voter
        assert newcomer.following.has_fetched, "it had a leader that answered"
        new = quorum.new_leader(than=old)
        assert quorum.done(quorum.write("without the old leader", at=new))
        quorum.until(lambda: newcomer.is_voter)
        quorum.heal()
        assert quorum.settled()


def test_a_vote_that_cannot_be_written_is_not_told() -> None:
    with cluster(voters=3) as quorum:
        old = quorum.leader
        broken, candidate = quorum.others(old)
        quorum.scene.permits(quorum.world, Fault("disk-fail", 0, (broken,)))
        before = epoch_at(quorum, candidate)
        quorum.world.kill(old)
        disk = quorum.world.hosts[broken].disk
        for number in range(20):
            # It is written beside the old one, and then takes its name.
            disk.inject(Injection("sync", f"{LOG}/quorum-state.{number}.tmp", error=errno.EIO))
        quorum.run(3_000)
        lives = [each for each in quorum.scene.members if each.startswith(f"{broken}.")]
        assert len(lives) > 1, "its disk did not fail while it voted"
        disk.heal()
        assert quorum.new_leader(than=old)
        assert epoch_at(quorum, candidate) > before
        quorum.world.restart(old)
        assert quorum.settled()


def test_who_lost_its_disk_is_somebody_else_until_it_is_added() -> None:
    with cluster(voters=3) as quorum:
        leader = quorum.leader
        lost = quorum.others(leader)[0]
        assert quorum.scene.permits(quorum.world, Fault("wipe", 0, (lost,)))
        quorum.world.cut_power(lost, "prefix")
        quorum.world.hosts[lost].disk.wipe()
        quorum.world.restart(lost)
        assert quorum.settled()
        node = quorum.at(lost).quorum.node
        assert node.config.key == key_of(lost, 1)
        assert not node.is_voter
        # Its former self gives up the seat, and then it is a voter like any other.
        quorum.ask("remove", lost, 0)
        quorum.until(lambda: len(quorum.at(leader).quorum.node.voters.current) == 2)
        quorum.run(2_000)
        # The first question may meet the connection that the old machine had.
        quorum.ask("add", lost, 0)
        quorum.run(2_000)
        quorum.ask("add", lost, 0)
        quorum.until(lambda: node.is_voter)
        assert not isinstance(node.state, Unattached)
        assert quorum.settled()


def test_a_leader_appends_while_its_log_is_cleaned() -> None:
    small = (("snapshot_bytes", 1_500), ("retention_bytes", 0), ("segment_bytes", 2_048))
    with cluster(voters=1, knobs=small) as quorum:
        for number in range(60):
            quorum.scene.write("key", (f"{number} {'.' * 200}",), 0)
            quorum.run(7)
        assert quorum.settled()
        assert quorum.at("n1").quorum.node.outline.start_offset > 0
