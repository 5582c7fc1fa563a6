"""ACLs: rules that are made, and rules that are taken away by filters.

A rule that is there already is made again without a record.  Each new one gets an id, which is
handed in: a number for each that is asked for.

A request takes away every rule that one of its filters takes, once.  What would be too much for one
batch is refused as a whole, because nobody reads an answer of ten thousand rules to its end to see
that some were left.

Fixed by Kafka's AclControlManager.java and AclApis.scala.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import ControllerState
from barnabas.metadata.acls import Acl
from barnabas.model.acls import CLUSTER_NAME, AclResource, Operation, Pattern, Permission
from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.statelog.decision import Decision
from barnabas.views.acls import AclFilter, order, taken
from barnabas.wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from barnabas.wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from barnabas.wire.structs import Message

REMOVED_MAX: Final = 10_000
"""How many rules one request may take away."""

AUTHORIZER: Final = BROKER_CONFIGS["authorizer.class.name"]


def is_secured(config: ControllerConfig) -> bool:
    """Tell whether the node has an authorizer, without which rules mean nothing."""
    return bool(config.static.get(AUTHORIZER.name, AUTHORIZER.default or "").strip())


def check_secured(config: ControllerConfig, caller: Caller) -> None:
    """Refuse to change rules where there is no authorizer, or for somebody who may not."""
    caller.check_cluster(Operation.ALTER)
    if not is_secured(config):
        raise Refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


# --- New rules -----------------------------------------------------------------------------------


def create(
    state: ControllerState,
    config: ControllerConfig,
    request: CreateAclsRequest,
    caller: Caller,
    ids: Sequence[Uuid],
) -> Decision[Message, CreateAclsResponse]:
    """Answer CreateAcls; ``ids`` are as many as rules."""
    assert len(ids) >= len(request.creations), f"{len(ids)} ids for {len(request.creations)} rules"
    names = {one.resource_name for one in request.creations}
    there = {acl for acl in state.image.acls.acls.values() if acl.resource_name in names}
    records: list[Message] = []
    results = []
    for one, acl_id in zip(request.creations, ids, strict=False):
        code, why = ErrorCode.NONE, None
        try:
            check_secured(config, caller)
            check_new(one)
            acl = acl_of(one)
            if acl not in there:
                there.add(acl)
                records.append(record_of(acl_id, acl))
        except Refused as refused:
            code, why = refused.code, refused.why
        results.append(CreateAclsResponse.AclCreationResult(error_code=code, error_message=why))
    return Decision(tuple(records), CreateAclsResponse(results=results))


def check_new(one: CreateAclsRequest.AclCreation) -> None:
    """Refuse a rule that means nothing."""
    if one.resource_type == AclResource.CLUSTER and one.resource_name != CLUSTER_NAME:
        why = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif not one.resource_name:
        why = "Invalid empty resource name"
    elif one.resource_type not in tuple(AclResource)[2:]:
        why = f"Invalid resourceType {one.resource_type}"
    elif one.resource_pattern_type not in (Pattern.LITERAL, Pattern.PREFIXED):
        why = f"Invalid patternType {one.resource_pattern_type}"
    elif one.operation not in tuple(Operation)[2:]:
        why = f"Invalid operation {one.operation}"
    elif one.permission_type not in (Permission.DENY, Permission.ALLOW):
        why = f"Invalid permissionType {one.permission_type}"
    elif ":" not in one.principal:
        why = (
            f"Could not parse principal from `{one.principal}` (no colon is present separating the "
            "principal type from the principal name)"
        )
    else:
        return
    raise Refused(ErrorCode.INVALID_REQUEST, why)


def acl_of(one: CreateAclsRequest.AclCreation) -> Acl:
    """Return the rule that somebody wants."""
    return Acl(
        one.resource_type,
        one.resource_name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def record_of(acl_id: Uuid, acl: Acl) -> AccessControlEntryRecord:
    """Return the record of a rule."""
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


# --- Rules that go -------------------------------------------------------------------------------


def delete(
    state: ControllerState, config: ControllerConfig, request: DeleteAclsRequest, caller: Caller
) -> Decision[Message, DeleteAclsResponse]:
    """Answer DeleteAcls."""
    removed: dict[Uuid, Message] = {}
    results = []
    for told in request.filters:
        try:
            check_secured(config, caller)
            wanted = AclFilter.of(told)
            wanted.check()
            found = sorted(taken(state.image, wanted), key=lambda one: order(one[1]))
            for acl_id, _ in found:
                removed[acl_id] = RemoveAccessControlEntryRecord(id=acl_id)
            results.append(
                DeleteAclsResponse.DeleteAclsFilterResult(
                    matching_acls=[matching(acl) for _, acl in found]
                )
            )
        except Refused as refused:
            results.append(refusal(refused))
    if len(removed) > REMOVED_MAX:
        too_many = Refused(
            ErrorCode.INVALID_REQUEST,
            f"Cannot remove more than {REMOVED_MAX} acls in a single delete operation, and the "
            f"filters take {len(removed)}; narrow them",
        )
        return Decision((), DeleteAclsResponse(filter_results=[refusal(too_many)] * len(results)))
    return Decision(tuple(removed.values()), DeleteAclsResponse(filter_results=results))


def refusal(refused: Refused) -> DeleteAclsResponse.DeleteAclsFilterResult:
    """Return what is told of a filter that was refused."""
    return DeleteAclsResponse.DeleteAclsFilterResult(
        error_code=refused.code, error_message=refused.why
    )


def matching(acl: Acl) -> DeleteAclsResponse.DeleteAclsMatchingAcl:
    """Return what is told of a rule that was taken away."""
    return DeleteAclsResponse.DeleteAclsMatchingAcl(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
