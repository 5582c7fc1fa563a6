"""BrokerRegistration, versions 0 to 4: a broker wants to take part.

Version 1 told whether it comes from ZooKeeper, 2 its log directories (KIP-858), 3 which life of it
ended cleanly (KIP-966), 4 that features may be at level 0 (KIP-584).  The answer comes when the
registration is committed: the epoch in it is where the record stands.
"""

from functools import partial

from barnabas.controller.brokers import Joining, register
from barnabas.controller.shell import Asked, Controller
from barnabas.model.acls import Operation
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)


async def broker_registration(
    controller: Controller, asked: Asked, request: BrokerRegistrationRequest
) -> BrokerRegistrationResponse:
    """Register a broker."""
    asked.caller.check_cluster(Operation.CLUSTER_ACTION)
    config = controller.config
    joining = Joining(
        config.cluster_id, controller.kraft_version(), asked.version, controller.now_ms()
    )
    return await controller.submit(
        partial(
            register,
            config=config,
            sessions=controller.sessions,
            joining=joining,
            request=request,
        )
    )
