"""A Barnabas controller among Kafka's: an observer, a voter, a leader that Kafka's follow.

Whole processes on loopback: Kafka's controllers, and ``barnabas node`` with the same properties
files.  Our node has no controller's mind yet, so a quorum that it leads commits nothing but what
elections write; that Kafka's replicas follow it all the same is what is shown.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from barnabas.records.batch import batches
from tests.compat.controllers import (
    QUIET,
    SNAPSHOTS,
    Controllers,
    describe,
    eventually,
    write_metadata,
)
from tests.compat.kafka_node import Node
from tests.compat.kafka_tools import ToolFailed, tool
from tests.compat.our_node import OurNode

# A snapshot comes in many parts, and records a batch at a time.
PARTS: Final = {
    "controller.quorum.fetch.snapshot.max.bytes": "100",
    "controller.quorum.fetch.max.bytes": "100",
}

# A follower that has lost its leader is refused by those that have not yet.  So who loses it last
# is elected: it asks those who will not refuse any more.
FIRST_TO_LOSE_A_LEADER: Final = {"controller.quorum.fetch.timeout.ms": "1000"}
LAST_TO_LOSE_A_LEADER: Final = {"controller.quorum.fetch.timeout.ms": "3000"}
KAFKA_WINS: Final = {OurNode: FIRST_TO_LOSE_A_LEADER, Node: LAST_TO_LOSE_A_LEADER}
WE_WIN: Final = {OurNode: LAST_TO_LOSE_A_LEADER, Node: FIRST_TO_LOSE_A_LEADER}

USERS: Final = [f"user-{number}" for number in range(20)]


def log_of(node: Node, offset: int) -> bytes:
    """Return the batches of a node's metadata log from an offset on."""
    data = b"".join(path.read_bytes() for path in sorted(node.metadata.glob("*.log")))
    for position, header in batches(data):
        if header.base_offset >= offset:
            return data[position:]
    return b""


def snapshots_of(node: Node) -> dict[str, bytes]:
    """Return the snapshots of a node by their names; the one it was formatted with is its own."""
    found = {path.name: path.read_bytes() for path in sorted(node.metadata.glob("*.checkpoint"))}
    return {name: data for name, data in found.items() if not name.startswith("0" * 20)}


def same_log(quorum: Controllers, node: Node, other: Node) -> None:
    """See that two nodes have the same records behind the first one's snapshot."""
    end_offset = quorum.quiet_state(still_s=1).high_watermark
    quorum.caught_up(node)
    start_offset = int(min(snapshots_of(node)).partition("-")[0])
    records = log_of(node, start_offset)
    assert records == log_of(other, start_offset)
    assert [header.last_offset for _, header in batches(records)][-1:] == [end_offset - 1]


# --- observing ------------------------------------------------------------------------------------


def test_an_observer_tails_kafkas_quorum_through_a_snapshot(tmp_path: Path) -> None:
    with Controllers(tmp_path, [Node] * 2, settings={**QUIET, **SNAPSHOTS}) as quorum:
        quorum.write(USERS)
        quorum.quiet_state(still_s=2)
        ours = quorum.newcomer(OurNode, 7, PARTS)
        ours.start()
        said = quorum.caught_up(ours)
        assert [it.replica_id for it in said.observers] == [7]
        assert said.observers[0].replica_directory_id == ours.directory_id
        # Replicas take the same snapshots, but each tells when: it is the leader's.
        ((name, snapshot),) = snapshots_of(ours).items()
        assert snapshot == snapshots_of(quorum.leader())[name]
        assert len(snapshot) > 5 * 100
        quorum.write([f"{name} of later" for name in USERS])
        same_log(quorum, ours, quorum.leader())

        # Killed, and behind by more than one leader; its log is what it was.
        ours.kill()
        before = quorum.state().leader_epoch
        quorum.leader().stop()
        for node in quorum.voters:
            if not node.runs:
                node.start()
        assert quorum.state().leader_epoch > before
        quorum.write(["another user"])
        ours.start()
        quorum.caught_up(ours)
        same_log(quorum, ours, quorum.leader())


