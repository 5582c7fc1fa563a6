"""Rules that are made, and taken away by filters."""

from typing import Any

import pytest

from barnabas.controller.acls import REMOVED_MAX, create, delete, is_secured
from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import ControllerState
from barnabas.metadata.acls import Acl
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from tests.controller.scene import three, uuid

CONFIG = ControllerConfig(9, static={"authorizer.class.name": "Standard"})
IDS = [uuid(number) for number in range(100)]


def wanted(name: str = "orders", **fields: Any) -> CreateAclsRequest.AclCreation:  # noqa: ANN401 -- as the message has them
    """Return a rule that somebody wants."""
    said: dict[str, Any] = {
        "resource_type": 2, "resource_pattern_type": 3, "principal": "User:alice", "host": "*",
        "operation": 3, "permission_type": 3,
    }  # fmt: skip
    return CreateAclsRequest.AclCreation(resource_name=name, **(said | fields))


def created(
    state: ControllerState,
    *rules: CreateAclsRequest.AclCreation,
    config: ControllerConfig = CONFIG,
    caller: Caller = ANYBODY,
) -> tuple[ControllerState, list[ErrorCode]]:
    """Return the state with some rules, and what became of each."""
    request = CreateAclsRequest(creations=rules)
    decision = create(state, config, request, caller, IDS)
    assert all(bool(one.error_code) is bool(one.error_message) for one in decision.reply.results)
    codes = [ErrorCode(one.error_code) for one in decision.reply.results]
    return state.apply(decision.records), codes


def test_a_rule_is_made_once() -> None:
    state, codes = created(three(), wanted(), wanted("b"), wanted())
    assert codes == [0, 0, 0]
    assert state.image.acls.acls == {
        IDS[0]: Acl(2, "orders", 3, "User:alice", "*", 3, 3),
        IDS[1]: Acl(2, "b", 3, "User:alice", "*", 3, 3),
    }
    again, codes = created(state, wanted())
    assert codes == [0]
    assert again.image.acls == state.image.acls


@pytest.mark.parametrize(
    "rule",
    [
        wanted(resource_type=4),
        wanted(""),
        wanted(resource_type=1),
        wanted(resource_type=0),
        wanted(resource_type=99),
        wanted(resource_pattern_type=1),
        wanted(resource_pattern_type=2),
        wanted(operation=1),
        wanted(operation=99),
        wanted(permission_type=1),
        wanted(permission_type=0),
        wanted(principal="alice"),
    ],
)
def test_a_rule_that_means_nothing_is_refused_and_stops_no_other(
    rule: CreateAclsRequest.AclCreation,
) -> None:
    state, codes = created(three(), rule, wanted("kafka-cluster", resource_type=4))
    assert codes == [ErrorCode.INVALID_REQUEST, 0]
    assert list(state.image.acls.acls) == [IDS[1]]


def taking(**fields: Any) -> DeleteAclsRequest.DeleteAclsFilter:  # noqa: ANN401 -- as the message has them
    """Return a filter that takes everything but what is said otherwise."""
    said: dict[str, Any] = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
        "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    return DeleteAclsRequest.DeleteAclsFilter(**(said | fields))


def deleted(
    state: ControllerState, *filters: DeleteAclsRequest.DeleteAclsFilter, caller: Caller = ANYBODY
) -> tuple[ControllerState, list[DeleteAclsResponse.DeleteAclsFilterResult]]:
    """Return the state without some rules, and what became of each filter."""
    decision = delete(state, CONFIG, DeleteAclsRequest(filters=filters), caller)
    return state.apply(decision.records), list(decision.reply.filter_results)


def test_every_rule_that_a_filter_takes_goes_once() -> None:
    state, _ = created(three(), wanted("a"), wanted("b"), wanted("b", operation=4), wanted("c"))
    after, results = deleted(
        state, taking(resource_name_filter="b"), taking(operation=4), taking(principal_filter="x")
    )
    assert [len(one.matching_acls) for one in results] == [2, 1, 0]
    assert [acl.resource_name for acl in after.image.acls.acls.values()] == ["a", "c"]
    told = results[1].matching_acls[0]
    assert (told.resource_name, told.operation, told.error_code) == ("b", 4, 0)


def test_a_filter_of_unknown_words_is_refused_and_stops_no_other() -> None:
    state, _ = created(three(), wanted("a"))
    after, results = deleted(state, taking(operation=99), taking())
    assert [one.error_code for one in results] == [ErrorCode.INVALID_REQUEST, 0]
    assert after.image.acls.is_empty


def test_more_rules_than_a_batch_holds_are_not_taken_away_in_part() -> None:
    rules = [
        AccessControlEntryRecord(
            id=uuid(number), resource_type=2, resource_name=f"t{number}", pattern_type=3,
            principal="User:a", host="*", operation=3, permission_type=3,
        )
        for number in range(REMOVED_MAX + 1)
    ]  # fmt: skip
    state = three(*rules)
    after, results = deleted(state, taking(), taking(resource_name_filter="t1"))
    assert [one.error_code for one in results] == [ErrorCode.INVALID_REQUEST] * 2
    assert not any(one.matching_acls for one in results)
    assert after.image.acls == state.image.acls
    fewer, results = deleted(state.apply([]), taking(resource_name_filter="t1"))
    assert len(fewer.image.acls.acls) == REMOVED_MAX
    assert results[0].error_code == 0


def test_without_an_authorizer_there_are_no_rules_to_change() -> None:
    open_ = ControllerConfig(9)
    assert not is_secured(open_)
    _, codes = created(three(), wanted(), config=open_)
    assert codes == [ErrorCode.SECURITY_DISABLED]
    decision = delete(three(), open_, DeleteAclsRequest(filters=[taking()]), ANYBODY)
    assert decision.reply.filter_results[0].error_code == ErrorCode.SECURITY_DISABLED


def test_who_may_not_alter_the_cluster_changes_no_rules() -> None:
    nobody = Caller("User:m", lambda operation, kind, name: False)
    _, codes = created(three(), wanted(), caller=nobody)
    assert codes == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    _, results = deleted(three(), taking(), caller=nobody)
    assert results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
