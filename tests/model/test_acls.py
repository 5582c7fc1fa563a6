"""The words of ACLs."""

from barnabas.model.acls import AclResource, Operation, Pattern, Permission


def test_the_numbers_are_those_of_the_protocol() -> None:
    assert [AclResource.TOPIC, AclResource.CLUSTER, AclResource.USER] == [2, 4, 7]
    assert [Pattern.MATCH, Pattern.LITERAL, Pattern.PREFIXED] == [2, 3, 4]
    assert [Operation.ALL, Operation.ALTER, Operation.TWO_PHASE_COMMIT] == [2, 7, 15]
    assert [Permission.DENY, Permission.ALLOW] == [2, 3]


def test_what_stands_in_filters_alone_is_the_same_everywhere() -> None:
    for words in (AclResource, Pattern, Operation, Permission):
        assert words["UNKNOWN"] == 0
        assert words["ANY"] == 1
