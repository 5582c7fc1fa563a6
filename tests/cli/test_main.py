"""The door of the command line: what it says, and that what it lists can be opened."""

import importlib

import pytest

import barnabas
from barnabas.cli.main import COMMANDS, main


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run the command with these words."""
    monkeypatch.setattr("sys.argv", ["barnabas", *words])
    return main()


def test_it_knows_its_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"barnabas {barnabas.__version__}\n"


def test_help_lists_every_command_with_what_it_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--help") == 0
    listed = capsys.readouterr().out
    assert all(name in listed and command.about in listed for name, command in COMMANDS.items())


def test_a_command_that_is_not_there_is_named_in_the_refusal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "castle") == 2
    assert "'castle'" in capsys.readouterr().err


def test_saying_nothing_is_answered_with_the_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 2
    assert "usage: barnabas" in capsys.readouterr().err


def test_every_listed_command_can_be_loaded_and_run() -> None:
    for command in COMMANDS.values():
        assert callable(importlib.import_module(command.module).main)
