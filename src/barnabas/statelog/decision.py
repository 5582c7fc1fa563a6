"""What a decision is: the records that would make it true, and the reply if they do."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from barnabas.model.value import value

RecordT = TypeVar("RecordT")
RecordT_contra = TypeVar("RecordT_contra", contravariant=True)
ReplyT_co = TypeVar("ReplyT_co", covariant=True)


class State(Protocol[RecordT_contra]):
    """A state is the fold of a log: the only way to another state are records."""

    def apply(self: "StateT", records: Sequence[RecordT_contra]) -> "StateT":
        """Return the state after these records; whatever is committed has one."""
        ...


StateT = TypeVar("StateT")


@value
class Decision(Generic[RecordT, ReplyT_co]):
    """Records to append, all or none, and the reply to give once they are committed."""

    records: tuple[RecordT, ...]
    reply: ReplyT_co
