"""UpdateFeatures, versions 0 to 2: other levels for the cluster (KIP-584).

Version 1 says which way a level may go (KIP-778), 2 answers for all features at once (KIP-1022).
The quorum's own feature, kraft.version, is not in the metadata: it cannot be changed here yet, and
who asks for that is told so.
"""

from barnabas.controller.features import QuorumFacts, update, wanted_kraft_version
from barnabas.controller.shell import Asked, Controller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import KRAFT_VERSION
from barnabas.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


async def update_features(
    controller: Controller, asked: Asked, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    """Change levels of features."""
    facts = QuorumFacts(controller.kraft_version(), controller.voters())
    wanted = wanted_kraft_version(request, facts)
    if wanted is not None and wanted != facts.kraft_version:
        raise Refused(
            ErrorCode.FEATURE_UPDATE_FAILED,
            f"{KRAFT_VERSION} is {facts.kraft_version} and stays so: format a new cluster at "
            f"{wanted}",
        )
    return await controller.submit(
        lambda state, _: update(state, controller.config, facts, request, asked.caller)
    )
