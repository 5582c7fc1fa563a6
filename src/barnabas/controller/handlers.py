"""The APIs that a controller answers, and how one becomes an answer.

    request ──▶ handler(controller, asked, request) ──▶ response
                    └── Refused ──▶ refusals.refusal ──▶ response

A broker hands on what its clients ask of the controller in envelopes (KIP-590).  The request inside
is answered as if it had come by itself, but for NOT_CONTROLLER, which is written on the envelope.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, cast

from barnabas.controller.apis.allocate_producer_ids import allocate_producer_ids
from barnabas.controller.apis.alter_client_quotas import alter_client_quotas
from barnabas.controller.apis.alter_configs import alter_configs
from barnabas.controller.apis.alter_partition import alter_partition
from barnabas.controller.apis.alter_partition_reassignments import alter_partition_reassignments
from barnabas.controller.apis.alter_user_scram_credentials import alter_user_scram_credentials
from barnabas.controller.apis.assign_replicas_to_dirs import assign_replicas_to_dirs
from barnabas.controller.apis.broker_heartbeat import broker_heartbeat
from barnabas.controller.apis.broker_registration import broker_registration
from barnabas.controller.apis.controller_registration import controller_registration
from barnabas.controller.apis.create_acls import create_acls
from barnabas.controller.apis.create_delegation_token import create_delegation_token
from barnabas.controller.apis.create_partitions import create_partitions
from barnabas.controller.apis.create_topics import create_topics
from barnabas.controller.apis.delete_acls import delete_acls
from barnabas.controller.apis.delete_topics import delete_topics
from barnabas.controller.apis.describe_acls import describe_acls
from barnabas.controller.apis.describe_configs import describe_configs
from barnabas.controller.apis.elect_leaders import elect_leaders
from barnabas.controller.apis.expire_delegation_token import expire_delegation_token
from barnabas.controller.apis.incremental_alter_configs import incremental_alter_configs
from barnabas.controller.apis.list_partition_reassignments import list_partition_reassignments
from barnabas.controller.apis.renew_delegation_token import renew_delegation_token
from barnabas.controller.apis.unregister_broker import unregister_broker
from barnabas.controller.apis.update_features import update_features
from barnabas.controller.refusals import refusal
from barnabas.controller.shell import Asked, Controller
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.net.envelope import opened, sealed
from barnabas.net.server import Context
from barnabas.net.server import Handler as NetHandler
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.wire.structs import Request, Response

Handler: TypeAlias = Callable[[Controller, Asked, Any], Coroutine[Any, Any, Response]]

HANDLERS: Final[Mapping[ApiKey, Handler]] = {
    ApiKey.ALLOCATE_PRODUCER_IDS: allocate_producer_ids,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas,
    ApiKey.ALTER_CONFIGS: alter_configs,
    ApiKey.ALTER_PARTITION: alter_partition,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: assign_replicas_to_dirs,
    ApiKey.BROKER_HEARTBEAT: broker_heartbeat,
    ApiKey.BROKER_REGISTRATION: broker_registration,
    ApiKey.CONTROLLER_REGISTRATION: controller_registration,
    ApiKey.CREATE_ACLS: create_acls,
    ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
    ApiKey.CREATE_PARTITIONS: create_partitions,
    ApiKey.CREATE_TOPICS: create_topics,
    ApiKey.DELETE_ACLS: delete_acls,
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.DESCRIBE_ACLS: describe_acls,
    ApiKey.DESCRIBE_CONFIGS: describe_configs,
    ApiKey.ELECT_LEADERS: elect_leaders,
    ApiKey.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments,
    ApiKey.RENEW_DELEGATION_TOKEN: renew_delegation_token,
    ApiKey.UNREGISTER_BROKER: unregister_broker,
    ApiKey.UPDATE_FEATURES: update_features,
}


def handlers(
    controller: Controller, others: Mapping[ApiKey, NetHandler]
) -> dict[ApiKey, NetHandler]:
    """Return what a listener needs to serve a controller, and whatever else its node answers."""
    own: dict[ApiKey, NetHandler] = {
        key: partial(answered, controller, handler) for key, handler in HANDLERS.items()
    }
    served = ServedApis("controller", (*HANDLERS, *others))
    envelopes = partial(enveloped, controller, served, others)
    return {**others, **own, ApiKey.ENVELOPE: envelopes}


async def answered(
    controller: Controller, handler: Handler, context: Context, request: Request
) -> Response:
    """Answer a request."""
    asked = Asked(context.api_version, ANYBODY, context.listener)
    try:
        return await handler(controller, asked, request)
    except Refused as refused:
        return refusal(request, context.api_version, refused)


async def enveloped(
    controller: Controller,
    served: ServedApis,
    others: Mapping[ApiKey, NetHandler],
    context: Context,
    request: Request,
) -> Response:
    """Answer a request in an envelope."""
    try:
        forwarded = opened(served, context, cast(EnvelopeRequest, request))
    except Refused as refused:
        return EnvelopeResponse(error_code=refused.code)
    key, inner, message = forwarded.api.key, forwarded.context, forwarded.message
    if key in others:
        response = await others[key](inner, message)
        assert response is not None, f"{forwarded.api.name} was not answered"
        return sealed(forwarded, response)
    asked = Asked(inner.api_version, Caller(forwarded.principal, forwarded=True), inner.listener)
    try:
        response = await HANDLERS[key](controller, asked, message)
    except Refused as refused:
        if refused.code is ErrorCode.NOT_CONTROLLER:
            return EnvelopeResponse(error_code=refused.code)
        response = refusal(message, inner.api_version, refused)
    return sealed(forwarded, response)
