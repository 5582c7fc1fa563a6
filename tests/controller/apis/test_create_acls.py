"""Without an authorizer there are no rules."""

from barnabas.controller.apis.create_acls import create_acls
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_acls import CreateAclsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_rules_mean_nothing_where_nobody_keeps_them() -> None:
    async def story(desk: Desk) -> None:
        request = CreateAclsRequest(
            creations=[
                CreateAclsRequest.AclCreation(
                    resource_type=2,
                    resource_name="a",
                    principal="User:anna",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        )
        told = await desk.ask(create_acls, request, 3)
        assert [it.error_code for it in told.results] == [ErrorCode.SECURITY_DISABLED]
        assert desk.state.image.acls.is_empty

    at_desk(story, static={})


def test_a_rule_is_made_where_there_is_an_authorizer() -> None:
    async def story(desk: Desk) -> None:
        request = CreateAclsRequest(
            creations=[
                CreateAclsRequest.AclCreation(
                    resource_type=2,
                    resource_name="a",
                    principal="User:anna",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        )
        told = await desk.ask(create_acls, request, 3)
        assert [it.error_code for it in told.results] == [ErrorCode.NONE]
        assert not desk.state.image.acls.is_empty

    at_desk(story, static={"authorizer.class.name": "StandardAuthorizer"})
