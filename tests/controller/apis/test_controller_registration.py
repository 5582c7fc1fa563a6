"""A controller that registers is known."""

from barnabas.controller.apis.controller_registration import controller_registration
from barnabas.model.ids import Uuid
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from tests.controller.apis.desk import Desk, at_desk


def test_it_is_known() -> None:
    async def story(desk: Desk) -> None:
        request = ControllerRegistrationRequest(
            controller_id=9,
            incarnation_id=Uuid(bytes([9] * 16)),
            listeners=[
                ControllerRegistrationRequest.Listener(
                    name="CONTROLLER", host="there", port=9093, security_protocol=0
                )
            ],
        )
        assert (await desk.ask(controller_registration, request)).error_code == 0
        assert desk.state.image.cluster.controllers[9].listeners["CONTROLLER"].host == "there"

    at_desk(story)
