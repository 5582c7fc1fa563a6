"""``barnabas node``: starts, says why it does not, stops when told to."""

import signal
from pathlib import Path

import pytest

from barnabas.cli import node, storage
from tests.cli.running import CLUSTER, WAIT_S, free_port, running, told


@pytest.mark.slow
def test_a_node_leads_alone_and_stops_in_good_order_when_told_to(tmp_path: Path) -> None:
    with running(told(tmp_path, free_port())) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
        assert process.stderr is not None
        assert "[node 1] stopped" in process.stderr.read()


def test_what_is_wrong_is_one_line_and_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = told(tmp_path, free_port())
    assert node.main(["--config", str(config)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("barnabas node: controller 1: metadata.log.dir ")
    assert "barnabas storage format" in line


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert node.main(["--config", str(tmp_path / "none")]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err


@pytest.mark.slow
def test_a_broker_that_finds_no_controller_says_so_in_one_line_when_its_time_is_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "broker.properties"
    config.write_text(
        f"process.roles=broker\n"
        f"node.id=7\n"
        f"log.dirs={tmp_path}/data\n"
        f"listeners=PLAINTEXT://127.0.0.1:0\n"
        f"controller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{free_port()}\n"
        f"initial.broker.registration.timeout.ms=300\n"
    )
    assert not storage.main(["format", "-c", str(config), "-t", CLUSTER])
    capsys.readouterr()
    assert node.main(["--config", str(config)]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("barnabas node: broker 7 could not register within 300 ms")
    assert "nobody is known to lead the quorum" in line
