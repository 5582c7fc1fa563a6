"""Client quotas, by filters."""

import pytest

from barnabas.metadata.image import MetadataImage
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.views.quotas import Match, describe
from barnabas.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from tests.controller.scene import three

EXACT, DEFAULT, SPECIFIED = Match

Part = tuple[str, int, str | None]


def quota(key: str, limit: float, **names: str | None) -> ClientQuotaRecord:
    """Return a quota of an entity."""
    return ClientQuotaRecord(
        entity=[
            ClientQuotaRecord.EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
            for kind, name in names.items()
        ],
        key=key,
        value=limit,
    )


def image() -> MetadataImage:
    """Return a cluster with some quotas."""
    return three(
        quota("a", 1, user="alice"),
        quota("b", 2, user="alice"),
        quota("a", 3, user=None),
        quota("a", 4, user="alice", client_id="c"),
        quota("a", 5, client_id="c"),
        quota("r", 6, ip="10.0.0.1"),
    ).image


def asked(*parts: Part, strict: bool = False, caller: Caller = ANYBODY) -> list[dict[str, float]]:
    """Return the quotas of the entities that a filter takes."""
    response = describe(image(), request(*parts, strict=strict), caller)
    assert response.error_code == 0
    assert response.entries is not None
    return sorted(
        ({one.key: one.value for one in entry.values} for entry in response.entries),
        key=lambda values: values.get("a", 9),
    )


def request(*parts: Part, strict: bool = False) -> DescribeClientQuotasRequest:
    """Return a request with a filter."""
    return DescribeClientQuotasRequest(
        components=[
            DescribeClientQuotasRequest.ComponentData(entity_type=kind, match_type=how, match=name)
            for kind, how, name in parts
        ],
        strict=strict,
    )


def test_no_filter_takes_everything_and_a_strict_one_nothing() -> None:
    assert len(asked()) == 5
    assert asked(strict=True) == []


def test_entities_are_found_by_name_by_default_or_by_kind() -> None:
    assert asked(("user", EXACT, "alice")) == [{"a": 1, "b": 2}, {"a": 4}]
    assert asked(("user", EXACT, "alice"), strict=True) == [{"a": 1, "b": 2}]
    assert asked(("user", DEFAULT, None)) == [{"a": 3}]
    assert asked(("user", SPECIFIED, None)) == [{"a": 1, "b": 2}, {"a": 3}, {"a": 4}]
    both = (("user", EXACT, "alice"), ("client-id", SPECIFIED, None))
    assert asked(*both, strict=True) == [{"a": 4}]
    assert asked(("ip", EXACT, "10.0.0.1")) == [{"r": 6}]
    assert asked(("user", EXACT, "bob")) == []


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([("", EXACT, "a")], ErrorCode.INVALID_REQUEST),
        ([("user", EXACT, "a"), ("user", EXACT, "b")], ErrorCode.INVALID_REQUEST),
        ([("colour", EXACT, "a")], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([("user", DEFAULT, "a")], ErrorCode.INVALID_REQUEST),
        ([("user", SPECIFIED, "a")], ErrorCode.INVALID_REQUEST),
        ([("user", 9, None)], ErrorCode.INVALID_REQUEST),
        ([("ip", EXACT, "a"), ("user", EXACT, "b")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_filter_that_means_nothing_is_refused(parts: list[Part], code: ErrorCode) -> None:
    response = describe(image(), request(*parts), ANYBODY)
    assert response.error_code == code
    assert response.error_message
    assert response.entries is None


def test_who_may_not_describe_the_cluster_is_told_nothing() -> None:
    caller = Caller("User:m", lambda operation, kind, name: False)
    response = describe(image(), request(), caller)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert response.entries is None
