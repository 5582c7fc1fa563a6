"""Delegation tokens: made, renewed, ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import ControllerState
from barnabas.controller.tokens import LAST_MS, SWEPT_MAX, create, expire, renew, sweep
from barnabas.model.acls import AclResource, Operation
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import uuid_text
from barnabas.model.tokens import token_hmac
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from tests.controller.scene import three, uuid

KEY = "the key of all nodes"
CONFIG = ControllerConfig(
    9,
    static={
        "delegation.token.secret.key": KEY,
        "delegation.token.max.lifetime.ms": "1000",
        "delegation.token.expiry.time.ms": "100",
    },
)
NO_TOKENS = ControllerConfig(9)


def nothing(operation: Operation, kind: AclResource, name: str) -> bool:
    """Permit nothing."""
    return False


ALICE, BOB, MALLORY = (Caller(f"User:{name}", nothing) for name in ("alice", "bob", "mallory"))


def created(
    state: ControllerState,
    caller: Caller = ALICE,
    renewers: tuple[tuple[str, str], ...] = (("User", "bob"),),
    owner: tuple[str, str] | None = None,
    max_lifetime_ms: int = -1,
    config: ControllerConfig = CONFIG,
    wall_ms: int = 5_000,
) -> tuple[ControllerState, CreateDelegationTokenResponse]:
    """Return the state with a token, and what its owner is told."""
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner[0] if owner else None,
        owner_principal_name=owner[1] if owner else None,
        renewers=[
            CreateDelegationTokenRequest.CreatableRenewers(principal_type=kind, principal_name=name)
            for kind, name in renewers
        ],
        max_lifetime_ms=max_lifetime_ms,
    )
    decision = create(state, config, request, caller, uuid(1), wall_ms)
    return state.apply(decision.records), decision.reply


def renewed(
    state: ControllerState, caller: Caller, wall_ms: int, period_ms: int = -1, secret: bytes = b""
) -> tuple[ControllerState, ErrorCode, int]:
    """Return the state after somebody renews the token."""
    request = RenewDelegationTokenRequest(hmac=secret or SECRET, renew_period_ms=period_ms)
    decision = renew(state, CONFIG, request, caller, wall_ms)
    reply = decision.reply
    return state.apply(decision.records), ErrorCode(reply.error_code), reply.expiry_timestamp_ms


def expired(
    state: ControllerState, caller: Caller, wall_ms: int, period_ms: int, secret: bytes = b""
) -> tuple[ControllerState, ErrorCode, int]:
    """Return the state after somebody ends the token."""
    request = ExpireDelegationTokenRequest(hmac=secret or SECRET, expiry_time_period_ms=period_ms)
    decision = expire(state, CONFIG, request, caller, wall_ms)
    reply = decision.reply
    return state.apply(decision.records), ErrorCode(reply.error_code), reply.expiry_timestamp_ms


ID = uuid_text(uuid(1))
SECRET = token_hmac(KEY, ID)
STATE, _ = created(three())


def expiration(state: ControllerState) -> int:
    """Return until when the token is valid."""
    return state.image.delegation_tokens.tokens[ID].expiration_ms


def test_a_token_is_made_for_whoever_asks() -> None:
    state, reply = created(three())
    assert (reply.error_code, reply.token_id, reply.hmac) == (0, ID, SECRET)
    assert (reply.principal_type, reply.principal_name) == ("User", "alice")
    assert (reply.issue_timestamp_ms, reply.expiry_timestamp_ms) == (5_000, 5_100)
    assert reply.max_timestamp_ms == 6_000
    token = state.image.delegation_tokens.tokens[ID]
    assert (token.owner, token.requester, token.renewers) == (
        "User:alice", "User:alice", ("User:bob",),
    )  # fmt: skip


def test_a_token_lives_no_longer_than_is_asked_or_allowed() -> None:
    for asked_ms, max_ms, expiration_ms in (
        (50, 5_050, 5_050),
        (0, 6_000, 5_100),
        (9_999, 6_000, 5_100),
    ):
        _, reply = created(three(), max_lifetime_ms=asked_ms)
        assert (reply.max_timestamp_ms, reply.expiry_timestamp_ms) == (max_ms, expiration_ms)
    _, reply = created(three(), wall_ms=LAST_MS)
    assert reply.max_timestamp_ms == reply.expiry_timestamp_ms == LAST_MS


def test_a_token_is_made_for_somebody_else_only_by_permission() -> None:
    _, refused = created(three(), owner=("User", "carol"))
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (refused.principal_name, refused.token_requester_principal_name) == ("carol", "alice")
    assert refused.expiry_timestamp_ms == -1
    permitted = Caller(
        "User:alice",
        lambda *asked: asked == (Operation.CREATE_TOKENS, AclResource.USER, "User:carol"),
    )
    state, reply = created(three(), permitted, owner=("User", "carol"))
    assert reply.error_code == 0
    token = state.image.delegation_tokens.tokens[ID]
    assert (token.owner, token.requester) == ("User:carol", "User:alice")
    _, own = created(three(), owner=("User", "alice"))
    assert own.error_code == 0


def test_what_cannot_be_is_refused_and_writes_nothing() -> None:
    for state, config, renewers, code in (
        (three(), NO_TOKENS, (), ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
        (three(at=13), CONFIG, (), ErrorCode.UNSUPPORTED_VERSION),
        (three(), CONFIG, (("Group", "x"),), ErrorCode.INVALID_PRINCIPAL_TYPE),
    ):
        after, reply = created(state, config=config, renewers=renewers)
        assert reply.error_code == code
        assert after.image.delegation_tokens.is_empty
        assert (reply.token_id, reply.hmac, reply.max_timestamp_ms) == ("", b"", -1)


def test_owner_and_renewers_renew_a_token_and_nobody_else() -> None:
    for caller in (ALICE, BOB):
        state, code, until_ms = renewed(STATE, caller, 5_050)
        assert (code, until_ms, expiration(state)) == (0, 5_150, 5_150)
    state, code, until_ms = renewed(STATE, MALLORY, 5_050)
    assert (code, until_ms) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, -1)
    assert state.image.delegation_tokens == STATE.image.delegation_tokens


def test_a_token_is_renewed_for_as_long_as_is_asked_or_allowed() -> None:
    assert renewed(STATE, ALICE, 5_050, 20)[2] == 5_070
    assert renewed(STATE, ALICE, 5_050, 99_999)[2] == 5_150
    state = STATE
    for wall_ms in range(5_050, 6_000, 50):
        state, code, until_ms = renewed(state, ALICE, wall_ms)
        assert (code, until_ms) == (0, min(6_000, wall_ms + 100))
    assert renewed(state, ALICE, 6_001)[1] == ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_a_token_that_has_expired_is_ended_and_not_renewed() -> None:
    assert renewed(STATE, ALICE, 5_101)[1] == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert expired(STATE, ALICE, 5_101, 10)[1] == ErrorCode.DELEGATION_TOKEN_EXPIRED
    state, code, until_ms = expired(STATE, ALICE, 5_101, -1)
    assert (code, until_ms) == (0, 5_101)
    assert state.image.delegation_tokens.is_empty


def test_a_token_ends_at_once_or_after_a_while() -> None:
    state, code, until_ms = expired(STATE, BOB, 5_050, 20)
    assert (code, until_ms, expiration(state)) == (0, 5_070, 5_070)
    assert expired(STATE, ALICE, 5_050, 99_999)[2] == 6_000
    assert expired(STATE, MALLORY, 5_050, -1)[1] == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


def test_a_secret_that_is_nobodys_finds_nothing() -> None:
    assert renewed(STATE, ALICE, 5_050, secret=b"x")[1] == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    gone, _, _ = expired(STATE, ALICE, 5_050, -1)
    assert expired(gone, ALICE, 5_050, -1)[1] == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.parametrize("config", [NO_TOKENS, CONFIG])
def test_without_a_key_or_a_level_for_them_tokens_are_refused(config: ControllerConfig) -> None:
    state = three(at=13)
    code = (
        ErrorCode.UNSUPPORTED_VERSION
        if config is CONFIG
        else ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    )
    renewal = renew(state, config, RenewDelegationTokenRequest(hmac=SECRET), ALICE, 0)
    ending = expire(state, config, ExpireDelegationTokenRequest(hmac=SECRET), ALICE, 0)
    assert renewal.reply.error_code == ending.reply.error_code == code


def token(number: int, expiration_ms: int, max_ms: int = 9_999) -> DelegationTokenRecord:
    """Return a token."""
    return DelegationTokenRecord(
        owner="User:a", requester="User:a", token_id=f"{number:05}", issue_timestamp=0,
        max_timestamp=max_ms, expiration_timestamp=expiration_ms,
    )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=20), st.integers(0, 11))
def test_what_has_expired_is_swept_away(told: list[tuple[int, int]], wall_ms: int) -> None:
    state = three(*(token(number, *times) for number, times in enumerate(told)))
    decision = sweep(state, wall_ms)
    assert decision.reply is False
    left = set(state.apply(decision.records).image.delegation_tokens.tokens)
    assert left == {f"{n:05}" for n, times in enumerate(told) if min(times) >= wall_ms}


def test_many_tokens_are_swept_away_in_turns() -> None:
    state = three(*(token(number, 5) for number in range(SWEPT_MAX + 1)))
    decision = sweep(state, 6)
    assert (len(decision.records), decision.reply) == (SWEPT_MAX, True)
    decision = sweep(state.apply(decision.records), 6)
    assert (len(decision.records), decision.reply) == (1, False)
