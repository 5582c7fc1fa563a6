"""SCRAM credentials that are set and removed."""

import pytest

from barnabas.controller.scram import alter
from barnabas.controller.state import ControllerState
from barnabas.metadata.scram import ScramUser
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.node.scram import scram_record
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from tests.controller.scene import three

SET = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
REMOVE = AlterUserScramCredentialsRequest.ScramCredentialDeletion


def alice(
    name: str = "alice", mechanism: int = 1, iterations: int = 4096, salted: bytes = b"hashed"
) -> AlterUserScramCredentialsRequest.ScramCredentialUpsertion:
    """Return a credential that somebody wants."""
    return SET(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted
    )


def altered(
    state: ControllerState,
    *wanted: AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    | AlterUserScramCredentialsRequest.ScramCredentialDeletion,
    caller: Caller = ANYBODY,
) -> tuple[ControllerState, dict[str, ErrorCode]]:
    """Return the state after a request, and what became of each user."""
    request = AlterUserScramCredentialsRequest(
        deletions=[one for one in wanted if isinstance(one, REMOVE)],
        upsertions=[one for one in wanted if isinstance(one, SET)],
    )
    decision = alter(state, request, caller)
    assert all(bool(one.error_code) is bool(one.error_message) for one in decision.reply.results)
    codes = {one.user: ErrorCode(one.error_code) for one in decision.reply.results}
    return state.apply(decision.records), codes


def test_a_credential_is_what_the_formatter_makes_of_the_same_password() -> None:
    state, codes = altered(three(), alice(salted=b"\x01\x02"))
    assert codes == {"alice": ErrorCode.NONE}
    argument = 'SCRAM-SHA-256=[name=alice,iterations=4096,salt="c2FsdA==",saltedpassword="AQI="]'
    expected = scram_record(argument, bytes)
    found = state.image.scram.credentials[ScramUser(1, "alice")]
    assert (found.salt, found.stored_key, found.server_key, found.iterations) == (
        expected.salt, expected.stored_key, expected.server_key, expected.iterations,
    )  # fmt: skip


def test_a_credential_is_replaced_and_removed() -> None:
    state, _ = altered(three(), alice())
    state, _ = altered(state, alice(iterations=8192))
    assert state.image.scram.credentials[ScramUser(1, "alice")].iterations == 8192
    state, codes = altered(state, REMOVE(name="alice", mechanism=1))
    assert codes == {"alice": ErrorCode.NONE}
    assert state.image.scram.is_empty


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (alice(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (alice(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (alice(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (alice(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (alice(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (alice(salted=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (REMOVE(name="alice", mechanism=1), ErrorCode.RESOURCE_NOT_FOUND),
        (REMOVE(name="", mechanism=1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (REMOVE(name="alice", mechanism=9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
    ids=repr,
)
def test_what_is_not_allowed_is_refused_and_stops_nobody_else(
    wanted: AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    | AlterUserScramCredentialsRequest.ScramCredentialDeletion,
    code: ErrorCode,
) -> None:
    state, codes = altered(three(), wanted, alice("bob"))
    assert codes == {wanted.name: code, "bob": ErrorCode.NONE}
    assert list(state.image.scram.credentials) == [ScramUser(1, "bob")]


def test_a_user_is_named_once_whatever_the_mechanism() -> None:
    before, _ = altered(three(), alice())
    for twice in (
        (alice(), alice(mechanism=2)),
        (REMOVE(name="alice", mechanism=1), alice(mechanism=2)),
    ):
        state, codes = altered(before, *twice)
        assert codes == {"alice": ErrorCode.DUPLICATE_RESOURCE}
        assert state.image.scram == before.image.scram
    # What is wrong about the first is told rather than that there is a second.
    _, codes = altered(before, REMOVE(name="alice", mechanism=2), alice())
    assert codes == {"alice": ErrorCode.RESOURCE_NOT_FOUND}


def test_levels_without_credentials_refuse_them() -> None:
    state, codes = altered(three(at=10), alice())
    assert codes == {"alice": ErrorCode.UNSUPPORTED_VERSION}
    assert state.image.scram.is_empty


def test_who_may_not_alter_the_cluster_sets_no_credentials() -> None:
    caller = Caller("User:m", lambda operation, kind, name: False)
    _, codes = altered(three(), alice(), caller=caller)
    assert codes == {"alice": ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
