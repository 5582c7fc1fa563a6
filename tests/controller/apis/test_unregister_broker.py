"""A broker that is unregistered is gone, and not known twice."""

from barnabas.controller.apis.unregister_broker import unregister_broker
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from tests.controller.apis.desk import Desk, at_desk


def test_it_is_gone_and_cannot_go_again() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        request = UnregisterBrokerRequest(broker_id=3)
        assert (await desk.ask(unregister_broker, request)).error_code == ErrorCode.NONE
        assert 3 not in desk.state.image.cluster.brokers
        again = await desk.ask(unregister_broker, request)
        assert again.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED

    at_desk(story)