def newest_of(node: Node) -> Path:
    """Return the newest snapshot of a node."""
    return max(node.metadata.glob("*.checkpoint"))


def test_kafkas_tools_read_what_our_observer_has_written(tmp_path: Path) -> None:
    with Controllers(tmp_path, [Node], settings={**QUIET, **SNAPSHOTS}) as quorum:
        quorum.write(USERS)
        quorum.quiet_state(still_s=2)
        ours = quorum.newcomer(OurNode, 7)
        ours.start()
        quorum.caught_up(ours)
        quorum.write(["a later user"])
        quorum.caught_up(ours)
        words = ["ls", "/image/clientQuotas"]
        with pytest.raises(ToolFailed, match="Unable to lock"):
            tool("metadata-shell", "--snapshot", str(newest_of(ours)), *words)
        ours.stop()
        # It writes its own, whatever it once fetched.
        snapshot = newest_of(ours)
        listed = tool("metadata-shell", "--snapshot", str(snapshot), *words)
        assert all(name in listed for name in USERS)
        decoded = tool(
            "dump-log",
            "--cluster-metadata-decoder",
            "--files",
            ",".join(map(str, sorted([*ours.metadata.glob("*.log"), snapshot]))),
        )
        assert "a later user" in decoded
        assert "SnapshotHeader" in decoded
        assert "is invalid" not in decoded


# --- voting ---------------------------------------------------------------------------------------


@pytest.fixture(params=["dynamic", "static"])
def quorum(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Controllers]:
    """Two of Kafka's controllers and one of ours, all of them voters; Kafka's lead."""
    static = request.param == "static"
    kinds = [Node, Node, OurNode] if static else [Node, Node]
    formed = Controllers(
        tmp_path, kinds, static=static, settings={**SNAPSHOTS}, own_settings=KAFKA_WINS
    )
    if static:
        # Who is first to start is first to stand.
        for node in formed.voters[:2]:
            node.launch()
        formed.leader()
        formed.voters[2].launch()
        formed.leader()
    else:
        formed.__enter__()
        formed.write(USERS)
        ours = formed.newcomer(OurNode, 3, PARTS)
        ours.start()
        formed.caught_up(ours)
        tool(
            "metadata-quorum",
            "--bootstrap-controller",
            formed.bootstrap,
            "--command-config",
            str(ours.properties),
            "add-controller",
        )
    formed.caught_up(formed.nodes[3])
    try:
        yield formed
    finally:
        formed.__exit__(None, None, None)


def test_our_voter_is_counted_votes_and_may_be_lost(quorum: Controllers) -> None:
    ours = quorum.nodes[3]
    assert {voter.replica_id for voter in quorum.state().current_voters} == {1, 2, 3}
    leader, epoch = quorum.leader(), quorum.state().leader_epoch
    assert type(leader) is Node
    (follower,) = (node for node in quorum.voters if type(node) is Node and node is not leader)

    # One of Kafka's followers is lost: what is committed now is committed with ours.
    follower.kill()
    quorum.write(["a user that two replicas know"])
    assert b"a user that two replicas know" in log_of(ours, 0)

    # Ours is lost as well: nothing can be committed, nor decided.
    ours.kill()
    assert write_metadata(leader, ["a user that nobody knows"]) is None
    eventually(lambda: None if describe(leader) else True, "a leader of one that resigns")

    # Ours comes back, and there is a quorum again: it has voted for whoever leads now.
    ours.start()
    assert quorum.new_leader(epoch) is leader
    quorum.write(["a user of a new epoch"])

    # Kafka's follower comes back and ours is lost: it was one of three.
    follower.start()
    quorum.caught_up(follower)
    ours.kill()
    quorum.write(["a user that ours will hear of"])
    ours.start()
    quorum.caught_up(ours)
    assert b"a user that ours will hear of" in log_of(ours, 0)


