"""What many runs together must have come upon: else the plans are badly drawn."""

from collections.abc import Sequence
from typing import Final

ABORTED: Final = "metadata transaction aborted"
ENDED: Final = "metadata transaction ended in a later batch"
INHERITED: Final = "metadata transaction inherited by the next leader"
RESTARTED: Final = "node restarted in the middle of a metadata transaction"
BEFORE_A_BEGIN: Final = "image that ends before a transaction, inside of a batch"
FOLDED: Final = "several batches in one publication"
LOADED: Final = "snapshot loaded by a node with an image"
REMOVED: Final = "snapshot that takes something away"
CAUGHT_UP: Final = "gate opened after a long catch-up"
LATE: Final = "newcomer introduced late"
GONE: Final = "publisher removed"
SWAPPED: Final = "publisher replaced by another of its name"
RAISED: Final = "publisher raised"
STUMBLED: Final = "publisher raised at its introduction"
VITAL_FAILED: Final = "publisher failed that the node cannot do without"
SLOW: Final = "publisher took its time"
POISONED: Final = "committed record that could not be read"
WRITTEN: Final = "snapshot written"
ELECTED: Final = "leader elected"
NOT_ELECTED: Final = "ISR changed without an election"
DELETED: Final = "replica deleted"
RENEWED: Final = "topic deleted and made anew in one publication"
AHEAD: Final = "answer came ahead of the log"
RAISED_LEVEL: Final = "metadata.version raised"
LOWERED_LEVEL: Final = "metadata.version lowered"

MUST_SEE: Final[Sequence[str]] = (
    ABORTED,
    ENDED,
    INHERITED,
    RESTARTED,
    BEFORE_A_BEGIN,
    FOLDED,
    LOADED,
    REMOVED,
    CAUGHT_UP,
    LATE,
    GONE,
    SWAPPED,
    RAISED,
    STUMBLED,
    VITAL_FAILED,
    SLOW,
    POISONED,
    WRITTEN,
    ELECTED,
    NOT_ELECTED,
    DELETED,
    RENEWED,
    AHEAD,
    RAISED_LEVEL,
    LOWERED_LEVEL,
)
