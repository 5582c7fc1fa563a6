"""Who asks: what a decision knows about the client behind a request.

Whether somebody may do something is asked where it is decided, not before: which error comes first
is part of the protocol, and what is asked about may depend on the state (a topic is deleted by its
id, and permitted by its name).
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from barnabas.model.acls import CLUSTER_NAME, AclResource, Operation
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.value import value

May: TypeAlias = Callable[[Operation, AclResource, str], bool]


def everything(operation: Operation, kind: AclResource, name: str) -> bool:
    """Permit everything, as a cluster without an authorizer does."""
    return True


@value
class Caller:
    """A client, and what it may do."""

    principal: str = "User:ANONYMOUS"
    may: May = everything
    forwarded: bool = False
    """Whether a broker took the request and has handed it on."""

    def may_cluster(self, operation: Operation) -> bool:
        """Tell whether it may do something to the cluster as a whole."""
        return self.may(operation, AclResource.CLUSTER, CLUSTER_NAME)

    def check_cluster(self, operation: Operation) -> None:
        """Refuse what it may not do to the cluster as a whole."""
        if not self.may_cluster(operation):
            raise Refused(
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                f"{self.principal} may not {operation.name} the cluster",
            )


ANYBODY: Final = Caller()
"""A client of a cluster that permits everything."""
