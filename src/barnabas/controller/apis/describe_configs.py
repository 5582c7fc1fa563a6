"""DescribeConfigs, versions 1 to 4: what is in force, and why (KIP-133).

Version 1 tells the source and synonyms (KIP-226), 3 types and what each is for (KIP-569).  Any
controller answers, by what it knows.
"""

from barnabas.controller.shell import Asked, Controller
from barnabas.views.configs import Node, describe
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)


async def describe_configs(
    controller: Controller, asked: Asked, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Tell the configs of resources."""
    config = controller.config
    node = Node(config.node_id, config.static)
    return describe(controller.states.committed.image, node, request, asked.caller)
