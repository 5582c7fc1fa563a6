"""Operators' tools, Kafka's and ours, on quorums of either: the same words about the same thing.

``kafka-metadata-quorum`` describes a quorum of ours, adds a controller to it and removes it again,
and is refused with Kafka's errors; ``barnabas metadata-quorum`` does the same to a quorum of
Kafka's.  ``kafka-features`` and ``kafka-dump-log`` read what our leader tells and writes.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from barnabas.model.ids import uuid_text
from tests.compat.controllers import QUIET, Controllers, directory_id
from tests.compat.kafka_node import Node
from tests.compat.kafka_tools import TOOL_S, ToolFailed, tool
from tests.compat.our_node import OurNode, barnabas

# Times pass between two looks.
TIME: Final = re.compile(r"\b\d{13}\b|(?<=MaxFollowerLagTimeMs:)\s+\d+|\b\d+ ms ago\b")


@pytest.fixture(scope="module", params=[Node, OurNode], ids=["theirs", "ours"])
def quorum(request: pytest.FixtureRequest) -> Iterator[Controllers]:
    """Three controllers of one kind, and one of that kind that only observes."""
    with (
        TemporaryDirectory() as place,
        Controllers(Path(place), [request.param] * 3, settings=QUIET) as running,
    ):
        observer = running.newcomer(request.param, 4)
        observer.start()
        running.caught_up(observer)
        running.quiet_state(still_s=3)
        yield running


def their_tool(quorum: Controllers, *words: str) -> str:
    """Return what Kafka's tool prints."""
    return tool("metadata-quorum", "--bootstrap-controller", quorum.bootstrap, *words)


def our_tool(quorum: Controllers, *words: str) -> str:
    """Return what our tool prints."""
    bootstrap = ["--bootstrap-controller", quorum.bootstrap]
    ran = subprocess.run(
        barnabas("metadata-quorum", *bootstrap, *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=TOOL_S,
    )
    if ran.returncode:
        raise ToolFailed(ran.stdout + ran.stderr)
    return ran.stdout


def without_times(text: str) -> list[str]:
    """Return the lines that a tool prints, in columns as wide as what is in them."""
    lines = [re.sub(r"\s+", " ", TIME.sub(" TIME ", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line]


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "--status"],
        ["describe", "--replication"],
        ["describe", "--replication", "--human-readable"],
    ],
    ids=" ".join,
)
def test_both_tools_tell_the_same_of_either_quorum(quorum: Controllers, words: list[str]) -> None:
    theirs, ours = their_tool(quorum, *words), our_tool(quorum, *words)
    assert without_times(ours) == without_times(theirs)
    assert len(without_times(theirs)) == (8 if "--status" in words else 5)


def test_what_is_told_is_so(quorum: Controllers) -> None:
    status = dict(
        re.split(r":\s+", line, maxsplit=1)
        for line in their_tool(quorum, "describe", "--status").splitlines()
        if line
    )
    said = quorum.state()
    assert status["ClusterId"] == quorum.cluster_id
    assert status["LeaderId"] == str(said.leader_id)
    assert status["LeaderEpoch"] == str(said.leader_epoch)
    assert status["HighWatermark"] == str(said.high_watermark)
    for node in quorum.voters:
        voter = f'{{"id": {node.id}, "directoryId": "{uuid_text(directory_id(node.id))}", '
        assert (
            f'{voter}"endpoints": ["CONTROLLER://{node.controller}"]}}' in status["CurrentVoters"]
        )
    observer = quorum.nodes[4]
    assert status["CurrentObservers"] == (
        f'[{{"id": 4, "directoryId": "{uuid_text(observer.directory_id)}"}}]'
    )


@pytest.mark.parametrize("operate", [their_tool, our_tool])
def test_a_controller_is_added_and_removed_by_either_tool(
    quorum: Controllers, operate: Callable[..., str]
) -> None:
    newcomer = quorum.nodes[4]
    adding = ["--command-config", str(newcomer.properties), "add-controller"]
    directory = uuid_text(newcomer.directory_id)
    removing = ["remove-controller", "--controller-id", "4", "--controller-directory-id"]

    assert f"Added controller 4 with directory id {directory}" in operate(quorum, *adding)
    assert {it.replica_id for it in quorum.state().current_voters} == {1, 2, 3, 4}
    with pytest.raises(ToolFailed, match=r"DuplicateVoterException|DUPLICATE_VOTER"):
        operate(quorum, *adding)
    with pytest.raises(ToolFailed, match=r"VoterNotFoundException|VOTER_NOT_FOUND"):
        operate(quorum, *removing, uuid_text(directory_id(4)))

    assert f"controller 4 with directory id {directory}" in operate(quorum, *removing, directory)
    assert {it.replica_id for it in quorum.state().current_voters} == {1, 2, 3}
    with pytest.raises(ToolFailed, match=r"VoterNotFoundException|VOTER_NOT_FOUND"):
        operate(quorum, *removing, directory)


def test_kafka_finds_the_feature_of_voters(quorum: Controllers) -> None:
    told = tool("features", "--bootstrap-controller", quorum.bootstrap, "describe")
    (line,) = (line for line in told.splitlines() if "kraft.version" in line)
    assert re.search(r"SupportedMinVersion: 0\s+SupportedMaxVersion: 1\s", line)
    assert re.search(r"FinalizedVersionLevel: 1\s", line)


def test_kafka_reads_what_either_leader_wrote_of_its_epoch(quorum: Controllers) -> None:
    leader = quorum.leader()
    log = leader.metadata / f"{'0' * 20}.log"
    decoded = tool("dump-log", "--cluster-metadata-decoder", "--files", str(log))
    change, version, voters = [line for line in decoded.splitlines() if "| offset: " in line][:3]
    assert f'LeaderChange: {{"version":0,"leaderId":{leader.id},' in change
    assert 'KRaftVersion {"version":0,"kRaftVersion":1}' in version
    for node in quorum.voters:
        assert (
            f'"voterId":{node.id},"voterDirectoryId":"{uuid_text(directory_id(node.id))}"' in voters
        )
        assert f'"host":"127.0.0.1","port":{node.ports["CONTROLLER"]}' in voters
    assert '"minSupportedVersion":0,"maxSupportedVersion":1' in voters
