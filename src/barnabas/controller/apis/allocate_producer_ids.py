"""AllocateProducerIds, version 0: a broker gets a block of producer ids (KIP-730)."""

from barnabas.controller.producer_ids import allocate
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


async def allocate_producer_ids(
    controller: Controller, asked: Asked, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    """Give a broker producer ids."""
    return await controller.submit(lambda state, _: allocate(state, request, asked.caller))
