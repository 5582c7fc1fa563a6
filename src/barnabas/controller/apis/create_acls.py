"""CreateAcls, versions 1 to 3: who may do what (KIP-140).

Version 2 brought patterns (KIP-290), 3 users of delegation tokens.
"""

from barnabas.controller.acls import create
from barnabas.controller.shell import Asked, Controller
from barnabas.model.ids import Uuid
from barnabas.wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse


async def create_acls(
    controller: Controller, asked: Asked, request: CreateAclsRequest
) -> CreateAclsResponse:
    """Make rules."""
    ids = [Uuid(controller.entropy.uuid()) for _ in request.creations]
    return await controller.submit(
        lambda state, _: create(state, controller.config, request, asked.caller, ids)
    )
