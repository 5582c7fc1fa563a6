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


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible="0+"):
    """UpdateFeatures (API 57), versions 0-2, always flexible."""

    timeout_ms: int = field(int32, "0+", default=60000)
    feature_updates: Sequence[UpdateFeaturesRequest.FeatureUpdateKey] = field(
        array_of("FeatureUpdateKey"), "0+"
    )
    validate_only: bool = field(boolean, "1+")

    class FeatureUpdateKey(Struct):
        feature: str = field(string, "0+")
        max_version_level: int = field(int16, "0+")
        allow_downgrade: bool = field(boolean, "0")
        upgrade_type: int = field(int8, "1+", default=1)


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    """UpdateFeatures (API 57), versions 0-2, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    results: Sequence[UpdateFeaturesResponse.UpdatableFeatureResult] = field(
        array_of("UpdatableFeatureResult"), "0-1", ignorable=True
    )

    class UpdatableFeatureResult(Struct):
        feature: str = field(string, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
