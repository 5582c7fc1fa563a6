"""The finalized features: at which level the cluster uses each (KIP-584).

``metadata.version`` is a feature like any other in the log, but decides how records are written,
so it stands apart here, comes first in every snapshot, and has to be a level that this build knows:
nobody can tell what the records behind an unknown one would mean.  Levels of other features are
kept as they are told; whether a node may serve with them is asked when it registers.

A level of 0 is no level.  ``kraft.version`` belongs to the quorum, which keeps it in records of its
own; where an early 4.0 wrote it here by mistake it is passed over (KAFKA-18979).

Fixed by Kafka's FeaturesImage.java and FeaturesDelta.java.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.metadata.faults import BadRecord
from barnabas.metadata.levels import Form, LevelChange
from barnabas.metadata.table import changed, difference
from barnabas.model.features import (
    KRAFT_VERSION,
    LATEST_TESTING,
    METADATA_VERSION,
    MINIMUM_VERSION,
)
from barnabas.model.value import value
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.structs import Message


@value
class FeaturesImage:
    """The levels in force."""

    metadata_version: int | None
    levels: Mapping[str, int]
    """Of the other features, by name; none is 0."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever said."""
        return self.metadata_version is None and not self.levels

    def level(self, feature: str) -> int:
        """Return the level of a feature; 0 if it is not in use."""
        if feature == METADATA_VERSION:
            return self.metadata_version or 0
        return self.levels.get(feature, 0)

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the levels as records, that of ``metadata.version`` first and as the form has it.

        That one is written in version 0 forever, so that anybody can read it.
        """
        yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=form.level), 0
        for name, level in sorted(self.levels.items()):
            yield form.versioned(FeatureLevelRecord(name=name, feature_level=level))


EMPTY: Final = FeaturesImage(None, {})


class FeaturesDelta:
    """Levels that are others."""

    def __init__(self, image: FeaturesImage) -> None:
        self.image = image
        self.metadata_version = image.metadata_version
        self.levels: dict[str, int | None] = {}

    @staticmethod
    def between(image: FeaturesImage, later: FeaturesImage) -> "FeaturesDelta":
        """Return what leads from one image to another."""
        delta = FeaturesDelta(image)
        delta.metadata_version = later.metadata_version
        delta.levels = difference(image.levels, later.levels)
        return delta

    @property
    def metadata_version_change(self) -> LevelChange | None:
        """The change of ``metadata.version``, if there is one."""
        before, after = self.image.metadata_version, self.metadata_version
        return None if before == after else LevelChange(before, after)

    def replay(self, record: FeatureLevelRecord) -> None:
        """Take a level."""
        if record.name == METADATA_VERSION:
            self.metadata_version = known(record.feature_level)
        elif record.name != KRAFT_VERSION:
            self.levels[record.name] = record.feature_level or None

    def apply(self) -> FeaturesImage:
        """Return the levels afterwards."""
        return FeaturesImage(self.metadata_version, changed(self.image.levels, self.levels))


def known(level: int) -> int:
    """Return a level of ``metadata.version`` if this build knows what it means."""
    least, most = MINIMUM_VERSION, LATEST_TESTING
    if least.level <= level <= most.level:
        return level
    why = (
        f"metadata.version is {level}, and this build knows {least.level} ({least}) to "
        f"{most.level} ({most})"
    )
    if level > most.level:
        raise BadRecord(why, "run a release that knows it, or have those that do lower it")
    raise BadRecord(
        why,
        f"start the release that ran here before, raise the level to {least.level} or higher "
        "(kafka-features upgrade), and come again",
    )
