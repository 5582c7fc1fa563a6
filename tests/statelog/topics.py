"""A small state for tests: the names of topics, and the decision to create one."""

from barnabas.model.value import value
from barnabas.statelog.decision import Decision


@value
class Topics:
    """The names there are, in the order in which they came."""

    names: tuple[str, ...] = ()

    def apply(self, record: str) -> "Topics":
        """Return the names with one more."""
        assert record not in self.names, f"{record} twice"
        return Topics((*self.names, record))


def create(name: str, topics: Topics) -> Decision[str, str]:
    """Create a topic, unless there is one of that name."""
    if name in topics.names:
        return Decision((), "TOPIC_ALREADY_EXISTS")
    return Decision((name,), "NONE")
