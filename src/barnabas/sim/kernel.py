"""Virtual time, and whose turn it is.

    heap of (time, sequence, call, argument)          nodes with something to run
        timers, segments that arrive,      ──────▶        one queue each, first in first out
        disks that finish, faults                          │
              ▲                                            ▼
              └──────── what running it set going ◀── policy picks a node; its next handle runs

Time is an integer of nanoseconds.  It stands still while somebody can run and then jumps to the
next entry of the heap.  Entries of one moment are taken in the order they were made.

Inside a node nothing is ever reordered: asyncio promises its callbacks first in, first out, and a
simulator that broke the promise would find bugs that cannot happen.  All freedom is between nodes
(the policy, see ``policy``) and in how long things take (network, disk, processor).

Non-obvious:

- ``slack_ns`` widens a moment: everything due within it counts as due together, at its end.  Being
  late is always legal, and without it a policy would rarely find two nodes to choose between,
  since no two nanoseconds are alike.
- A handle costs its node time (``cost_ns``): a node that is free of charge is never overloaded.
  The next handle of that node waits until it has been paid for.
- The trace hash covers every handle that ran, by moment and node, and every byte that arrived.
  Two runs that agree in it did the same things.  Each thousandth value is kept, so that two runs
  that disagree can be compared from the last moment they were one.
"""

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Final, Protocol, TypeAlias

from barnabas.model.value import value

MARK_EVENTS: Final = 1_000
HASH_MASK: Final = (1 << 64) - 1
HASH_PRIME: Final = 0x100000001B3

# Handles in a row, without its queue ever running dry, after which a node is said to spin.
STREAK_MAX: Final = 200_000

# Events at one moment after which somebody is said to wait in a way that takes no time.
STILL_EVENTS_MAX: Final = 300_000

Call: TypeAlias = Callable[[Any], None]  # Any: each call knows the argument it was queued with.


@value
class Stopped:
    """Why a run ended before its time: ``reason`` is one of the words below."""

    reason: str
    story: str


EVENT_LIMIT: Final = "event-limit"
WALL_LIMIT: Final = "wall-limit"
VIOLATION: Final = "violation"
SPINNING: Final = "X-08"


class Node(Protocol):
    """What the kernel needs to know of a node's loop."""

    name: str
    ready: deque[Any]  # Any: handles and timers share no type, only ``dead`` and ``run``.
    salt: int
    alive: bool
    paused: bool
    queued: bool
    streak: int
    cost_ns: int
    free_at_ns: int

    def run_next(self) -> None:
        """Run the first handle of ``ready``."""


class Policy(Protocol):
    """Whose turn it is."""

    # Whether the node that just ran goes on while it can.
    burst: bool

    def pick(self, runnable: deque[Node]) -> int:
        """Return the index of the node whose next handle runs; there are at least two."""
        ...


class Timer(Protocol):
    """A heap entry that may be cancelled before it is due."""

    dead: bool


