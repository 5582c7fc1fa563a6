"""AlterClientQuotas, versions 0 and 1: how much a client may use (KIP-546)."""

from barnabas.controller.quotas import alter
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)


async def alter_client_quotas(
    controller: Controller, asked: Asked, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    """Change client quotas."""
    return await controller.submit(lambda state, _: alter(state, request, asked.caller))
