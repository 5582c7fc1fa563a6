"""ApiVersions from both ends: what is told, and what is agreed upon."""

import pytest

from barnabas.model.errors import ErrorCode, Refused
from barnabas.net.versions import (
    NO_FEATURES,
    Agreement,
    Features,
    answer,
    next_version,
    told_apis,
)
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.api_versions import ApiVersionsResponse
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.vote import VoteRequest
from tests.net.talk import api_versions, versions_of

SERVED = ServedApis("controller", [ApiKey.FETCH, ApiKey.VOTE, ApiKey.API_VERSIONS])
FEATURES = Features(
    supported={"metadata.version": range(7, 30), "kraft.version": range(2)},
    finalized={"metadata.version": 29, "group.version": 0},
    finalized_epoch=17,
)


def serves(key: int, first: int, last: int) -> ApiVersionsResponse:
    """Return an answer that tells of one API."""
    row = ApiVersionsResponse.ApiVersion(api_key=key, min_version=first, max_version=last)
    return ApiVersionsResponse(api_keys=[row])


def test_what_is_served_is_told_in_order_with_its_versions() -> None:
    told = answer(told_apis(SERVED), NO_FEATURES, api_versions(), 4)
    assert versions_of(told) == {1: (4, 18), 18: (0, 4), 52: (0, 2)}
    assert list(versions_of(told)) == [1, 18, 52]
    assert told.error_code == ErrorCode.NONE
    assert told.finalized_features_epoch == -1


def test_features_are_told_as_far_as_a_version_can_carry_them() -> None:
    told = answer(told_apis(SERVED), FEATURES, api_versions(), 4)
    assert [(it.name, it.min_version, it.max_version) for it in told.supported_features] == [
        ("metadata.version", 7, 29),
        ("kraft.version", 0, 1),
    ]
    # Level 0 means that the feature is off.
    finalized = [
        (it.name, it.min_version_level, it.max_version_level) for it in told.finalized_features
    ]
    assert finalized == [("metadata.version", 29, 29)]
    assert told.finalized_features_epoch == 17
    older = answer(told_apis(SERVED), FEATURES, api_versions(), 3)
    assert [it.name for it in older.supported_features] == ["metadata.version"], "KAFKA-17492"
    oldest = answer(told_apis(SERVED), FEATURES, api_versions(), 2)
    assert list(oldest.supported_features) + list(oldest.finalized_features) == []


@pytest.mark.parametrize(("name", "version"), [("", "1"), ("a", ""), ("-a", "1"), ("a b", "1")])
def test_software_that_cannot_say_its_name_is_refused(name: str, version: str) -> None:
    refused = answer(told_apis(SERVED), FEATURES, api_versions(name, version), 3)
    assert refused == ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    # Before version 3 nobody says it.
    assert answer(told_apis(SERVED), FEATURES, api_versions(name, version), 2).error_code == 0


def test_two_ends_agree_on_the_newest_version_that_both_know() -> None:
    for first, last, agreed in ((0, 11, 11), (4, 18, 18), (16, 99, 18), (18, 18, 18)):
        assert Agreement(serves(ApiKey.FETCH, first, last)).version(FetchRequest()) == agreed


def test_a_request_that_cannot_be_understood_there_is_refused_here() -> None:
    newer = Agreement(serves(ApiKey.FETCH, 19, 25))
    with pytest.raises(Refused, match="Fetch: 19 to 25 are served there, 0 to 18 are known here"):
        newer.version(FetchRequest())
    with pytest.raises(Refused, match="Vote is not served there") as refused:
        newer.version(VoteRequest())
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_who_is_refused_asks_in_the_version_that_the_answer_names() -> None:
    assert next_version(4, serves(ApiKey.API_VERSIONS, 0, 3)) == 3
    assert next_version(4, ApiVersionsResponse()) == 0, "brokers before KIP-511 name none"
    assert next_version(4, serves(ApiKey.FETCH, 0, 3)) == 0
    # An answer that refuses a version and names it as served would be asked for ever.
    assert next_version(4, serves(ApiKey.API_VERSIONS, 0, 4)) == 0
    assert next_version(0, serves(ApiKey.API_VERSIONS, 0, 3)) is None
