"""The three kinds of failure, and Kafka's codes for the first of them.

``Refused``        the peer asked for what cannot be; a handler turns it into a code once
``CorruptLog``     a disk holds what we never wrote
"""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes, as far as a log gives them."""

    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    RECORD_LIST_TOO_LARGE = 18
    INVALID_TIMESTAMP = 32
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    TRANSACTION_COORDINATOR_FENCED = 52
    KAFKA_STORAGE_ERROR = 56
    INVALID_RECORD = 87


class Refused(Exception):  # noqa: N818 -- an answer, not a defect
    """What was asked for cannot be: the code to answer with, and why."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(f"{code.name}: {why}")
        self.code = code
        self.why = why


class CorruptLog(Exception):  # noqa: N818 -- what was found
    """A file of a log holds what cannot have been written by a log."""
