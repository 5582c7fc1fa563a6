"""CreateDelegationToken, versions 1 to 3: a token for whoever asks (KIP-48).

Whoever asks has to be known: a client that has come without credentials gets no token.  Those that
a broker hands on have been recognised by it.
"""

from barnabas.controller.shell import Asked, Controller
from barnabas.controller.tokens import create
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


async def create_delegation_token(
    controller: Controller, asked: Asked, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """Decide on a token for whoever asks."""
    if not asked.caller.forwarded:
        raise Refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    wall_ms = controller.wall_ms()
    token_id = Uuid(controller.entropy.uuid())
    return await controller.submit(
        lambda state, _: create(state, controller.config, request, asked.caller, token_id, wall_ms)
    )
