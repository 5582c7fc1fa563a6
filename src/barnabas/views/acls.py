"""ACLs as clients are told of them, by filters (KIP-140, KIP-290).

A filter leaves out what it does not care for.  Of patterns it may say that it wants those of one
kind (``LITERAL``, ``PREFIXED``) and of this very name, those of ``ANY`` kind and this name, or all
that ``MATCH`` the name: the pattern of that name, prefixes of it, and ``*``.

Fixed by Kafka's ResourcePatternFilter.java and AccessControlEntryFilter.java.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.metadata.acls import Acl
from barnabas.metadata.image import MetadataImage
from barnabas.model.acls import ANY_NAME, AclResource, Operation, Pattern, Permission
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.wire.messages.delete_acls import DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


class AclFilter(NamedTuple):
    """What somebody wants of all ACLs."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    @staticmethod
    def of(told: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> "AclFilter":
        """Return the filter of a request."""
        return AclFilter(
            told.resource_type_filter,
            told.resource_name_filter,
            told.pattern_type_filter,
            told.principal_filter,
            told.host_filter,
            told.operation,
            told.permission_type,
        )

    def check(self) -> None:
        """Refuse a filter with words that this release does not know."""
        for name, word, known in (
            ("resource type", self.resource_type, tuple(AclResource)),
            ("pattern type", self.pattern_type, tuple(Pattern)),
            ("operation", self.operation, tuple(Operation)),
            ("permission type", self.permission_type, tuple(Permission)),
        ):
            if word not in known[1:]:
                raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown {name} {word} in a filter")

    def takes(self, acl: Acl) -> bool:
        """Tell whether an ACL is one of those that are wanted."""
        return (
            self.resource_type in (AclResource.ANY, acl.resource_type)
            and self.pattern_type in (Pattern.ANY, Pattern.MATCH, acl.pattern_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission_type in (Permission.ANY, acl.permission_type)
            and self._takes_name(acl)
        )

    def _takes_name(self, acl: Acl) -> bool:
        name = self.resource_name
        if name in (None, acl.resource_name):
            return True
        if self.pattern_type != Pattern.MATCH:
            return False
        if acl.pattern_type == Pattern.PREFIXED:
            return str(name).startswith(acl.resource_name)
        return acl.resource_name == ANY_NAME


def taken(image: MetadataImage, wanted: AclFilter) -> Iterator[tuple[Uuid, Acl]]:
    """Yield the ACLs that a filter takes."""
    for acl_id, acl in image.acls.acls.items():
        if wanted.takes(acl):
            yield acl_id, acl


def describe(
    image: MetadataImage, request: DescribeAclsRequest, caller: Caller, is_secured: bool
) -> DescribeAclsResponse:
    """Answer DescribeAcls; ``is_secured`` says whether the node has an authorizer."""
    wanted = AclFilter.of(request)
    try:
        caller.check_cluster(Operation.DESCRIBE)
        if not is_secured:
            raise Refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
        wanted.check()
    except Refused as refused:
        return DescribeAclsResponse(error_code=refused.code, error_message=refused.why)
    found = sorted((acl for _, acl in taken(image, wanted)), key=order)
    resources: dict[tuple[int, str, int], list[Acl]] = {}
    for acl in found:
        resource = acl.resource_type, acl.resource_name, acl.pattern_type
        resources.setdefault(resource, []).append(acl)
    return DescribeAclsResponse(
        resources=[
            DescribeAclsResponse.DescribeAclsResource(
                resource_type=kind,
                resource_name=name,
                pattern_type=pattern,
                acls=[
                    DescribeAclsResponse.AclDescription(
                        principal=acl.principal,
                        host=acl.host,
                        operation=acl.operation,
                        permission_type=acl.permission_type,
                    )
                    for acl in acls
                ],
            )
            for (kind, name, pattern), acls in resources.items()
        ]
    )


def order(acl: Acl) -> tuple[int, str, int, str, str, int, int]:
    """Sort ACLs by what they say."""
    return (
        acl.resource_type, acl.resource_name, acl.pattern_type, acl.principal, acl.host,
        acl.operation, acl.permission_type,
    )  # fmt: skip
