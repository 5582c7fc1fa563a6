"""Who asks, and what they may do."""

import pytest

from barnabas.model.acls import CLUSTER_NAME, AclResource, Operation
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode, Refused


def test_without_an_authorizer_everything_is_permitted() -> None:
    ANYBODY.check_cluster(Operation.ALTER)
    assert ANYBODY.may(Operation.DELETE, AclResource.TOPIC, "a")


def test_what_is_asked_of_the_cluster_is_asked_by_its_name() -> None:
    asked = []

    def may(operation: Operation, kind: AclResource, name: str) -> bool:
        asked.append((operation, kind, name))
        return False

    caller = Caller("User:alice", may)
    assert not caller.may_cluster(Operation.DESCRIBE)
    with pytest.raises(Refused, match="User:alice may not ALTER the cluster") as caught:
        caller.check_cluster(Operation.ALTER)
    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert asked == [
        (Operation.DESCRIBE, AclResource.CLUSTER, CLUSTER_NAME),
        (Operation.ALTER, AclResource.CLUSTER, CLUSTER_NAME),
    ]
