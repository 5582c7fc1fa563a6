# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    boolean,
    field,
    int8,
    int16,
    int32,
    string,
)


class DescribeClusterRequest(Request, key=60, versions="0-2", flexible="0+"):
    """DescribeCluster (API 60), versions 0-2, always flexible."""

    include_cluster_authorized_operations: bool = field(boolean, "0+")
    endpoint_type: int = field(int8, "1+", default=1)
    include_fenced_brokers: bool = field(boolean, "2+")


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    """DescribeCluster (API 60), versions 0-2, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    endpoint_type: int = field(int8, "1+", default=1)
    cluster_id: str = field(string, "0+")
    controller_id: int = field(int32, "0+", default=-1)
    brokers: Sequence[DescribeClusterResponse.DescribeClusterBroker] = field(
        array_of("DescribeClusterBroker"), "0+"
    )
    cluster_authorized_operations: int = field(int32, "0+", default=-2147483648)

    class DescribeClusterBroker(Struct):
        broker_id: int = field(int32, "0+")
        host: str = field(string, "0+")
        port: int = field(int32, "0+")
        rack: str | None = field(string, "0+", default=None, nullable="0+")
        is_fenced: bool = field(boolean, "2+")
