"""``barnabas storage`` on real directories."""

import json
from pathlib import Path

import pytest

from barnabas.cli import dump_log
from barnabas.cli.storage import main
from barnabas.model.ids import parse_uuid

CLUSTER = "XcZZOzUqS4yHOjhMQB6JLQ"


def written(place: Path, **more: str) -> str:
    """Write the properties of a combined node and return the file's path."""
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
        "log.dirs": f"{place}/a,{place}/b",
    }
    file = place / "server.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in (lines | more).items()))
    return str(file)


def test_an_id_is_one_that_kafka_could_have_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["random-uuid"]) == 0
    text = capsys.readouterr().out.strip()
    assert not text.startswith("-")
    assert parse_uuid(text)[6] >> 4 == 4


def test_directories_are_formatted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = written(tmp_path)
    assert main(["info", "-c", config]) == 1
    assert f"{tmp_path}/a does not exist" in capsys.readouterr().out
    words = ["format", "-c", config, "-t", CLUSTER]
    assert main([*words, "--standalone", "-S", "SCRAM-SHA-256=[name=a,password=b]"]) == 0
    out = capsys.readouterr().out
    assert f"Formatting dynamic metadata voter directory {tmp_path}/a with metadata" in out
    assert f"Formatting data directory {tmp_path}/b with metadata.version 4.3-IV0." in out
    assert main(["info", "-c", config]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Found log directories:\n  {tmp_path}/a\n  {tmp_path}/b\n\nFound metad")
    assert f"{{cluster.id={CLUSTER}, directory.id=" in out
    assert main([*words, "--standalone"]) == 1
    assert f"Log directory {tmp_path}/a is already formatted." in capsys.readouterr().err


def test_what_was_formatted_can_be_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["format", "-c", written(tmp_path), "-t", CLUSTER, "-s", "-r", "4.1"])
    capsys.readouterr()
    assert dump_log.main(["--json", "--print-data", str(tmp_path / "a")]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    records = [row["payload"] for row in rows if row["type"] == "record"]
    assert {"name": "metadata.version", "featureLevel": 27} in [
        record.get("data") for record in records
    ]
    assert "voters" in json.dumps(records)


def test_refusals_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["format", "-c", written(tmp_path), "-t", CLUSTER]) == 1
    assert capsys.readouterr().err.startswith(
        "barnabas storage: Because controller.quorum.voters is not set on this controller"
    )
    assert main(["info", "-c", str(tmp_path / "missing")]) == 1
    assert "missing" in capsys.readouterr().err
    assert main(["info", "-c", written(tmp_path, **{"process.roles": "x"})]) == 1
    assert "Unknown process role 'x'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["format", "-c", "x", "-t", "y", "-s", "-N"])


def test_releases_and_what_features_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version-mapping", "-r", "4.0"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "metadata.version=25 (4.0)",
        "kraft.version=1",
        "transaction.version=2",
        "group.version=1",
        "eligible.leader.replicas.version=0",
        "share.version=0",
        "streams.version=0",
    ]
    features = ["eligible.leader.replicas.version=1", "metadata.version=17", "group.version=1"]
    words = [word for feature in features for word in ("-f", feature)]
    assert main(["feature-dependencies", *words]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "eligible.leader.replicas.version=1 requires:",
        "    metadata.version=23 (4.0-IV1)",
        "metadata.version=17 (3.7-IV2) has no dependencies.",
        "group.version=1 has no dependencies.",
    ]
    assert main(["feature-dependencies", "-f", "x=1"]) == 1
