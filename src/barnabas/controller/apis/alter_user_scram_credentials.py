"""AlterUserScramCredentials, version 0: what users are recognised by (KIP-554)."""

from barnabas.controller.scram import alter
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)


async def alter_user_scram_credentials(
    controller: Controller, asked: Asked, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Change credentials."""
    return await controller.submit(lambda state, _: alter(state, request, asked.caller))
