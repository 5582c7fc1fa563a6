"""CreatePartitions, versions 0 to 3: more partitions for topics (KIP-195)."""

from barnabas.controller.shell import Asked, Controller
from barnabas.controller.topics import grow
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)

# Replicas are placed by one number, of which any will do.
NUMBERS = 1 << 31


async def create_partitions(
    controller: Controller, asked: Asked, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Give topics more partitions."""
    number = controller.entropy.below(NUMBERS)
    return await controller.submit(lambda state, _: grow(state, request, asked.caller, number))
