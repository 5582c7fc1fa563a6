"""``barnabas wire``: what it shows, and what it says to bytes that are no message."""

import io
import json

import pytest

from barnabas.cli.wire import main
from barnabas.wire.frames import request_frame
from barnabas.wire.messages.api_versions import ApiVersionsRequest


def test_every_api_is_listed_with_its_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    fetch = next(row for row in rows if row["api"] == "Fetch")
    assert (fetch["key"], fetch["versions"], fetch["understood"]) == (1, "4-18", "0-18")


def test_the_table_for_people_has_a_line_for_each_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis"]) == 0
    assert any(line.split()[:2] == ["0", "Produce"] for line in capsys.readouterr().out.split("\n"))


def test_a_layout_shows_what_one_version_carries(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "FetchRequest", "--version", "4"]) == 0
    shown = capsys.readouterr().out
    assert "    topic: string\n" in shown
    assert "topic_id" not in shown


def test_a_frame_is_decoded_header_and_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = ApiVersionsRequest(client_software_name="k", client_software_version="1")
    frame = b"".join(request_frame(request, 4, 7, "land-surveyor"))
    monkeypatch.setattr("sys.stdin", io.StringIO(frame.hex(" ")))
    assert main(["decode", "request"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["api"], shown["correlation_id"]) == ("ApiVersions", 7)
    assert shown["client_id"] == "land-surveyor"
    assert shown["body"]["client_software_name"] == "k"


@pytest.mark.parametrize(
    ("words", "data", "complaint"),
    [
        (["decode", "CastleRequest"], "00", "no message 'CastleRequest'"),
        (["decode", "FetchRequest", "--version", "99"], "00", "versions 0 to 18"),
        (["decode", "FetchRequest"], "00", "FetchRequest v18"),
        (["decode", "FetchRequest"], "k.", "non-hexadecimal"),
        (["decode", "request"], "00000012 0012", "a frame of 22 bytes was begun"),
        (["decode", "request"], "00000008 7fff 0000 00000000", "no API 32767"),
    ],
)
def test_what_is_no_message_is_refused_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    data: str,
    complaint: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(data))
    assert main(words) == 1
    assert complaint in capsys.readouterr().err
