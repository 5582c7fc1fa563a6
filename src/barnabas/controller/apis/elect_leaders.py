"""ElectLeaders, versions 0 to 2: preferred leaders, or any at all (KIP-183, KIP-460).

Version 1 brought the kind of election; version 0 means preferred ones.
"""

from barnabas.controller.elections import elect
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse


async def elect_leaders(
    controller: Controller, asked: Asked, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    """Elect leaders."""
    asked.caller.check_cluster(Operation.ALTER)
    return await controller.submit(lambda state, _: elect(state, controller.config, request))
