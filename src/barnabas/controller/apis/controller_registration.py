"""ControllerRegistration, version 0: a controller makes itself known (KIP-919)."""

from barnabas.controller.brokers import register_controller
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


async def controller_registration(
    controller: Controller, asked: Asked, request: ControllerRegistrationRequest
) -> ControllerRegistrationResponse:
    """Register a controller."""
    asked.caller.check_cluster(Operation.CLUSTER_ACTION)
    return await controller.submit(lambda state, _: register_controller(state, request))
