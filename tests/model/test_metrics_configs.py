"""Configs of subscriptions to the metrics of clients."""

from collections.abc import Mapping

import pytest

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.metrics_configs import METRICS_CONFIGS, check_client_metrics


def test_every_default_is_allowed() -> None:
    check_client_metrics(
        "a", {name: config.default or "" for name, config in METRICS_CONFIGS.items()}
    )


@pytest.mark.parametrize(
    ("name", "wanted", "code"),
    [
        ("", {}, ErrorCode.INVALID_REQUEST),
        ("a", {"no.such": "1"}, ErrorCode.INVALID_REQUEST),
        ("a", {"interval.ms": "99"}, ErrorCode.INVALID_REQUEST),
        ("a", {"interval.ms": "x"}, ErrorCode.INVALID_CONFIG),
        ("a", {"match": "client_id"}, ErrorCode.INVALID_CONFIG),
        ("a", {"match": "client_id=a=b"}, ErrorCode.INVALID_CONFIG),
        ("a", {"match": "client_id=("}, ErrorCode.INVALID_CONFIG),
        ("a", {"match": "colour=red"}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_subscription_that_means_nothing_is_refused(
    name: str, wanted: Mapping[str, str], code: ErrorCode
) -> None:
    with pytest.raises(Refused) as caught:
        check_client_metrics(name, wanted)
    assert caught.value.code is code


def test_a_subscription_says_what_from_whom_and_how_often() -> None:
    match = "client_id=a.*,client_source_port=1"
    check_client_metrics("a", {"metrics": "org.apache", "match": match, "interval.ms": "100"})
