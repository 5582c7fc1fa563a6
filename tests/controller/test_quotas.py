"""Client quotas: what an entity may be given."""

import math

import pytest

from barnabas.controller.quotas import alter, is_address
from barnabas.controller.state import ControllerState
from barnabas.metadata.quotas import entity
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from tests.controller.scene import three

Parts = list[tuple[str, str | None]]
Ops = dict[str, float | None]

BYTES = "producer_byte_rate"
ALICE: Parts = [("user", "alice")]


def request(*entries: tuple[Parts, Ops], validate_only: bool = False) -> AlterClientQuotasRequest:
    """Return a request for some entities."""
    return AlterClientQuotasRequest(
        validate_only=validate_only,
        entries=[
            AlterClientQuotasRequest.EntryData(
                entity=[
                    AlterClientQuotasRequest.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in parts
                ],
                ops=[
                    AlterClientQuotasRequest.OpData(
                        key=key, value=limit or 0.0, remove=limit is None
                    )
                    for key, limit in ops.items()
                ],
            )
            for parts, ops in entries
        ],
    )


def altered(
    state: ControllerState, *entries: tuple[Parts, Ops], caller: Caller = ANYBODY
) -> tuple[ControllerState, list[ErrorCode]]:
    """Return the state after a request, and the codes of its entities."""
    decision = alter(state, request(*entries), caller)
    assert all(bool(one.error_code) is bool(one.error_message) for one in decision.reply.entries)
    codes = [ErrorCode(one.error_code) for one in decision.reply.entries]
    return state.apply(decision.records), codes


def test_quotas_are_given_changed_and_taken_back() -> None:
    of = entity({"user": "alice", "client-id": None})
    parts: Parts = [("user", "alice"), ("client-id", None)]
    state, codes = altered(three(), (parts, {BYTES: 5, "request_percentage": 0.5}))
    assert codes == [0]
    assert state.image.client_quotas.entities[of] == {BYTES: 5, "request_percentage": 0.5}
    state, _ = altered(state, (parts, {BYTES: 6, "request_percentage": None}))
    assert state.image.client_quotas.entities[of] == {BYTES: 6}
    state, _ = altered(state, (parts, {BYTES: None}))
    assert state.image.client_quotas.is_empty


def test_what_is_so_already_is_not_written() -> None:
    state, _ = altered(three(), (ALICE, {BYTES: 5}))
    again = request((ALICE, {BYTES: 5, "request_percentage": None}))
    assert alter(state, again, ANYBODY).records == ()


def test_nothing_is_written_when_it_is_only_asked() -> None:
    decision = alter(three(), request((ALICE, {BYTES: 5}), validate_only=True), ANYBODY)
    assert decision.records == ()
    assert decision.reply.entries[0].error_code == 0


@pytest.mark.parametrize(
    ("parts", "ops"),
    [
        ([], {BYTES: 5}),
        ([("colour", "red")], {BYTES: 5}),
        ([("user", "")], {BYTES: 5}),
        ([("user", "a"), ("user", "b")], {BYTES: 5}),
        ([("user", "a"), ("ip", "10.0.0.1")], {BYTES: 5}),
        ([("ip", "10.0.0.1")], {BYTES: 5}),
        ([("ip", "10.0.0.256")], {"connection_creation_rate": 5}),
        ([("ip", "a b")], {"connection_creation_rate": 5}),
        (ALICE, {"connection_creation_rate": 5}),
        (ALICE, {"no_such": 5}),
        (ALICE, {BYTES: 0}),
        (ALICE, {BYTES: -1}),
        (ALICE, {BYTES: math.nan}),
        (ALICE, {BYTES: math.inf}),
        (ALICE, {BYTES: 1.5}),
        ([("ip", None)], {"connection_creation_rate": 2.0**31}),
    ],
)
def test_what_an_entity_cannot_have_is_refused_and_stops_nobody_else(
    parts: Parts, ops: Ops
) -> None:
    state, codes = altered(three(), (parts, ops), ([("client-id", "c")], {BYTES: 5}))
    assert codes == [ErrorCode.INVALID_REQUEST, 0]
    assert list(state.image.client_quotas.entities) == [entity({"client-id": "c"})]


def test_an_entity_is_changed_whole_or_not_at_all() -> None:
    state, codes = altered(three(), (ALICE, {BYTES: 5, "no_such": 5}))
    assert codes == [ErrorCode.INVALID_REQUEST]
    assert state.image.client_quotas.is_empty


def test_an_entity_or_a_quota_that_is_meant_twice_is_refused() -> None:
    state, codes = altered(three(), (ALICE, {BYTES: 5}), (ALICE, {BYTES: 6}))
    assert codes == [ErrorCode.INVALID_REQUEST]
    assert state.image.client_quotas.is_empty
    one = AlterClientQuotasRequest.OpData(key=BYTES, value=5.0)
    user = AlterClientQuotasRequest.EntityData(entity_type="user", entity_name="alice")
    entry = AlterClientQuotasRequest.EntryData(entity=[user], ops=[one, one])
    decision = alter(three(), AlterClientQuotasRequest(entries=[entry]), ANYBODY)
    assert decision.reply.entries[0].error_code == ErrorCode.INVALID_REQUEST
    assert decision.records == ()


def test_nearly_whole_numbers_are_taken_for_whole() -> None:
    _, codes = altered(three(), (ALICE, {BYTES: 5.0000001}))
    assert codes == [0]


def test_who_may_not_alter_configs_of_the_cluster_gives_no_quotas() -> None:
    caller = Caller("User:m", lambda operation, kind, name: False)
    state, codes = altered(three(), (ALICE, {BYTES: 5}), caller=caller)
    assert codes == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert state.image.client_quotas.is_empty


@pytest.mark.parametrize("text", ["10.0.0.1", "::1", "[::1]", "host", "a-b.example.org"])
def test_addresses_and_hosts_are_known_by_how_they_are_written(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize("text", ["10.0.0", "1.2.3.4.5", "a b", "-a", "a..b", "x" * 64, ""])
def test_what_is_written_otherwise_is_neither(text: str) -> None:
    assert not is_address(text)
