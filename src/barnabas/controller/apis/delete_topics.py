"""DeleteTopics, versions 1 to 6.

Version 5 tells why not (KIP-599), 6 names topics by their ids, too (KIP-516).
"""

from barnabas.controller.shell import Asked, Controller
from barnabas.controller.topics import delete
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


async def delete_topics(
    controller: Controller, asked: Asked, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    """Delete topics."""
    return await controller.submit(
        lambda state, _: delete(state, controller.config, request, asked.version, asked.caller)
    )
