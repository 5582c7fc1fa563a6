"""ApiVersions, from both ends: what a listener says it serves, and what two ends agree upon.

    client                                  server
    ApiVersions, newest version  ─────────▶ serves it: every API with its versions, and features
                                 ◀──────── does not: UNSUPPORTED_VERSION, in version 0, with the
    ApiVersions, highest common  ─────────▶         versions of ApiVersions that it serves

KIP-35 made the request, KIP-511 the way back from a version that is too new, KIP-584 the features.

Non-obvious:

- A client that is refused takes the version that the answer names, or 0 where it names none that
  helps; refused again, it gives up.
- Versions before 4 must not tell of a feature whose lowest supported level is 0: older clients
  cannot read that (KAFKA-17492).  A feature finalized at level 0 is off, and is not told at all.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.value import value
from barnabas.wire.apis import APIS, ApiKey, ServedApis, request_class
from barnabas.wire.codec import versions
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.structs import Request

# Since this version a client says what software it is, and is refused if it says it badly.
SOFTWARE_SINCE: Final = 3
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

# Since this version features that may be at level 0 are told.
LEVEL_ZERO_SINCE: Final = 4


@value
class Features:
    """What a node could do, and what the cluster has agreed to do."""

    supported: Mapping[str, range]
    """The levels of each feature."""
    finalized: Mapping[str, int]
    finalized_epoch: int
    """The offset of the metadata that says so; -1 for none."""


NO_FEATURES: Final = Features({}, {}, -1)


def told_apis(served: ServedApis) -> Sequence[ApiVersionsResponse.ApiVersion]:
    """List what a listener serves, as an answer has it."""
    return tuple(
        ApiVersionsResponse.ApiVersion(
            api_key=key, min_version=span.start, max_version=span.stop - 1
        )
        for key, span in served.advertised()
    )


def answer(
    apis: Sequence[ApiVersionsResponse.ApiVersion],
    features: Features,
    request: ApiVersionsRequest,
    version: int,
) -> ApiVersionsResponse:
    """Answer ApiVersions."""
    if version >= SOFTWARE_SINCE and not (
        SOFTWARE.fullmatch(request.client_software_name)
        and SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if features is NO_FEATURES or version < SOFTWARE_SINCE:
        return ApiVersionsResponse(api_keys=apis)
    return ApiVersionsResponse(
        api_keys=apis,
        supported_features=[
            ApiVersionsResponse.SupportedFeatureKey(
                name=name, min_version=levels.start, max_version=levels.stop - 1
            )
            for name, levels in features.supported.items()
            if levels.start or version >= LEVEL_ZERO_SINCE
        ],
        finalized_features_epoch=features.finalized_epoch,
        finalized_features=[
            ApiVersionsResponse.FinalizedFeatureKey(
                name=name, min_version_level=level, max_version_level=level
            )
            for name, level in features.finalized.items()
            if level
        ],
    )


def next_version(refused: int, response: ApiVersionsResponse) -> int | None:
    """Return the version in which to ask for ApiVersions again, None if it is no use."""
    if refused == 0:
        return None
    theirs = [it.max_version for it in response.api_keys if it.api_key == ApiKey.API_VERSIONS]
    return theirs[0] if theirs and 0 < theirs[0] < refused else 0


class Agreement:
    """What may be said on one connection: the newest version of each request that both know."""

    def __init__(self, response: ApiVersionsResponse) -> None:
        self.theirs: Final = {
            it.api_key: range(it.min_version, it.max_version + 1) for it in response.api_keys
        }
        # Filled as requests are made: most connections carry a handful of APIs.
        self._agreed: Final[dict[int, int]] = {}

    def version(self, request: Request) -> int:
        """Return the version to send a request in; ``Refused`` if there is none."""
        key = request.API_KEY
        agreed = self._agreed.get(key)
        if agreed is None:
            agreed = self._agreed[key] = self._highest(key)
        return agreed

    def _highest(self, key: int) -> int:
        ours = versions(request_class(ApiKey(key)))
        theirs = self.theirs.get(key)
        name = APIS[key].name
        if theirs is None:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"{name} is not served there")
        highest = min(ours.stop, theirs.stop) - 1
        if highest not in ours or highest not in theirs:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{name}: {theirs.start} to {theirs.stop - 1} are served there, "
                f"{ours.start} to {ours.stop - 1} are known here",
            )
        return highest
