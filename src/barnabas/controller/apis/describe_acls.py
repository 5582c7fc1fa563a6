"""DescribeAcls, versions 1 to 3: which rules there are (KIP-140).  Any controller answers."""

from barnabas.controller.acls import is_secured
from barnabas.controller.shell import Asked, Controller
from barnabas.views.acls import describe
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


async def describe_acls(
    controller: Controller, asked: Asked, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    """Tell of rules."""
    image = controller.states.committed.image
    return describe(image, request, asked.caller, is_secured(controller.config))
