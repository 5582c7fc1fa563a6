"""Is what the clients saw one register?

An operation is an interval, from its call to its return.  The history is *linearizable* if each
operation can be put at one moment inside its interval so that every read returns the last value
written.  Every written value is unique, so the search is none: the operations of one value form a
cluster, and three rules on clusters decide (Gibbons and Korach, SIAM J. Comput. 1997).

For a value v let f be the earliest return and s the latest call among its operations.

1. No read returns before its value's write was called, and none returns a value nobody wrote.
2. If f < s, the register held v during all of [f, s]: no two such *forward* zones overlap.
3. If s < f, the register held v at some moment of [s, f]: that *backward* zone must not lie inside
   a forward one of another value.

An operation whose end is not known may have happened at any time after its call, or never.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from barnabas.sim.probes import Moment
from barnabas.sim.world import Violation

NEVER: Final = 1 << 62
ORACLE: Final = "H-linear"


@dataclass(slots=True)
class Call:
    """One operation of one client; it may not have returned yet."""

    what: str
    number: int
    called: int
    returned: int = NEVER


@dataclass(slots=True)
class Cluster:
    """The operations of one value, as far as they matter."""

    write_called: int
    earliest_return: int
    latest_call: int


class History:
    """Hears clients call and return, and judges: a ``Checker``."""

    kinds = frozenset({"client.call", "client.return"})

    def __init__(self) -> None:
        self.calls: Final[dict[tuple[str, int], Call]] = {}
        self.returned = 0
        self._order = 0
        self._judged = 0

    def hear(self, moment: Moment) -> None:
        """Note a call or a return."""
        facts = moment.facts
        number, operation, what = facts["number"], facts["operation"], facts["what"]
        assert isinstance(number, int)
        assert isinstance(operation, int)
        assert isinstance(what, str)
        self._order += 1
        key = (moment.host, operation)
        if moment.kind == "client.call":
            assert key not in self.calls, f"{key} was called twice"
            self.calls[key] = Call(what, number, self._order)
        else:
            call = self.calls[key]
            call.number = number
            call.returned = self._order
            self.returned += 1

    def check(self) -> None:
        """Judge, the less often the longer the history: it is all read each time."""
        if self.returned > self._judged + self._judged // 16:
            self._judged = self.returned
            judge(list(self.calls.values()))

    def finish(self) -> None:
        """Judge everything once more."""
        judge(list(self.calls.values()))


def judge(calls: list[Call]) -> None:
    """Raise ``Violation`` unless the calls are those of one register that began at 0."""
    clusters = {0: Cluster(-1, -1, -1)}
    for call in calls:
        if call.what == "write":
            clusters[call.number] = Cluster(call.called, call.returned, call.called)
    for call in calls:
        if call.what != "read" or call.returned == NEVER:
            continue
        cluster = clusters.get(call.number)
        if cluster is None:
            raise Violation(ORACLE, f"read {call.number}, which nobody wrote", "from nowhere")
        if call.returned < cluster.write_called:
            raise Violation(ORACLE, f"read {call.number} before it was written", "from nowhere")
        cluster.earliest_return = min(cluster.earliest_return, call.returned)
        cluster.latest_call = max(cluster.latest_call, call.called)
    forward = sorted(
        (cluster.earliest_return, cluster.latest_call, number)
        for number, cluster in clusters.items()
        if cluster.earliest_return < cluster.latest_call
    )
    for (_, end, one), (begin, _, other) in pairwise(forward):
        if begin < end:
            story = f"{one} was seen after {other} was seen, and before it as well"
            raise Violation(ORACLE, story, "not linearizable")
    for number, cluster in clusters.items():
        begin, end = cluster.latest_call, cluster.earliest_return
        if begin > end or end == NEVER:
            continue
        for first, last, other in forward:
            if first < begin and end < last and other != number:
                story = f"{number} was there while {other} was there all the time"
                raise Violation(ORACLE, story, "not linearizable")
