"""Producer ids: which is the next that nobody was given.

Blocks of them are given to brokers, each from this number on; the record names the broker, which
nobody needs afterwards.

Fixed by Kafka's ProducerIdsDelta.java.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.metadata.levels import Form
from barnabas.model.value import value
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.structs import Message

NONE_GIVEN: Final = -1
NOBODY: Final = -1


@value
class ProducerIdsImage:
    """The next producer id; -1 before the first block was given."""

    next_producer_id: int

    @property
    def is_empty(self) -> bool:
        """Whether no block was given."""
        return self.next_producer_id == NONE_GIVEN

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the next id as a record."""
        if self.next_producer_id >= 0:
            yield form.versioned(
                ProducerIdsRecord(
                    broker_id=NOBODY, broker_epoch=-1, next_producer_id=self.next_producer_id
                )
            )


EMPTY: Final = ProducerIdsImage(NONE_GIVEN)


class ProducerIdsDelta:
    """A next producer id that is another."""

    def __init__(self, image: ProducerIdsImage) -> None:
        self.image = image
        self.next_producer_id = image.next_producer_id

    @staticmethod
    def between(image: ProducerIdsImage, later: ProducerIdsImage) -> "ProducerIdsDelta":
        """Return what leads from one image to another."""
        delta = ProducerIdsDelta(image)
        delta.next_producer_id = later.next_producer_id
        return delta

    def replay(self, record: ProducerIdsRecord) -> None:
        """Take the next id."""
        self.next_producer_id = record.next_producer_id

    def apply(self) -> ProducerIdsImage:
        """Return the next id afterwards."""
        return ProducerIdsImage(self.next_producer_id)
