"""Rows for machines and tables for people."""

import json

import pytest

from barnabas.sim.driver.report import Report, table, text_of

ROWS = ({"id": "a", "killed": True, "ratio": 0.5}, {"id": "long", "killed": False, "ratio": None})


def test_json_rows_are_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(as_json=True)
    report.row(ROWS[0])
    report.last(ROWS[1])
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == list(ROWS)


def test_a_table_has_columns_that_line_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert table(ROWS).splitlines() == [
        "id    killed  ratio",
        "a     yes     0.50",
        "long  no      -",
    ]
    report = Report(as_json=False)
    report.row(ROWS[0])
    report.last({"seeds": 3})
    assert capsys.readouterr().out.splitlines() == [
        "id  killed  ratio",
        "a   yes     0.50",
        "",
        "seeds",
        "3",
    ]


def test_cells_read_well() -> None:
    assert [text_of(cell) for cell in (True, None, 1, 1.0, "x")] == ["yes", "-", "1", "1.00", "x"]
