"""ExpireDelegationToken, versions 1 and 2: a token that ends (KIP-48).

Whoever asks has to be known: a client that has come without credentials gets no token.  Those that
a broker hands on have been recognised by it.
"""

from barnabas.controller.shell import Asked, Controller
from barnabas.controller.tokens import expire
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


async def expire_delegation_token(
    controller: Controller, asked: Asked, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """Decide on a token that ends."""
    if not asked.caller.forwarded:
        raise Refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    wall_ms = controller.wall_ms()
    return await controller.submit(
        lambda state, _: expire(state, controller.config, request, asked.caller, wall_ms)
    )
