"""Delegation tokens as clients are told of them."""

from barnabas.model.acls import AclResource, Operation
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.model.tokens import token_hmac
from barnabas.views.tokens import describe
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from tests.controller.scene import three


def token(token_id: str, owner: str, *renewers: str) -> DelegationTokenRecord:
    """Return a token."""
    return DelegationTokenRecord(
        owner=owner, requester="User:admin", renewers=renewers, issue_timestamp=1,
        max_timestamp=3, expiration_timestamp=2, token_id=token_id,
    )  # fmt: skip


IMAGE = three(
    token("a", "User:alice", "User:bob"), token("b", "User:bob"), token("c", "User:carol")
).image


def asked(caller: Caller, *owners: str, everybody: bool = False) -> set[str]:
    """Return the ids of the tokens that somebody is told of."""
    request = DescribeDelegationTokenRequest(
        owners=None
        if everybody
        else [
            DescribeDelegationTokenRequest.DescribeDelegationTokenOwner(
                principal_type="User", principal_name=owner
            )
            for owner in owners
        ]
    )
    response = describe(IMAGE, request, caller, "key")
    assert response.error_code == 0
    return {one.token_id for one in response.tokens}


def nothing(operation: Operation, kind: AclResource, name: str) -> bool:
    """Permit nothing."""
    return False


def test_everybody_is_told_of_their_own_tokens_and_those_they_may_renew() -> None:
    assert asked(Caller("User:alice", nothing), everybody=True) == {"a"}
    assert asked(Caller("User:bob", nothing), everybody=True) == {"a", "b"}
    assert asked(ANYBODY, everybody=True) == {"a", "b", "c"}


def test_tokens_are_asked_for_by_those_who_have_them() -> None:
    assert asked(ANYBODY, "bob") == {"a", "b"}
    assert asked(ANYBODY, "carol", "dave") == {"c"}
    assert asked(ANYBODY) == set()


def test_tokens_of_others_are_told_by_permission_for_the_token_or_the_owner() -> None:
    def by_token(operation: Operation, kind: AclResource, name: str) -> bool:
        return (operation, kind, name) == (
            Operation.DESCRIBE, AclResource.DELEGATION_TOKEN, "c",
        )  # fmt: skip

    def by_owner(operation: Operation, kind: AclResource, name: str) -> bool:
        return (operation, kind, name) == (
            Operation.DESCRIBE_TOKENS, AclResource.USER, "User:bob",
        )  # fmt: skip

    assert asked(Caller("User:m", by_token), everybody=True) == {"c"}
    assert asked(Caller("User:m", by_owner), everybody=True) == {"b"}


def test_a_token_is_told_with_its_secret() -> None:
    request = DescribeDelegationTokenRequest(owners=None)
    tokens = {one.token_id: one for one in describe(IMAGE, request, ANYBODY, "key").tokens}
    found = tokens["a"]
    assert found.hmac == token_hmac("key", "a")
    assert (found.principal_name, found.token_requester_principal_name) == ("alice", "admin")
    assert (found.issue_timestamp, found.expiry_timestamp, found.max_timestamp) == (1, 2, 3)
    assert [one.principal_name for one in found.renewers] == ["bob"]


def test_a_node_without_a_key_has_no_tokens() -> None:
    response = describe(IMAGE, DescribeDelegationTokenRequest(), ANYBODY, None)
    assert response.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
