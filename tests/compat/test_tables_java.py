"""Our tables are Apache Kafka's: error codes, APIs, who serves them, and their headers.

Kafka 4.3.1 has the word on errors and on what is served; the headers of versions that Kafka 4
dropped are asked of 3.9.2.
"""

from typing import Final

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import APIS, ApiKey, request_header_version, response_header_version
from tests.compat.judge import Judge

NEWEST: Final = Judge("4.3.1")
OLDEST: Final = Judge("3.9.2")


@pytest.mark.parametrize("row", NEWEST.table("errors"), ids=lambda row: str(row[1]))
def test_an_error_has_its_number_and_may_be_retried_as_in_kafka(row: list[str]) -> None:
    code, name, retriable = row
    error = ErrorCode[name]
    assert error == int(code)
    assert error.retriable is (retriable == "true")


def test_there_are_no_other_errors() -> None:
    assert {error.name for error in ErrorCode} == {name for _, name, _ in NEWEST.table("errors")}


@pytest.mark.parametrize("row", NEWEST.table("apis"), ids=lambda row: str(row[1]))
def test_an_api_is_served_as_by_kafka(row: list[str]) -> None:
    number, name, on_brokers, on_controllers, lowest, highest, _ = row
    api = APIS[ApiKey(int(number))]
    assert ApiKey(int(number)).name == name
    assert api.versions == range(int(lowest), int(highest) + 1)
    assert ("broker" in api.listeners) is (on_brokers == "true")
    assert ("controller" in api.listeners) is (on_controllers == "true")


@pytest.mark.parametrize(
    "row",
    [*NEWEST.table("apis"), *OLDEST.table("apis")],
    ids=[f"{row[1]}-{judge.release}" for judge in (NEWEST, OLDEST) for row in judge.table("apis")],
)
def test_headers_are_those_of_kafka(row: list[str]) -> None:
    key, lowest, headers = ApiKey(int(row[0])), int(row[4]), row[6]
    for version, pair in enumerate(headers.split(","), start=lowest):
        ours = f"{request_header_version(key, version)}/{response_header_version(key, version)}"
        assert ours == pair, version
