"""Configs are set one by one."""

from barnabas.controller.apis.incremental_alter_configs import incremental_alter_configs
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.controller.apis.desk import Desk, at_desk


def setting(name: str, text: str | None, what: int = 0) -> IncrementalAlterConfigsRequest:
    """Return the wish to set something for topic a."""
    config = IncrementalAlterConfigsRequest.AlterableConfig(
        name=name, config_operation=what, value=text
    )
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=2, resource_name="a", configs=[config]
    )
    return IncrementalAlterConfigsRequest(resources=[resource])


def test_what_is_set_stays_until_it_is_taken_back() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        await desk.create("a", 1, 1)
        await desk.ask(incremental_alter_configs, setting("retention.ms", "5"), 1)
        await desk.ask(incremental_alter_configs, setting("segment.ms", "6"), 1)
        configs = desk.state.image.configs
        assert configs.of(2, "a") == {"retention.ms": "5", "segment.ms": "6"}
        await desk.ask(incremental_alter_configs, setting("retention.ms", None, what=1), 1)
        assert desk.state.image.configs.of(2, "a") == {"segment.ms": "6"}

    at_desk(story)
