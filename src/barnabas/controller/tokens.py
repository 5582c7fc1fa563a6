"""Delegation tokens: made, renewed, ended (KIP-48, KIP-373, KIP-900).

    create ─▶ valid until expiration ── renew ──▶ later, and never later than max
                        │
                        └── expire, or time ──▶ gone

Whoever has a token acts for its owner.  It lives for a while, can be made to live longer by its
owner and by renewers that were named when it was made, and never longer than its own limit.

Time is the calendar's, by the clock of the controller that decides, and is handed in.  So is what
makes an id.  The key with which secrets are made is the node's, and must be the same on all.

Fixed by Kafka's DelegationTokenControlManager.java.  Whether a connection may ask for tokens at all
(it has to be authenticated, and not by a token) is the handler's to know.
"""

from typing import Final, NamedTuple

from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import ControllerState
from barnabas.metadata.levels import DELEGATION_TOKENS
from barnabas.metadata.tokens import DelegationToken
from barnabas.model.acls import AclResource, Operation
from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.tokens import USER, Principal, is_hmac, token_hmac
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from barnabas.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from barnabas.wire.structs import Message

SECRET_KEY: Final = BROKER_CONFIGS["delegation.token.secret.key"]
MAX_LIFETIME: Final = BROKER_CONFIGS["delegation.token.max.lifetime.ms"]
LIFETIME: Final = BROKER_CONFIGS["delegation.token.expiry.time.ms"]

NO_TIME: Final = -1
"""What stands for a time in an answer that has none."""
LAST_MS: Final = (1 << 63) - 1
"""The end of all time."""

SWEPT_MAX: Final = 1_000
"""How many tokens are removed at once; the rest are next time."""


class Keys(NamedTuple):
    """What a node knows of tokens."""

    key: str
    max_lifetime_ms: int
    lifetime_ms: int


def keys_of(state: ControllerState, config: ControllerConfig) -> Keys:
    """Return what the node knows of tokens; ``Refused`` if there are none."""
    key = config.static.get(SECRET_KEY.name)
    if key is None:
        raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    if state.level < DELEGATION_TOKENS:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    return Keys(
        str(SECRET_KEY.parsed(key)),
        MAX_LIFETIME.number(config.static),
        LIFETIME.number(config.static),
    )


# --- The requests --------------------------------------------------------------------------------


def create(
    state: ControllerState,
    config: ControllerConfig,
    request: CreateDelegationTokenRequest,
    caller: Caller,
    token_id: Uuid,
    wall_ms: int,
) -> Decision[Message, CreateDelegationTokenResponse]:
    """Answer CreateDelegationToken: for the caller, or for somebody it may act for."""
    requester = owner = Principal.of(caller.principal)
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    told = uuid_text(token_id)
    try:
        if owner != requester and not caller.may(
            Operation.CREATE_TOKENS, AclResource.USER, str(owner)
        ):
            raise Refused(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
        keys = keys_of(state, config)
        if any(one.principal_type != USER for one in request.renewers):
            raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)
    except Refused as refused:
        return Decision((), refusal(refused, owner, requester))
    lifetime_ms = keys.max_lifetime_ms
    if request.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, request.max_lifetime_ms)
    max_ms = min(LAST_MS, wall_ms + lifetime_ms)
    token = DelegationToken(
        owner=str(owner),
        requester=str(requester),
        renewers=tuple(f"{one.principal_type}:{one.principal_name}" for one in request.renewers),
        issue_ms=wall_ms,
        max_ms=max_ms,
        expiration_ms=min(max_ms, wall_ms + keys.lifetime_ms),
    )
    return Decision(
        (record_of(told, token, token.expiration_ms),),
        CreateDelegationTokenResponse(
            principal_type=owner.type,
            principal_name=owner.name,
            token_requester_principal_type=requester.type,
            token_requester_principal_name=requester.name,
            issue_timestamp_ms=token.issue_ms,
            expiry_timestamp_ms=token.expiration_ms,
            max_timestamp_ms=token.max_ms,
            token_id=told,
            hmac=token_hmac(keys.key, told),
        ),
    )


