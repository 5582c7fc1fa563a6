"""Tokens are for those who are known, where the node has a secret to make them with."""

import pytest

from barnabas.controller.apis.expire_delegation_token import expire_delegation_token
from barnabas.controller.shell import Asked
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from tests.controller.apis.desk import Desk, at_desk

FORWARDED = Caller("User:anna", forwarded=True)


def test_a_stranger_gets_none() -> None:
    async def story(desk: Desk) -> None:
        asked = Asked(2, ANYBODY, "CONTROLLER")
        with pytest.raises(Refused) as refused:
            await expire_delegation_token(desk.controller, asked, ExpireDelegationTokenRequest())
        assert refused.value.code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED

    at_desk(story)


def test_without_a_secret_there_are_none() -> None:
    async def story(desk: Desk) -> None:
        asked = Asked(2, FORWARDED, "CONTROLLER")
        told = await expire_delegation_token(desk.controller, asked, ExpireDelegationTokenRequest())
        assert told.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED

    at_desk(story)
