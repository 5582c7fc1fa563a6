"""Configs are told by what is committed."""

from barnabas.controller.apis.describe_configs import describe_configs
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_a_controller_tells_what_holds_for_all_brokers() -> None:
    async def story(desk: Desk) -> None:
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=4, resource_name="", configuration_keys=None
        )
        told = await desk.ask(describe_configs, DescribeConfigsRequest(resources=[resource]), 4)
        [result] = told.results
        assert (result.error_code, list(result.configs)) == (0, [])

    at_desk(story)
