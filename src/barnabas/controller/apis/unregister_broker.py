"""UnregisterBroker, version 0: forget a broker for good (KIP-631)."""

from barnabas.controller.brokers import unregister
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


async def unregister_broker(
    controller: Controller, asked: Asked, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    """Forget a broker."""
    asked.caller.check_cluster(Operation.ALTER)
    return await controller.submit(lambda state, _: unregister(state, controller.config, request))
