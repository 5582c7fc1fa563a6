"""IncrementalAlterConfigs, versions 0 and 1: set, delete, append, subtract (KIP-339)."""

from barnabas.controller.configs import alter
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


async def incremental_alter_configs(
    controller: Controller, asked: Asked, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change configs one by one."""
    return await controller.submit(
        lambda state, _: alter(state, controller.config, request, asked.caller)
    )
