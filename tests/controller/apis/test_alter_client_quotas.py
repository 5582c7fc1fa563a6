"""Quotas are given to entities."""

from barnabas.controller.apis.alter_client_quotas import alter_client_quotas
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from tests.controller.apis.desk import Desk, at_desk


def test_a_user_is_given_a_quota() -> None:
    async def story(desk: Desk) -> None:
        entry = AlterClientQuotasRequest.EntryData(
            entity=[AlterClientQuotasRequest.EntityData(entity_type="user", entity_name="anna")],
            ops=[AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=100.0)],
        )
        told = await desk.ask(alter_client_quotas, AlterClientQuotasRequest(entries=[entry]), 1)
        assert told.entries[0].error_code == 0
        assert not desk.state.image.client_quotas.is_empty

    at_desk(story)
