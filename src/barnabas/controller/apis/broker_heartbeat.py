"""BrokerHeartbeat, versions 0 to 2: a broker is alive, and says what it wants.

Version 1 tells of log directories that are offline (KIP-858), 2 of those that are cordoned.  It is
heard before anything is decided: a controller that is slow must not fence whoever has spoken
(KAFKA-15441).
"""

from functools import partial

from barnabas.controller.brokers import heartbeat
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)


async def broker_heartbeat(
    controller: Controller, asked: Asked, request: BrokerHeartbeatRequest
) -> BrokerHeartbeatResponse:
    """Answer a heartbeat."""
    asked.caller.check_cluster(Operation.CLUSTER_ACTION)
    sessions = controller.sessions
    sessions.heard(
        controller.states.pending, request.broker_id, request.broker_epoch, controller.now_ms()
    )
    answered = await controller.submit(
        partial(heartbeat, config=controller.config, sessions=sessions, request=request)
    )
    sessions.note(answered.heartbeat)
    return answered.response
