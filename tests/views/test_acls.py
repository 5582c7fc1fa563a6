"""ACLs, by filters."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.acls import Acl
from barnabas.model.acls import AclResource, Operation, Pattern, Permission
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.views.acls import AclFilter, describe
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from tests.controller.scene import three, uuid

READ = Acl(
    AclResource.TOPIC, "orders", Pattern.LITERAL, "User:alice", "*", Operation.READ,
    Permission.ALLOW,
)  # fmt: skip
EVERYTHING = AclFilter(1, None, 1, None, None, 1, 1)
ACLS = [
    READ,
    replace(READ, operation=Operation.WRITE),
    replace(READ, resource_name="ord", pattern_type=Pattern.PREFIXED),
    replace(READ, resource_name="*"),
    replace(READ, principal="User:bob", permission_type=Permission.DENY),
    replace(READ, resource_type=AclResource.GROUP, host="10.0.0.1"),
]


def record(number: int, acl: Acl) -> AccessControlEntryRecord:
    """Return a rule as a record."""
    return AccessControlEntryRecord(
        id=uuid(number),
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


IMAGE = three(*(record(number, acl) for number, acl in enumerate(ACLS))).image


def request(wanted: AclFilter) -> DescribeAclsRequest:
    """Return a request with a filter."""
    return DescribeAclsRequest(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.resource_name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )


def asked(wanted: AclFilter) -> list[Acl]:
    """Return the rules that a filter takes."""
    response = describe(IMAGE, request(wanted), ANYBODY, is_secured=True)
    assert response.error_code == 0
    return [
        Acl(
            resource.resource_type, resource.resource_name, resource.pattern_type,
            one.principal, one.host, one.operation, one.permission_type,
        )
        for resource in response.resources
        for one in resource.acls
    ]  # fmt: skip


def test_a_filter_that_cares_for_nothing_takes_all() -> None:
    assert sorted(map(repr, asked(EVERYTHING))) == sorted(map(repr, ACLS))


def test_rules_of_one_resource_are_told_together() -> None:
    response = describe(IMAGE, request(EVERYTHING), ANYBODY, is_secured=True)
    told = [(one.resource_type, one.resource_name, len(one.acls)) for one in response.resources]
    assert told == [(2, "*", 1), (2, "ord", 1), (2, "orders", 3), (3, "orders", 1)]


def test_a_name_is_meant_literally_as_any_pattern_or_as_what_patterns_match() -> None:
    named = EVERYTHING._replace(resource_type=2, resource_name="orders")
    assert len(asked(named._replace(pattern_type=Pattern.LITERAL))) == 3
    assert len(asked(named._replace(pattern_type=Pattern.ANY))) == 3
    assert len(asked(named._replace(pattern_type=Pattern.MATCH))) == 5
    assert len(asked(named._replace(pattern_type=Pattern.PREFIXED))) == 0
    prefix = named._replace(resource_name="ord", pattern_type=Pattern.PREFIXED)
    assert len(asked(prefix)) == 1


def test_a_filter_cares_for_each_word_of_a_rule() -> None:
    assert len(asked(EVERYTHING._replace(resource_type=AclResource.GROUP))) == 1
    assert len(asked(EVERYTHING._replace(principal="User:bob"))) == 1
    assert len(asked(EVERYTHING._replace(host="10.0.0.1"))) == 1
    assert len(asked(EVERYTHING._replace(operation=Operation.WRITE))) == 1
    assert len(asked(EVERYTHING._replace(permission_type=Permission.DENY))) == 1


@given(st.sampled_from(ACLS))
def test_a_rule_is_taken_by_the_filter_that_spells_it(acl: Acl) -> None:
    exact = AclFilter(
        acl.resource_type, acl.resource_name, acl.pattern_type, acl.principal, acl.host,
        acl.operation, acl.permission_type,
    )  # fmt: skip
    assert asked(exact) == [acl]


@pytest.mark.parametrize(
    "wanted",
    [
        EVERYTHING._replace(resource_type=0),
        EVERYTHING._replace(resource_type=99),
        EVERYTHING._replace(pattern_type=0),
        EVERYTHING._replace(operation=99),
        EVERYTHING._replace(permission_type=0),
    ],
)
def test_words_that_nobody_knows_are_refused(wanted: AclFilter) -> None:
    response = describe(IMAGE, request(wanted), ANYBODY, is_secured=True)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert not response.resources


def test_without_an_authorizer_there_are_no_rules_to_tell_of() -> None:
    response = describe(IMAGE, request(EVERYTHING), ANYBODY, is_secured=False)
    assert response.error_code == ErrorCode.SECURITY_DISABLED
    nobody = Caller("User:m", lambda operation, kind, name: False)
    refused = describe(IMAGE, request(EVERYTHING), nobody, is_secured=True)
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
