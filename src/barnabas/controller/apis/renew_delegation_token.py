"""RenewDelegationToken, versions 1 and 2: a token that lives longer (KIP-48).

Whoever asks has to be known: a client that has come without credentials gets no token.  Those that
a broker hands on have been recognised by it.
"""

from barnabas.controller.shell import Asked, Controller
from barnabas.controller.tokens import renew
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


async def renew_delegation_token(
    controller: Controller, asked: Asked, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """Decide on a token that lives longer."""
    if not asked.caller.forwarded:
        raise Refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    wall_ms = controller.wall_ms()
    return await controller.submit(
        lambda state, _: renew(state, controller.config, request, asked.caller, wall_ms)
    )
