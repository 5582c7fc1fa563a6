"""Client quotas as clients are told of them, by filters (KIP-546).

A filter has a component for each kind of entity that it cares for: of that very name, without a
name (the default of its kind), or of any.  A strict filter takes only entities that have nothing
else; any other takes them, too.

Fixed by Kafka's ClientQuotasImage.java.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.quotas import Entity
from barnabas.model.acls import Operation
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"


class Match(IntEnum):
    """What a component of a filter takes, by Kafka's numbers."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


def describe(
    image: MetadataImage, request: DescribeClientQuotasRequest, caller: Caller
) -> DescribeClientQuotasResponse:
    """Answer DescribeClientQuotas."""
    try:
        caller.check_cluster(Operation.DESCRIBE_CONFIGS)
        check_filter(request.components)
    except Refused as refused:
        return DescribeClientQuotasResponse(
            error_code=refused.code, error_message=refused.why, entries=None
        )
    return DescribeClientQuotasResponse(
        entries=[
            DescribeClientQuotasResponse.EntryData(
                entity=[
                    DescribeClientQuotasResponse.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in entity
                ],
                values=[
                    DescribeClientQuotasResponse.ValueData(key=key, value=limit)
                    for key, limit in sorted(quotas.items())
                ],
            )
            for entity, quotas in image.client_quotas.entities.items()
            if takes(request, entity)
        ]
    )


def check_filter(components: Sequence[DescribeClientQuotasRequest.ComponentData]) -> None:
    """Refuse a filter that means nothing."""
    seen = set()
    for one in components:
        if not one.entity_type:
            raise Refused(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if one.entity_type in seen:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"Entity type {one.entity_type} cannot appear more than once in the filter.",
            )
        if one.entity_type not in (USER, CLIENT_ID, IP):
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {one.entity_type}"
            )
        seen.add(one.entity_type)
        if one.match_type not in tuple(Match):
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown match type {one.match_type}")
        if (one.match is None) is (one.match_type == Match.EXACT):
            how = "no" if one.match is None else "a"
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"Request specified MATCH_TYPE_{Match(one.match_type).name}, and {how} match "
                "string",
            )
    if IP in seen and len(seen) > 1:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component.",
        )


def takes(request: DescribeClientQuotasRequest, entity: Entity) -> bool:
    """Tell whether a filter takes an entity."""
    names = dict(entity)
    if request.strict and len(names) != len(request.components):
        return False
    return all(
        one.entity_type in names
        and (one.match_type == Match.SPECIFIED or names[one.entity_type] == one.match)
        for one in request.components
    )
