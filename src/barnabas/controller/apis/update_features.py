"""UpdateFeatures, versions 0 to 2: other levels for the cluster (KIP-584).

Version 1 says which way a level may go (KIP-778), 2 answers for all features at once (KIP-1022).
The quorum's own feature, kraft.version, is not in the metadata and cannot be raised.
"""

from barnabas.controller.features import QuorumFacts, update
from barnabas.controller.shell import Asked, Controller
from barnabas.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


async def update_features(
    controller: Controller, asked: Asked, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    """Change levels of features."""
    facts = QuorumFacts(controller.kraft_version(), controller.voters())
    return await controller.submit(
        lambda state, _: update(state, controller.config, facts, request, asked.caller)
    )
