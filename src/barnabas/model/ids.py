"""Identities: numbers and names that must not be taken for one another.

A ``NewType`` costs nothing while running and makes the type checker refuse an offset where an
epoch belongs.
"""

from typing import Final, NamedTuple, NewType

Uuid = NewType("Uuid", bytes)
"""Sixteen bytes, most significant first, exactly as the wire carries them.

Not ``uuid.UUID``: making one costs more than decoding the whole struct around it, and a broker
compares and forwards far more ids than it prints.
"""

ZERO_UUID: Final = Uuid(bytes(16))
"""What Kafka sends for "no id"."""


class TopicIdPartition(NamedTuple):
    """A partition of one topic, which another topic of the same name is not."""

    topic_id: Uuid
    topic: str
    partition: int
