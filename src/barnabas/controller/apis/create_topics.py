"""CreateTopics, versions 2 to 7.

Version 4 may leave numbers to the controller (KIP-464), 5 answers with what the topic was given
(KIP-525), 6 may tell of throttling (KIP-599), 7 answers with the topic's id (KIP-516).
"""

from barnabas.controller.shell import Asked, Controller
from barnabas.controller.topics import create
from barnabas.model.ids import Uuid
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

# Replicas are placed by one number, of which any will do.
NUMBERS = 1 << 31


async def create_topics(
    controller: Controller, asked: Asked, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """Create topics."""
    ids = [Uuid(controller.entropy.uuid()) for _ in request.topics]
    number = controller.entropy.below(NUMBERS)
    return await controller.submit(
        lambda state, _: create(state, controller.config, request, asked.caller, ids, number)
    )