@pytest.mark.parametrize("loss", ["killed", "held still"])
def test_our_vote_elects_kafkas_follower_when_kafkas_leader_is_lost(
    quorum: Controllers, loss: str
) -> None:
    ours, leader, epoch = quorum.nodes[3], quorum.leader(), quorum.state().leader_epoch
    (follower,) = (node for node in quorum.voters if type(node) is Node and node is not leader)
    if loss == "killed":
        leader.kill()
    else:
        leader.pause()
    assert quorum.new_leader(epoch) is follower
    quorum.write(["a user of the next leader"])
    assert b"a user of the next leader" in log_of(ours, 0)

    # Who led comes back and follows, even one that never noticed that it was gone.
    if loss == "killed":
        leader.start()
    else:
        leader.resume()
    quorum.caught_up(leader)
    assert quorum.leader() is not leader


@pytest.mark.parametrize("stop", ["cleanly", "killed"])
def test_each_goes_on_with_the_directory_that_the_other_left(tmp_path: Path, stop: str) -> None:
    with Controllers(
        tmp_path, [Node] * 3, settings={**QUIET, **SNAPSHOTS}, own_settings=KAFKA_WINS
    ) as quorum:
        node = quorum.nodes[3]
        for kind in (OurNode, Node, OurNode):
            quorum.write([f"{name} before {kind.__name__}" for name in USERS])
            quorum.caught_up(node)
            if stop == "cleanly":
                node.stop()
            else:
                node.kill()
            left = log_of(node, 0)
            node = quorum.replaced(node, kind)
            node.start()
            said = quorum.caught_up(node)
            assert log_of(node, 0).startswith(left)
            # It has told where it is reached now, and is the same voter.
            assert {voter.replica_id for voter in said.current_voters} == {1, 2, 3}
            eventually(partial(is_reached, quorum, node), f"{node} in its new place")
        same_log(quorum, node, quorum.leader())


def is_reached(quorum: Controllers, node: Node) -> bool | None:
    """Tell whether the quorum knows where a voter listens, by Kafka's own tool."""
    words = ["--bootstrap-controller", quorum.bootstrap, "describe", "--status"]
    return f"CONTROLLER://{node.controller}" in tool("metadata-quorum", *words) or None


# --- leading --------------------------------------------------------------------------------------


def test_kafkas_replicas_follow_our_leader_and_one_comes_by_its_snapshot(tmp_path: Path) -> None:
    settings = {**QUIET, **SNAPSHOTS}
    with Controllers(tmp_path, [Node] * 2, settings=settings, own_settings=WE_WIN) as quorum:
        quorum.write(USERS)
        quorum.quiet_state(still_s=2)
        ours = quorum.newcomer(OurNode, 3, PARTS)
        ours.start()
        quorum.caught_up(ours)
        controllers = ["--bootstrap-controller", quorum.bootstrap]
        words = [*controllers, "--command-config", str(ours.properties), "add-controller"]
        tool("metadata-quorum", *words)
        quorum.quiet_state(still_s=2)
        epoch, leader = quorum.state().leader_epoch, quorum.leader()
        leader.kill()
        assert quorum.new_leader(epoch) is ours
        leader.start()
        for node in quorum.voters:
            quorum.caught_up(node)

        # Whom nobody knows begins with a snapshot of ours.
        stranger = quorum.newcomer(Node, 8, PARTS)
        stranger.start()
        quorum.caught_up(stranger)
        begun_with = min(snapshots_of(stranger))
        assert snapshots_of(stranger)[begun_with] == snapshots_of(ours)[begun_with]
        said = quorum.state()
        assert said.leader_id == 3
        assert [it.replica_id for it in said.observers] == [8]

        # Ours says goodbye: one of Kafka's leads, and has its mind about it.
        ours.stop()
        successor = quorum.new_leader(said.leader_epoch)
        assert type(successor) is Node
        quorum.write(["a user after our reign"])
