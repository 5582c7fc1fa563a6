"""A broker that registers is told the epoch at which it did."""

import pytest

from barnabas.controller.apis.broker_registration import broker_registration
from barnabas.model.errors import ErrorCode, Refused
from tests.controller.apis.desk import Desk, at_desk, registration


def test_its_epoch_is_where_its_record_stands() -> None:
    async def story(desk: Desk) -> None:
        registered = await desk.ask(broker_registration, registration(3), 4)
        assert registered.broker_epoch == 2
        assert desk.state.image.cluster.brokers[3].epoch == 2

    at_desk(story)


def test_another_life_is_refused_while_the_first_is_heard_of() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        with pytest.raises(Refused) as refused:
            await desk.ask(broker_registration, registration(3, life=2), 4)
        assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION

    at_desk(story)
