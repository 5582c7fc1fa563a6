"""Everything that is set for a resource is set at once."""

from barnabas.controller.apis.alter_configs import alter_configs
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_what_is_not_named_is_taken_back() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        await desk.create("a", 1, 1)
        for name in ("retention.ms", "segment.ms"):
            config = AlterConfigsRequest.AlterableConfig(name=name, value="5")
            resource = AlterConfigsRequest.AlterConfigsResource(
                resource_type=2, resource_name="a", configs=[config]
            )
            told = await desk.ask(alter_configs, AlterConfigsRequest(resources=[resource]), 2)
            assert told.responses[0].error_code == 0
        assert desk.state.image.configs.of(2, "a") == {"segment.ms": "5"}

    at_desk(story)
