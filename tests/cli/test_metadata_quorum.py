"""``barnabas metadata-quorum``: what it prints, what it refuses, and that it finds a leader."""

import json
import re
from pathlib import Path

import pytest

from barnabas.cli import metadata_quorum
from barnabas.cli.metadata_quorum import Partition, Quorum, ReplicaState, newcomer
from barnabas.model.errors import Misconfigured, Refused
from barnabas.model.ids import Uuid, uuid_text
from tests.cli.running import CLUSTER, free_port, running, told

IDS = [Uuid(bytes([number]) * 16) for number in range(4)]
NOW_MS = 1_700_000_000_000


def replica(node_id: int, end: int, ago_ms: int) -> ReplicaState:
    """Return how far a replica is."""
    return ReplicaState(
        replica_id=node_id,
        replica_directory_id=IDS[node_id],
        log_end_offset=end,
        last_fetch_timestamp=NOW_MS - ago_ms,
        last_caught_up_timestamp=NOW_MS - ago_ms,
    )


VOTERS = [replica(1, 100, 30), replica(2, 120, 0), replica(3, 90, 500)]
PARTITION = Partition(
    leader_id=2, leader_epoch=7, high_watermark=100, current_voters=VOTERS, observers=[]
)
QUORUM = Quorum(CLUSTER, PARTITION, {1: ["CONTROLLER://n1:9093"]})


def test_the_status_is_printed_as_kafka_prints_it() -> None:
    lines = list(QUORUM.status())
    assert lines[:6] == [
        f"ClusterId:              {CLUSTER}",
        "LeaderId:               2",
        "LeaderEpoch:            7",
        "HighWatermark:          100",
        "MaxFollowerLag:         30",
        "MaxFollowerLagTimeMs:   500",
    ]
    one = (
        f'{{"id": 1, "directoryId": "{uuid_text(IDS[1])}", "endpoints": ["CONTROLLER://n1:9093"]}}'
    )
    assert lines[6].startswith(f"CurrentVoters:          [{one}, ")
    assert lines[7] == "CurrentObservers:       []"


def test_replicas_are_printed_leader_first_with_their_lag() -> None:
    table = [line.split("\t") for line in QUORUM.table(False, NOW_MS)]
    assert [row[0].strip() for row in table] == ["NodeId", "2", "1", "3"]
    assert [row[3].strip() for row in table[1:]] == ["0", "20", "30"]
    assert [row[6] for row in table[1:]] == ["Leader", "Follower", "Follower"]


def test_times_are_told_as_ages_where_a_person_wants_them() -> None:
    table = [line.split("\t") for line in QUORUM.table(True, NOW_MS)]
    assert table[2][4].strip() == "30 ms ago"


def test_a_quorum_without_a_leader_is_said_to_have_none() -> None:
    nobody = Quorum(CLUSTER, Partition(leader_id=-1), {})
    with pytest.raises(Refused, match="no leader"):
        list(nobody.status())


def test_everything_is_there_for_machines() -> None:
    told_json = QUORUM.as_json()
    assert told_json["leaderId"] == 2
    assert json.loads(json.dumps(told_json)) == told_json


@pytest.mark.slow
def test_a_running_quorum_is_described_and_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    config = told(tmp_path, port)
    with running(config):
        capsys.readouterr()
        place = ["--bootstrap-controller", f"127.0.0.1:{port}"]
        printed = ""
        # It takes a leader a flush to have committed anything.
        while not re.search(r"HighWatermark: +\d", printed):
            assert metadata_quorum.main([*place, "describe", "--status"]) == 0
            printed = capsys.readouterr().out
        assert f"ClusterId:              {CLUSTER}" in printed
        assert "LeaderId:               1" in printed
        again = [*place, "--command-config", str(config), "add-controller"]
        assert metadata_quorum.main(again) == 1
        assert "DUPLICATE_VOTER" in capsys.readouterr().err
        last = ["--controller-id", "1", "--controller-directory-id"]
        last.append(uuid_text(newcomer(str(config)).directory_id))
        assert metadata_quorum.main([*place, "remove-controller", *last]) == 1
        assert "VOTER_NOT_FOUND" in capsys.readouterr().err


def test_nobody_there_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    words = ["--bootstrap-controller", f"127.0.0.1:{port}", "describe", "--status"]
    assert metadata_quorum.main(words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"127.0.0.1:{port}" in line


def test_a_dry_run_says_what_would_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = uuid_text(IDS[3])
    words = ["--bootstrap-controller", "127.0.0.1:1", "remove-controller", "-i", "3"]
    assert metadata_quorum.main([*words, "-d", directory, "--dry-run"]) == 0
    assert capsys.readouterr().out == (
        f"DRY RUN of removing KRaft controller 3 with directory id {directory}\n"
    )


def test_ids_that_are_none_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--bootstrap-controller", "127.0.0.1:1", "remove-controller", "-i", "3", "-d", "no"]
    assert metadata_quorum.main(words) == 1
    assert "`no`" in capsys.readouterr().err


def test_a_newcomer_has_to_be_formatted(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="barnabas storage format"):
        newcomer(str(told(tmp_path, free_port())))
