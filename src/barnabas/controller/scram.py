"""SCRAM credentials of users: set and removed (KIP-554).

A client sends a password salted and hashed, never the password; what is kept of that proves it and
no more.  A user is named once in a request, whatever the mechanism, so that it does not depend on
an order which of two is meant.

Fixed by Kafka's ScramControlManager.java.
"""

from collections import Counter
from typing import TypeAlias

from barnabas.controller.state import ControllerState
from barnabas.metadata.levels import SCRAM
from barnabas.metadata.scram import ScramUser
from barnabas.model.acls import Operation
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.scram import MECHANISMS_BY_TYPE, Mechanism
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from barnabas.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.structs import Message

Deletion: TypeAlias = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion: TypeAlias = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


def alter(
    state: ControllerState, request: AlterUserScramCredentialsRequest, caller: Caller
) -> Decision[Message, AlterUserScramCredentialsResponse]:
    """Answer AlterUserScramCredentials."""
    wanted: list[Deletion | Upsertion] = [*request.deletions, *request.upsertions]
    times = Counter(one.name for one in wanted)
    records: list[Message] = []
    results: dict[str, Refused | None] = {}
    for one in wanted:
        if one.name in results:
            continue
        results[one.name] = None
        try:
            caller.check_cluster(Operation.ALTER)
            record = changed(state, one)
            if times[one.name] > 1:
                raise Refused(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            records.append(record)
        except Refused as refused:
            results[one.name] = refused
    return Decision(
        tuple(records),
        AlterUserScramCredentialsResponse(
            results=[
                AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult(
                    user=user,
                    error_code=refused.code if refused else ErrorCode.NONE,
                    error_message=refused.why if refused else None,
                )
                for user, refused in results.items()
            ]
        ),
    )


def changed(state: ControllerState, one: Deletion | Upsertion) -> Message:
    """Return the record that sets or removes a credential."""
    if state.level < SCRAM:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"The current metadata.version does not support SCRAM: it is {state.level}, and has to "
            f"be {SCRAM}",
        )
    if not one.name:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = MECHANISMS_BY_TYPE.get(one.mechanism)
    if mechanism is None:
        raise Refused(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"Unknown SCRAM mechanism {one.mechanism}"
        )
    match one:
        case AlterUserScramCredentialsRequest.ScramCredentialDeletion():
            return removed(state, mechanism, one)
        case AlterUserScramCredentialsRequest.ScramCredentialUpsertion():
            return upserted(mechanism, one)


def removed(state: ControllerState, mechanism: Mechanism, one: Deletion) -> Message:
    """Return the record that removes a credential."""
    if ScramUser(mechanism.type, one.name) not in state.image.scram.credentials:
        raise Refused(
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        )
    return RemoveUserScramCredentialRecord(name=one.name, mechanism=mechanism.type)


def upserted(mechanism: Mechanism, one: Upsertion) -> Message:
    """Return the record that sets a credential."""
    least, most = mechanism.iterations_min, mechanism.iterations_max
    if not least <= one.iterations <= most:
        how = "few" if one.iterations < least else "many"
        raise Refused(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"Too {how} iterations: {one.iterations}, where {least} to {most} are allowed",
        )
    if not one.salted_password:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password must not be empty")
    return UserScramCredentialRecord(
        name=one.name,
        mechanism=mechanism.type,
        salt=bytes(one.salt),
        stored_key=mechanism.stored_key(one.salted_password),
        server_key=mechanism.server_key(one.salted_password),
        iterations=one.iterations,
    )