class Kernel:
    """The clock of the world, and the one loop that everything runs in."""

    def __init__(self, policy: Policy | None = None, slack_ns: int = 0) -> None:
        self.now_ns = 0
        self.events = 0
        self.trace_hash = 0xCBF29CE484222325
        self.marks: Final[list[int]] = []
        self.stopped: Stopped | None = None
        self.current: Node | None = None
        # Somebody wants to look at the world once the present event is over.
        self.curious = False
        self.after_event: Callable[[], None] = _nothing
        # Called before every handle while set; None in ordinary runs, where it would cost.
        self.watcher: Callable[[Node], None] | None = None
        self.event_limit = HASH_MASK
        self._policy = policy
        self._slack_ns = slack_ns
        self._heap: list[tuple[int, int, Call, Any]] = []
        self._sequence = 0
        self._dead_timers = 0
        self._until_ns = 0
        self._runnable: deque[Node] = deque()
        self._next_mark = MARK_EVENTS
        self._marked_ns = -1
        self._marked_events = 0

    def at(self, at_ns: int, call: Call, argument: object) -> None:
        """Make a call when virtual time reaches ``at_ns``."""
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (at_ns, sequence, call, argument))

    def after(self, delay_ns: int, call: Call, argument: object) -> None:
        """Make a call ``delay_ns`` from now."""
        self.at(self.now_ns + delay_ns, call, argument)

    def timer_died(self, due: Call) -> None:
        """Note that a heap entry with this call was cancelled; sweep when half of them were."""
        self._dead_timers += 1
        if self._dead_timers > 1_000 and self._dead_timers * 2 > len(self._heap):
            heap = self._heap
            heap[:] = [entry for entry in heap if entry[2] is not due or not entry[3].dead]
            heapify(heap)
            self._dead_timers = 0

    def wake(self, node: Node) -> None:
        """Let a node run: there is something in its queue.  Call it once per idle spell."""
        node.queued = True
        if node.free_at_ns > self.now_ns:
            self.at(node.free_at_ns, self._free, node)
        else:
            self._runnable.append(node)

    def mix(self, fact: int) -> None:
        """Make a fact part of the trace hash."""
        self.trace_hash = (self.trace_hash * HASH_PRIME ^ fact) & HASH_MASK

    def stop(self, reason: str, story: str) -> None:
        """End the run after the present event.  The first reason given stands."""
        if self.stopped is None:
            self.stopped = Stopped(reason, story)

    def run(self, until_ns: int) -> None:
        """Let the world go on until ``until_ns``, or until something stops it."""
        heap = self._heap
        runnable = self._runnable
        self._until_ns = until_ns
        while self.stopped is None:
            if runnable:
                self._turn(runnable)
            elif heap and heap[0][0] <= until_ns:
                at_ns, _, call, argument = heappop(heap)
                # Something may be due in the past: a node was busy, or slack has passed it by.
                self.now_ns = max(self.now_ns, at_ns)
                call(argument)
                if self._slack_ns:
                    self._widen(at_ns + self._slack_ns)
            else:
                self.now_ns = max(self.now_ns, until_ns)
                return
            if self.curious:
                self.curious = False
                self.after_event()

    def _turn(self, runnable: deque[Node]) -> None:
        """Let one node run one handle."""
        policy = self._policy
        if policy is None or len(runnable) == 1:
            node = runnable.popleft()
        else:
            index = policy.pick(runnable)
            node = runnable[index]
            del runnable[index]
        if not node.alive or node.paused or not node.ready:
            # Killed or paused after it was queued, or all it had was cancelled.
            node.queued = False
            return
        self.events = events = self.events + 1
        self.trace_hash = (
            self.trace_hash * HASH_PRIME ^ self.now_ns ^ node.salt ^ len(node.ready) << 40
        ) & HASH_MASK
        if events >= self._next_mark:
            self._mark(node)
        if self.watcher is not None:
            self.watcher(node)
        self.current = node
        node.run_next()
        self.current = None
        if node.cost_ns:
            # What the handle charged already (a slow disk, say) comes before its own cost.
            start_ns = node.free_at_ns
            node.free_at_ns = (start_ns if start_ns > self.now_ns else self.now_ns) + node.cost_ns
        if not node.ready:
            node.queued = False
            node.streak = 0
            return
        node.streak += 1
        if node.streak > STREAK_MAX:
            self.stop(SPINNING, f"{node.name} ran {STREAK_MAX} handles and never had to wait")
        free_at_ns = node.free_at_ns
        if free_at_ns > self.now_ns:
            if not runnable and free_at_ns <= self._until_ns and self._quiet_until(free_at_ns):
                # Nobody else has anything to do before this node goes on: a trip through the
                # heap would come back with the same answer.
                self.now_ns = free_at_ns
                runnable.append(node)
            else:
                self.at(free_at_ns, self._free, node)
        elif policy is not None and policy.burst:
            runnable.appendleft(node)
        else:
            runnable.append(node)

    def _free(self, node: Node) -> None:
        """Take a node back that has paid for its last handle."""
        self._runnable.append(node)

    def _quiet_until(self, at_ns: int) -> bool:
        heap = self._heap
        return not heap or heap[0][0] > at_ns

    def _widen(self, end_ns: int) -> None:
        """Let everything due until ``end_ns`` happen before anybody runs."""
        heap = self._heap
        while heap and heap[0][0] <= end_ns and self.stopped is None:
            at_ns, _, call, argument = heappop(heap)
            self.now_ns = max(self.now_ns, at_ns)
            call(argument)

    def _mark(self, node: Node) -> None:
        self.marks.append(self.trace_hash)
        self._next_mark += MARK_EVENTS
        if self.now_ns != self._marked_ns:
            self._marked_ns = self.now_ns
            self._marked_events = self.events
        elif self.events - self._marked_events >= STILL_EVENTS_MAX:
            still = f"time stood still for {STILL_EVENTS_MAX} events"
            self.stop(SPINNING, f"{still}, the last of them of {node.name}")
        if self.events >= self.event_limit:
            self.stop(EVENT_LIMIT, f"{self.events} events are more than this run may have")


def _nothing() -> None:
    """Do what nobody asked for."""
