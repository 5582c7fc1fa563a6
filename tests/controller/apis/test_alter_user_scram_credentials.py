"""Credentials of users are set and removed."""

from barnabas.controller.apis.alter_user_scram_credentials import alter_user_scram_credentials
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_a_user_gets_a_credential_and_a_stranger_loses_none() -> None:
    async def story(desk: Desk) -> None:
        request = AlterUserScramCredentialsRequest(
            deletions=[
                AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="bert", mechanism=1)
            ],
            upsertions=[
                AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                    name="anna",
                    mechanism=1,
                    iterations=4096,
                    salt=b"salt",
                    salted_password=bytes(32),
                )
            ],
        )
        told = await desk.ask(alter_user_scram_credentials, request)
        codes = {it.user: it.error_code for it in told.results}
        assert codes == {"anna": 0, "bert": ErrorCode.RESOURCE_NOT_FOUND}
        assert not desk.state.image.scram.is_empty

    at_desk(story)
