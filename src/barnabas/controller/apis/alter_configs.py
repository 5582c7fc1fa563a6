"""AlterConfigs, versions 0 to 2: everything that is set, at once (KIP-133)."""

from barnabas.controller.configs import overwrite
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse


async def alter_configs(
    controller: Controller, asked: Asked, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    """Set all configs of resources."""
    return await controller.submit(
        lambda state, _: overwrite(state, controller.config, request, asked.caller)
    )
