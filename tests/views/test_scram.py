"""SCRAM credentials as clients are told of them."""

from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.views.scram import describe
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.controller.scene import three


def credential(name: str, mechanism: int, iterations: int) -> UserScramCredentialRecord:
    """Return a credential."""
    return UserScramCredentialRecord(
        name=name, mechanism=mechanism, salt=b"s", stored_key=b"k", server_key=b"k",
        iterations=iterations,
    )  # fmt: skip


IMAGE = three(
    credential("bob", 2, 5000), credential("alice", 1, 4096), credential("bob", 1, 6000)
).image


def asked(
    *users: str, caller: Caller = ANYBODY
) -> list[tuple[str, ErrorCode, list[tuple[int, int]]]]:
    """Return what is told of some users."""
    request = DescribeUserScramCredentialsRequest(
        users=[DescribeUserScramCredentialsRequest.UserName(name=user) for user in users] or None
    )
    response = describe(IMAGE, request, caller)
    assert response.error_code == 0
    return [
        (
            one.user,
            ErrorCode(one.error_code),
            [(info.mechanism, info.iterations) for info in one.credential_infos],
        )
        for one in response.results
    ]


def test_all_users_are_told_of_if_none_is_named() -> None:
    assert asked() == [("alice", 0, [(1, 4096)]), ("bob", 0, [(1, 6000), (2, 5000)])]


def test_users_are_named_once_and_have_to_be_there() -> None:
    assert asked("bob", "carol", "alice", "alice") == [
        ("bob", 0, [(1, 6000), (2, 5000)]),
        ("carol", ErrorCode.RESOURCE_NOT_FOUND, []),
        ("alice", ErrorCode.DUPLICATE_RESOURCE, []),
    ]


def test_who_may_not_describe_the_cluster_is_told_nothing() -> None:
    caller = Caller("User:m", lambda operation, kind, name: False)
    response = describe(IMAGE, DescribeUserScramCredentialsRequest(), caller)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert not response.results
