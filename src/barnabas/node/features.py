"""What ApiVersions tells of features: what this build can do, and what the cluster agreed upon."""

from barnabas.metadata.image import MetadataImage
from barnabas.model.features import KRAFT_VERSION, METADATA_VERSION, supported_levels
from barnabas.net.versions import Features
from barnabas.raft.shell import Quorum


def told_features(quorum: Quorum, image: MetadataImage, unstable: bool) -> Features:
    """Return the levels that there could be, and those in force."""
    finalized = dict(image.features.levels)
    if image.features.metadata_version is not None:
        finalized[METADATA_VERSION] = image.features.metadata_version
    # The quorum's own feature is not in the metadata.
    finalized[KRAFT_VERSION] = quorum.node.voters.version
    supported = supported_levels(unstable)
    return Features(
        {name: range(least, most + 1) for name, (least, most) in supported.items()},
        finalized,
        image.offset,
    )


def of_quorum(quorum: Quorum) -> Features:
    """Return what a member knows that follows no metadata: the quorum's own levels."""
    least, most = quorum.config.versions
    return Features(
        {KRAFT_VERSION: range(least, most + 1)},
        {KRAFT_VERSION: quorum.node.voters.version},
        quorum.high_watermark - 1,
    )
