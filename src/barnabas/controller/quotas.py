"""Client quotas: how much a user, a client or an address may use (KIP-546).

What is given to an entity replaces what it had, quota by quota; an entity is changed whole or not
at all.  Users and clients may be meant together, addresses alone.

Addresses are judged by how they are written.  (Kafka's controllers also ask the name service
whether a host is known, and wait for it while they decide.)

Fixed by Kafka's ClientQuotaControlManager.java and QuotaConfig.java.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from barnabas.controller.state import ControllerState
from barnabas.metadata.quotas import Entity, entity
from barnabas.model.acls import Operation
from barnabas.model.caller import Caller
from barnabas.model.configs import Kind
from barnabas.model.errors import ErrorCode, Refused
from barnabas.statelog.decision import Decision
from barnabas.views.quotas import CLIENT_ID, IP, USER
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.structs import Message

OF_CLIENTS: Final[Mapping[str, Kind]] = {
    "producer_byte_rate": Kind.LONG,
    "consumer_byte_rate": Kind.LONG,
    "request_percentage": Kind.DOUBLE,
    "controller_mutation_rate": Kind.DOUBLE,
}
OF_ADDRESSES: Final[Mapping[str, Kind]] = {"connection_creation_rate": Kind.INT}
"""The quotas there are, with what their values are."""

MOST: Final = {Kind.INT: (1 << 31) - 1, Kind.LONG: (1 << 63) - 1}
FRACTION_MAX: Final = 1e-6
"""How far a number may be from a whole one and still be meant as such."""

HOST: Final = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?"
)


def alter(
    state: ControllerState, request: AlterClientQuotasRequest, caller: Caller
) -> Decision[Message, AlterClientQuotasResponse]:
    """Answer AlterClientQuotas."""
    whose = [entity({one.entity_type: one.entity_name for one in entry.entity})
             for entry in request.entries]  # fmt: skip
    times = Counter(whose)
    records: list[Message] = []
    results: dict[Entity, Refused | None] = {}
    for entry, of in zip(request.entries, whose, strict=True):
        if of in results:
            continue
        results[of] = None
        try:
            caller.check_cluster(Operation.ALTER_CONFIGS)
            if times[of] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity {dict(of)}")
            records += changed(state, entry, of)
        except Refused as refused:
            results[of] = refused
    return Decision(
        () if request.validate_only else tuple(records),
        AlterClientQuotasResponse(
            entries=[
                AlterClientQuotasResponse.EntryData(
                    error_code=refused.code if refused else ErrorCode.NONE,
                    error_message=refused.why if refused else None,
                    entity=[
                        AlterClientQuotasResponse.EntityData(entity_type=kind, entity_name=name)
                        for kind, name in of
                    ],
                )
                for of, refused in results.items()
            ]
        ),
    )


def changed(
    state: ControllerState, entry: AlterClientQuotasRequest.EntryData, of: Entity
) -> list[Message]:
    """Return the records that change the quotas of an entity."""
    keys = [one.key for one in entry.ops]
    if len(set(keys)) < len(keys):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Duplicate quota key: {', '.join(keys)} are meant for entity {dict(of)}",
        )
    if len(of) < len(entry.entity):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Invalid client quota entity, duplicate entity entry in "
            f"{[one.entity_type for one in entry.entity]}",
        )
    allowed = quotas_of(dict(of))
    before = state.image.client_quotas.entities.get(of, {})
    parts = [ClientQuotaRecord.EntityData(entity_type=kind, entity_name=name) for kind, name in of]
    records: list[Message] = []
    for one in entry.ops:
        if one.remove:
            if one.key in before:
                records.append(ClientQuotaRecord(entity=parts, key=one.key, remove=True))
            continue
        check_quota(allowed, one.key, one.value)
        if before.get(one.key) != one.value:
            records.append(ClientQuotaRecord(entity=parts, key=one.key, value=one.value))
    return records


def quotas_of(of: Mapping[str, str | None]) -> Mapping[str, Kind]:
    """Return the quotas that an entity may have; ``Refused`` if it is none."""
    for kind, name in of.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise Refused(ErrorCode.INVALID_REQUEST, f"Empty {kind} not supported")
    if not of:
        raise Refused(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    if IP not in of:
        return OF_CLIENTS
    if len(of) > 1:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Invalid quota entity combination, IP entity should not be combined with User or "
            "ClientId",
        )
    address = of[IP]
    if address is not None and not is_address(address):
        raise Refused(ErrorCode.INVALID_REQUEST, f"{address} is not a valid IP or resolvable host.")
    return OF_ADDRESSES


def is_address(text: str) -> bool:
    """Tell whether a text is an address, or could be the name of a host."""
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        # What has numbers only is meant as an address, and is none.
        return HOST.fullmatch(text) is not None and not re.fullmatch(r"[0-9.]+", text)
    return True


def check_quota(allowed: Mapping[str, Kind], key: str, limit: float) -> None:
    """Refuse a quota that an entity cannot have."""
    kind = allowed.get(key)
    if kind is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {key}")
    if not limit > 0:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Quota {key} must be greater than 0, and is {limit}"
        )
    if kind is Kind.DOUBLE:
        return
    if limit > MOST[kind]:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Proposed value for {key} is too large for a {kind.name}."
        )
    if limit % 1.0 > FRACTION_MAX:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{key} cannot be a fractional value.")
