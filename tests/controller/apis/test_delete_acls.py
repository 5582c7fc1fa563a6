"""Rules are taken away by filters; without an authorizer there are none."""

from barnabas.controller.apis.delete_acls import delete_acls
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_acls import DeleteAclsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_a_filter_that_takes_nothing_is_no_mistake() -> None:
    async def story(desk: Desk) -> None:
        wanted = DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        told = await desk.ask(delete_acls, DeleteAclsRequest(filters=[wanted]), 3)
        assert [it.error_code for it in told.filter_results] == [ErrorCode.NONE]
        assert not told.filter_results[0].matching_acls

    at_desk(story, static={"authorizer.class.name": "StandardAuthorizer"})
