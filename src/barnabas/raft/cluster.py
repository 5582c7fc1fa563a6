"""Which controllers there are, told to whoever asks one of them: DescribeCluster, versions 0 to 2.

Operators' tools that are given controllers to begin with (KIP-919) ask this first, and go on to
the leader.  The voters in force are the controllers: where they are reached stands in the log.

Version 1 added the kind of endpoint that is meant, version 2 fenced brokers, of which a quorum has
none.  Without a sort of endpoint (version 0) brokers are meant, so that a controller refuses.

Fixed by Kafka's AuthHelper.computeDescribeClusterResponse.
"""

from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.raft.asking import NO_LEADER
from barnabas.raft.node import RaftNode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

ENDPOINT_TYPES: Final = {1: "brokers", 2: "controllers"}
CONTROLLERS: Final = 2
ENDPOINT_TYPE_SINCE: Final = 1

# Everything that may be done to a cluster, as bits: without an authorizer everybody may.
# CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE
ALL_OPERATIONS: Final = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))
UNASKED_OPERATIONS: Final = -(2**31)


def describe_cluster(
    node: RaftNode, request: DescribeClusterRequest, version: int, listener: str
) -> DescribeClusterResponse:
    """Return the controllers and who leads, as seen through a listener."""
    wanted = request.endpoint_type
    if wanted != CONTROLLERS:
        return refusal(wanted, version)
    controllers = [
        DescribeClusterResponse.DescribeClusterBroker(
            broker_id=voter.key.id, host=at.host, port=at.port
        )
        for voter in node.voters.current.voters
        for at in voter.endpoints
        if at.listener == listener
    ]
    known = {controller.broker_id for controller in controllers}
    leader_id = node.leader_id
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=node.config.cluster_id,
        controller_id=leader_id if leader_id is not None and leader_id in known else NO_LEADER,
        brokers=controllers,
        cluster_authorized_operations=ALL_OPERATIONS
        if request.include_cluster_authorized_operations
        else UNASKED_OPERATIONS,
    )


def refusal(wanted: int, version: int) -> DescribeClusterResponse:
    """Return why nothing is told."""
    if wanted in ENDPOINT_TYPES:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        why = f"this endpoint tells of controllers, not of {ENDPOINT_TYPES[wanted]}"
    else:
        error = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        why = f"there is no endpoint of type {wanted}: 1 are brokers, 2 controllers"
    if version < ENDPOINT_TYPE_SINCE:
        error = ErrorCode.INVALID_REQUEST
    return DescribeClusterResponse(error_code=error, error_message=why)
