"""Which APIs there are and who serves them."""

import pytest

from barnabas.wire.apis import (
    APIS,
    ApiKey,
    ServedApis,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
)
from barnabas.wire.layout import is_flexible, valid_versions
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse


def test_every_key_has_its_row_and_its_classes() -> None:
    assert set(APIS) == set(ApiKey)
    for key in ApiKey:
        request, response = request_class(key), response_class(key)
        assert request.API_KEY == response.API_KEY == key
        assert request.VERSIONS == response.VERSIONS
        for version in APIS[key].versions:
            assert version in valid_versions(request)
            assert (version in APIS[key].flexible) == is_flexible(request, version)


def test_classes_are_found_by_key() -> None:
    assert request_class(ApiKey.FETCH) is FetchRequest
    assert response_class(ApiKey.FETCH) is FetchResponse


def test_ranges_are_those_of_kafka_4_3() -> None:
    ranges = {key: (APIS[key].versions[0], APIS[key].versions[-1]) for key in ApiKey}
    assert ranges[ApiKey.PRODUCE] == (3, 13)
    assert ranges[ApiKey.FETCH] == (4, 18)
    assert ranges[ApiKey.METADATA] == (0, 13)
    assert ranges[ApiKey.OFFSET_COMMIT] == (2, 10)
    assert ranges[ApiKey.API_VERSIONS] == (0, 4)
    assert ranges[ApiKey.INIT_PRODUCER_ID] == (0, 5), "6 is not stable in 4.3"


def test_what_lived_with_zookeeper_is_a_brokers() -> None:
    for key in (ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA):
        assert APIS[key].listeners == {"broker"}


def test_a_listener_advertises_what_is_handled_and_lies_about_produce_as_kafka_does() -> None:
    served = ServedApis("broker", [ApiKey.FETCH, ApiKey.PRODUCE])
    assert served.advertised() == [(ApiKey.PRODUCE, range(14)), (ApiKey.FETCH, range(4, 19))]
    assert 0 not in served.apis[ApiKey.PRODUCE].versions


def test_a_controller_does_not_serve_what_is_a_brokers() -> None:
    assert ServedApis("controller", [ApiKey.VOTE]).advertised() == [(ApiKey.VOTE, range(3))]
    with pytest.raises(AssertionError, match="a controller does not serve Produce"):
        ServedApis("controller", [ApiKey.VOTE, ApiKey.PRODUCE])


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (ApiKey.FETCH, 11, 1, 0),
        (ApiKey.FETCH, 12, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.API_VERSIONS, 99, 2, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, 1, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, 2, 1),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
    ],
)
def test_headers_follow_the_body_with_two_exceptions(
    key: ApiKey, version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header
