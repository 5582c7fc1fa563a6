"""Levels go up and down as far as everybody can follow."""

from barnabas.controller.apis.update_features import update_features
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.update_features import UpdateFeaturesRequest
from tests.controller.apis.desk import Desk, at_desk


def wish(feature: str, level: int, way: int = 1) -> UpdateFeaturesRequest:
    """Return the wish for a level."""
    key = UpdateFeaturesRequest.FeatureUpdateKey(
        feature=feature, max_version_level=level, upgrade_type=way
    )
    return UpdateFeaturesRequest(feature_updates=[key])


def test_a_level_that_all_support_is_taken() -> None:
    async def story(desk: Desk) -> None:
        assert (await desk.ask(update_features, wish("metadata.version", 30), 2)).error_code == 0
        assert desk.state.level == 30
        refused = await desk.ask(update_features, wish("metadata.version", 99), 2)
        assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert desk.state.level == 30

    at_desk(story)


def test_the_quorums_own_level_stays() -> None:
    async def story(desk: Desk) -> None:
        refused = await desk.ask(update_features, wish("kraft.version", 1), 2)
        assert refused.error_code == ErrorCode.FEATURE_UPDATE_FAILED

    at_desk(story)