def refusal(
    refused: Refused, owner: Principal, requester: Principal
) -> CreateDelegationTokenResponse:
    """Return the answer to somebody who gets no token."""
    return CreateDelegationTokenResponse(
        error_code=refused.code,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


def renew(
    state: ControllerState,
    config: ControllerConfig,
    request: RenewDelegationTokenRequest,
    caller: Caller,
    wall_ms: int,
) -> Decision[Message, RenewDelegationTokenResponse]:
    """Answer RenewDelegationToken."""
    try:
        keys = keys_of(state, config)
        token_id, token = found(state, keys, request.hmac)
        check_living(token, wall_ms)
        check_theirs(token, caller)
    except Refused as refused:
        return Decision(
            (), RenewDelegationTokenResponse(error_code=refused.code, expiry_timestamp_ms=NO_TIME)
        )
    period_ms = keys.lifetime_ms
    if request.renew_period_ms > 0:
        period_ms = min(period_ms, request.renew_period_ms)
    expiration_ms = min(token.max_ms, wall_ms + period_ms)
    return Decision(
        (record_of(token_id, token, expiration_ms),),
        RenewDelegationTokenResponse(expiry_timestamp_ms=expiration_ms),
    )


def expire(
    state: ControllerState,
    config: ControllerConfig,
    request: ExpireDelegationTokenRequest,
    caller: Caller,
    wall_ms: int,
) -> Decision[Message, ExpireDelegationTokenResponse]:
    """Answer ExpireDelegationToken: at once if the period is negative, even if it has expired."""
    try:
        keys = keys_of(state, config)
        token_id, token = found(state, keys, request.hmac)
        check_theirs(token, caller)
        if request.expiry_time_period_ms >= 0:
            check_living(token, wall_ms)
    except Refused as refused:
        return Decision(
            (), ExpireDelegationTokenResponse(error_code=refused.code, expiry_timestamp_ms=NO_TIME)
        )
    if request.expiry_time_period_ms < 0:
        return Decision(
            (RemoveDelegationTokenRecord(token_id=token_id),),
            ExpireDelegationTokenResponse(expiry_timestamp_ms=wall_ms),
        )
    expiration_ms = min(token.max_ms, wall_ms + request.expiry_time_period_ms)
    return Decision(
        (record_of(token_id, token, expiration_ms),),
        ExpireDelegationTokenResponse(expiry_timestamp_ms=expiration_ms),
    )


def sweep(state: ControllerState, wall_ms: int) -> Decision[Message, bool]:
    """Remove tokens that have expired; reply whether there may be more."""
    expired = sorted(
        token_id
        for token_id, token in state.image.delegation_tokens.tokens.items()
        if has_expired(token, wall_ms)
    )
    records = [RemoveDelegationTokenRecord(token_id=token_id) for token_id in expired[:SWEPT_MAX]]
    return Decision(tuple(records), len(expired) > SWEPT_MAX)


# --- A token -------------------------------------------------------------------------------------


def found(state: ControllerState, keys: Keys, secret: bytes) -> tuple[str, DelegationToken]:
    """Return the token of a secret."""
    for token_id, token in state.image.delegation_tokens.tokens.items():
        if is_hmac(secret, keys.key, token_id):
            return token_id, token
    raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)


def has_expired(token: DelegationToken, wall_ms: int) -> bool:
    """Tell whether a token is no longer valid."""
    return min(token.max_ms, token.expiration_ms) < wall_ms


def check_living(token: DelegationToken, wall_ms: int) -> None:
    """Refuse to do anything with a token that is no longer valid."""
    if has_expired(token, wall_ms):
        raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def check_theirs(token: DelegationToken, caller: Caller) -> None:
    """Refuse a token to somebody who neither owns nor may renew it."""
    if caller.principal not in (token.owner, *token.renewers):
        raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def record_of(token_id: str, token: DelegationToken, expiration_ms: int) -> DelegationTokenRecord:
    """Return the record of a token that is valid until then."""
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=token.renewers,
        issue_timestamp=token.issue_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=expiration_ms,
        token_id=token_id,
    )
