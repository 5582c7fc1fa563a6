"""What clients and replicas say to each other: frames of one size."""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from barnabas.model.value import value

PORT: Final = 7_000

QUERY: Final = 1
STORE: Final = 2

# Size of the rest, kind, request, tag counter, tag writer, value.
FRAME: Final = Struct(">IBIQIq")
SIZE: Final = FRAME.size - 4


@value
class Tag:
    """What orders values: a counter, and the writer for those who counted alike."""

    counter: int
    writer: int

    def newer_than(self, other: "Tag") -> bool:
        """Tell whether a value with this tag replaces one with the other."""
        return (self.counter, self.writer) > (other.counter, other.writer)


@value
class Tagged:
    """A value and its tag."""

    tag: Tag
    number: int


NOTHING: Final = Tagged(Tag(0, 0), 0)


@value
class Frame:
    """A question or its answer; the answer to a store repeats it."""

    kind: int
    request: int
    held: Tagged

    def encode(self) -> bytes:
        """Return the frame as bytes."""
        tag = self.held.tag
        return FRAME.pack(SIZE, self.kind, self.request, tag.counter, tag.writer, self.held.number)


def frames(data: memoryview) -> Iterator[Frame]:
    """Yield the whole frames at the beginning of some bytes."""
    for start in range(0, len(data) - FRAME.size + 1, FRAME.size):
        _, kind, request, counter, writer, number = FRAME.unpack_from(data, start)
        yield Frame(kind, request, Tagged(Tag(counter, writer), number))
