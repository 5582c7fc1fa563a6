"""Rules are told where there is an authorizer."""

from barnabas.controller.apis.describe_acls import describe_acls
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_without_an_authorizer_that_is_said() -> None:
    async def story(desk: Desk) -> None:
        request = DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        told = await desk.ask(describe_acls, request, 3)
        assert told.error_code == ErrorCode.SECURITY_DISABLED

    at_desk(story)
