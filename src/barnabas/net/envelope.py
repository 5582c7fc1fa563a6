"""Requests that a broker hands on to the controller for its client (KIP-590).

    client ── CreateTopics ──▶ broker ── Envelope(CreateTopics, who, from where) ──▶ controller
                                      ◀── Envelope(answer to CreateTopics) ────────

What is inside is a whole request, header and all, and so is the answer.  Only what a client may ask
of a controller by way of a broker can be in an envelope.  What is wrong with the envelope itself is
told outside: INVALID_REQUEST for the envelope, UNSUPPORTED_VERSION for a request inside that nobody
can read, PRINCIPAL_DESERIALIZATION_FAILURE for a client of whom nobody can tell who it is.  And so
is NOT_CONTROLLER, for the broker to ask another: its client never hears of it.

Fixed by Kafka's EnvelopeUtils.scala and RequestChannel.scala.
"""

from typing import Final

from barnabas.model.errors import ErrorCode, Refused, RemoteProtocolError
from barnabas.model.value import value
from barnabas.net.server import Context
from barnabas.runtime.network import Address
from barnabas.wire import codec
from barnabas.wire.apis import Api, ApiKey, ServedApis, request_class
from barnabas.wire.frames import SIZE_BYTES, read_request_header, response_frame
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.wire.messages.stored.default_principal_data import DefaultPrincipalData
from barnabas.wire.structs import Request, Response

FORWARDABLE: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
"""What Kafka's ApiKeys calls forwardable."""

ADDRESS_BYTES: Final = (4, 16)
VERSION_BYTES: Final = 2


@value
class Forwarded:
    """A request that was in an envelope."""

    api: Api
    message: Request
    context: Context
    """As if the client had asked itself."""
    principal: str
    """Who the client is, as ACLs name it."""


def opened(served: ServedApis, context: Context, envelope: EnvelopeRequest) -> Forwarded:
    """Take a request out of its envelope; ``Refused`` with what to write on the envelope."""
    principal = principal_of(envelope.request_principal)
    if len(envelope.client_host_address) not in ADDRESS_BYTES:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a client's address of {len(envelope.client_host_address)} bytes, not of 4 or 16",
        )
    host = address_text(envelope.client_host_address)
    data = envelope.request_data
    try:
        api, version, correlation_id, client_id, at = read_request_header(data)
    except RemoteProtocolError as error:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"in an envelope: {error}") from error
    if api.key not in FORWARDABLE:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{api.name} is nothing to be forwarded")
    if api.key not in served.apis or version not in api.versions:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION, f"{api.name} v{version} is not served by a controller"
        )
    try:
        message = codec.decode(request_class(api.key), version, data[at:])
    except RemoteProtocolError as error:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"in an envelope: {error}") from error
    inner = Context(context.listener, Address(host, 0), client_id, version, correlation_id)
    return Forwarded(api, message, inner, principal)


def sealed(forwarded: Forwarded, response: Response) -> EnvelopeResponse:
    """Put an answer into an envelope."""
    context = forwarded.context
    frame = b"".join(response_frame(response, context.api_version, context.correlation_id))
    return EnvelopeResponse(response_data=frame[SIZE_BYTES:], error_code=ErrorCode.NONE)


def principal_of(principal: bytes | None) -> str:
    """Return who a client is; ``Refused`` if nobody can tell."""
    try:
        if principal is None or len(principal) < VERSION_BYTES:
            raise RemoteProtocolError("it has no version")
        version = int.from_bytes(principal[:VERSION_BYTES])
        if version not in codec.versions(DefaultPrincipalData):
            raise RemoteProtocolError(f"version {version} is not known here")
        told = codec.decode(DefaultPrincipalData, version, principal[VERSION_BYTES:])
    except RemoteProtocolError as error:
        raise Refused(
            ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, f"who the client is: {error}"
        ) from error
    return f"{told.type}:{told.name}"


def address_text(address: bytes) -> str:
    """Return an address as people write it."""
    if len(address) == ADDRESS_BYTES[0]:
        return ".".join(map(str, address))
    groups = (address[at : at + 2].hex() for at in range(0, len(address), 2))
    return ":".join(group.lstrip("0") or "0" for group in groups)
