"""What a ``metadata.version`` lets be written: versions of records, and parts of the image.

Folding needs none of this: whatever is committed is applied, and a change of the level changes no
part but the features.  The level decides how an image is *written*: which version of a record every
node of the cluster can read, and what cannot be said to them at all (KIP-584, KIP-778).

So a downgrade is safe if no level between the two brought anything into the records, and unsafe
otherwise: then the next snapshot would leave out what the lower level has no words for
(``Form.lose``).  Which levels there are stands in ``model.features``; Kafka's MetadataVersion.java
fixes both.
"""

from collections.abc import Callable
from typing import Final

from barnabas.model.features import METADATA_VERSIONS
from barnabas.model.value import value
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.structs import Message

MIGRATION: Final = 8
SCRAM: Final = 11
TRANSACTIONS: Final = 13
DELEGATION_TOKENS: Final = 14
CONTROLLER_REGISTRATION: Final = 15
DIRECTORIES: Final = 17
ELIGIBLE_LEADERS: Final = 23
CORDONED_DIRECTORIES: Final = 30
"""The levels from which on the records can say something that those before could not."""

RECORD_VERSIONS: Final[dict[type[Message], tuple[tuple[int, int], ...]]] = {
    RegisterBrokerRecord: ((CORDONED_DIRECTORIES, 4), (DIRECTORIES, 3), (MIGRATION, 2), (0, 1)),
    BrokerRegistrationChangeRecord: ((CORDONED_DIRECTORIES, 3), (DIRECTORIES, 2), (0, 1)),
    PartitionRecord: ((ELIGIBLE_LEADERS, 2), (DIRECTORIES, 1), (0, 0)),
    PartitionChangeRecord: ((ELIGIBLE_LEADERS, 2), (DIRECTORIES, 1), (0, 0)),
}
"""The records with several versions: from which level on which version."""


def record_version(record: type[Message], level: int) -> int:
    """Return the version in which a record is written at a level."""
    versions = RECORD_VERSIONS.get(record, ((0, 0),))
    return next(version for least, version in versions if level >= least)


@value
class Form:
    """How an image is written: at a level, and who is told of what that level cannot say."""

    level: int
    lose: Callable[[str], None]

    def versioned(self, record: Message) -> tuple[Message, int]:
        """Return a record with the version that it is written in."""
        return record, record_version(type(record), self.level)


@value
class LevelChange:
    """The cluster's ``metadata.version`` is another; None is what it was before there was one."""

    before: int | None
    after: int | None

    @property
    def is_upgrade(self) -> bool:
        """Whether more can be said than before."""
        return (self.before or 0) < (self.after or 0)

    @property
    def is_downgrade(self) -> bool:
        """Whether nodes of an older release can take part again."""
        return (self.after or 0) < (self.before or 0)

    @property
    def is_safe(self) -> bool:
        """Whether everything that could be said before can still be said.

        Kafka judges by the levels alone, and refuses what is not safe even to an image that would
        lose nothing (``checkIfMetadataChanged``); what it would lose, ``snapshot.losses`` tells.
        """
        return not any(
            version.changes_records and (self.after or 0) < version.level <= (self.before or 0)
            for version in METADATA_VERSIONS
        )
