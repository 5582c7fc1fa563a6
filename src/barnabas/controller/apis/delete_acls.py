"""DeleteAcls, versions 1 to 3: rules that are taken away, by filters (KIP-140)."""

from barnabas.controller.acls import delete
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse


async def delete_acls(
    controller: Controller, asked: Asked, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    """Take rules away."""
    return await controller.submit(
        lambda state, _: delete(state, controller.config, request, asked.caller)
    )
