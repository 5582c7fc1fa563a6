"""A small state for tests: the names of topics, and the decision to create one."""

from collections.abc import Sequence

from barnabas.model.value import value
from barnabas.statelog.decision import Decision


@value
class Topics:
    """The names there are, in the order in which they came."""

    names: tuple[str, ...] = ()

    def apply(self, records: Sequence[str]) -> "Topics":
        """Return the names with some more."""
        names = (*self.names, *records)
        assert len(set(names)) == len(names), f"{names} has one twice"
        return Topics(names)


def create(name: str, topics: Topics, _: int = 0) -> Decision[str, str]:
    """Create a topic, unless there is one of that name."""
    if name in topics.names:
        return Decision((), "TOPIC_ALREADY_EXISTS")
    return Decision((name,), "NONE")
