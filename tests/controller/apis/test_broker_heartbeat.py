"""A heartbeat keeps a broker alive, and lets it serve or stop."""

import pytest

from barnabas.controller.apis.broker_heartbeat import broker_heartbeat
from barnabas.controller.apis.broker_registration import broker_registration
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from tests.controller.apis.desk import Desk, at_desk, registration


def test_a_broker_that_has_read_its_registration_is_unfenced() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        assert not desk.state.image.cluster.brokers[3].fenced
        told = await desk.ask(broker_heartbeat, desk.heartbeat(3, want_shut_down=True), 1)
        assert told.should_shut_down
        assert desk.state.image.cluster.brokers[3].fenced

    at_desk(story)


def test_a_broker_that_is_silent_for_a_session_is_fenced() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4)
        clock = desk.controller.now_ms
        begun_ms = clock()
        while clock() - begun_ms < 20_000:
            await desk.ask(broker_heartbeat, desk.heartbeat(4), 1)
            await desk.controller.read(lambda state: state)
            await desk.sleep_ms(1_000)
        brokers = desk.state.image.cluster.brokers
        assert (brokers[3].fenced, brokers[4].fenced) == (True, False)

    at_desk(story)


def test_it_is_fenced_when_its_session_is_over_and_not_before() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        session_ms = desk.controller.config.session_timeout_ms
        await desk.sleep_ms(session_ms - 50)
        assert not desk.state.image.cluster.brokers[3].fenced
        await desk.sleep_ms(100)
        assert desk.state.image.cluster.brokers[3].fenced

    at_desk(story)


def test_what_a_former_life_says_is_refused() -> None:
    async def story(desk: Desk) -> None:
        await desk.ask(broker_registration, registration(3), 4)
        with pytest.raises(Refused) as refused:
            await desk.ask(broker_heartbeat, BrokerHeartbeatRequest(broker_id=3, broker_epoch=1))
        assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH

    at_desk(story)
