"""What a decision is: the records that would make it true, and the reply if they do."""

from typing import Generic, Protocol, TypeVar

from barnabas.model.value import value

RecordT = TypeVar("RecordT")
RecordT_contra = TypeVar("RecordT_contra", contravariant=True)
ReplyT = TypeVar("ReplyT")


class State(Protocol[RecordT_contra]):
    """A state is the fold of a log: the only way to another state is a record."""

    def apply(self: "StateT", record: RecordT_contra) -> "StateT":
        """Return the state after this record; every committed record has one."""
        ...


StateT = TypeVar("StateT")


@value
class Decision(Generic[RecordT, ReplyT]):
    """Records to append, all or none, and the reply to give once they are committed."""

    records: tuple[RecordT, ...]
    reply: ReplyT
