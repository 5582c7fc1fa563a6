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
    int16,
    int32,
    int64,
    string,
)


class ApiVersionsRequest(Request, key=18, versions="0-4", flexible="3+"):
    """ApiVersions (API 18), versions 0-4, flexible from 3."""

    client_software_name: str = field(string, "3+", ignorable=True)
    client_software_version: str = field(string, "3+", ignorable=True)


class ApiVersionsResponse(Response, key=18, versions="0-4", flexible="3+"):
    """ApiVersions (API 18), versions 0-4, flexible from 3."""

    error_code: int = field(int16, "0+")
    api_keys: Sequence[ApiVersionsResponse.ApiVersion] = field(array_of("ApiVersion"), "0+")
    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    supported_features: Sequence[ApiVersionsResponse.SupportedFeatureKey] = field(
        array_of("SupportedFeatureKey"), "3+", tag=0, tagged="3+", ignorable=True
    )
    finalized_features_epoch: int = field(
        int64, "3+", default=-1, tag=1, tagged="3+", ignorable=True
    )
    finalized_features: Sequence[ApiVersionsResponse.FinalizedFeatureKey] = field(
        array_of("FinalizedFeatureKey"), "3+", tag=2, tagged="3+", ignorable=True
    )
    zk_migration_ready: bool = field(boolean, "3+", tag=3, tagged="3+", ignorable=True)

    class ApiVersion(Struct):
        api_key: int = field(int16, "0+")
        min_version: int = field(int16, "0+")
        max_version: int = field(int16, "0+")

    class SupportedFeatureKey(Struct):
        name: str = field(string, "3+")
        min_version: int = field(int16, "3+")
        max_version: int = field(int16, "3+")

    class FinalizedFeatureKey(Struct):
        name: str = field(string, "3+")
        max_version_level: int = field(int16, "3+")
        min_version_level: int = field(int16, "3+")
