"""Delegation tokens as clients are told of them: their own, and those they may know of.

Whoever is told of a token is told its secret, too, and can use it: so it is told to its owner, to
who may renew it, and to who may describe the token or its owner's tokens.

Fixed by Kafka's DelegationTokenManager.java and KafkaApis.scala.
"""

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.tokens import DelegationToken
from barnabas.model.acls import AclResource, Operation
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode
from barnabas.model.tokens import Principal, token_hmac
from barnabas.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def describe(
    image: MetadataImage,
    request: DescribeDelegationTokenRequest,
    caller: Caller,
    secret_key: str | None,
) -> DescribeDelegationTokenResponse:
    """Answer DescribeDelegationToken; ``secret_key`` is the node's, None if there are no tokens."""
    if secret_key is None:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = {f"{one.principal_type}:{one.principal_name}" for one in request.owners}
    return DescribeDelegationTokenResponse(
        tokens=[
            described(token_id, token, secret_key)
            for token_id, token in image.delegation_tokens.tokens.items()
            if (owners is None or owners & {token.owner, *token.renewers})
            and may_know(token_id, token, caller)
        ]
    )


def may_know(token_id: str, token: DelegationToken, caller: Caller) -> bool:
    """Tell whether a caller is told of a token."""
    return (
        caller.principal in (token.owner, *token.renewers)
        or caller.may(Operation.DESCRIBE, AclResource.DELEGATION_TOKEN, token_id)
        or caller.may(Operation.DESCRIBE_TOKENS, AclResource.USER, token.owner)
    )


def described(
    token_id: str, token: DelegationToken, secret_key: str
) -> DescribeDelegationTokenResponse.DescribedDelegationToken:
    """Return what is told of a token."""
    owner, requester = Principal.of(token.owner), Principal.of(token.requester)
    return DescribeDelegationTokenResponse.DescribedDelegationToken(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiration_ms,
        max_timestamp=token.max_ms,
        token_id=token_id,
        hmac=token_hmac(secret_key, token_id),
        renewers=[
            DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer(
                principal_type=renewer.type, principal_name=renewer.name
            )
            for renewer in map(Principal.of, token.renewers)
        ],
    )
