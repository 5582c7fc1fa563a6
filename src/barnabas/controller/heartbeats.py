"""When brokers were last heard of: soft state, the active controller's own.

    a heartbeat arrives ──▶ heard ──▶ … queue … ──▶ decide ──▶ commit ──▶ note
                              │                        ▲
    a timer, at due_ms ──▶ expired ──▶ fence           └── may it stop? who has come how far?

A broker that was not heard of for the session's time is fenced.  It is *heard* at the moment its
heartbeat arrives, before anything else is done with it: a controller that is busy must not take its
own slowness for the broker's death (KAFKA-15441).  And a controller that has just become active
knows nothing, so it gives everybody a whole session (B-11).

A session belongs to one life of a broker, that is to its epoch.  What a former life still sends
keeps nobody alive, and another life may register only once the session of this one is over (B-02).
A broker that was told to stop has no session any more: whoever comes in its place need not wait.

A broker in controlled shutdown may stop when it leads nothing and every active broker has read how
that came about, that is, has come to the offset at which the shutdown stood when it began.  This
offset is fixed once: one that moved on with the log would never be reached (KAFKA-14292).  After a
failover it is fixed again, at the first heartbeat that the new controller sees.

All times are of the controller's own monotonic clock, handed in.  Nothing here is in the log, and a
new activation begins with a new ``Sessions``.

Fixed by Kafka's BrokerHeartbeatManager.java and BrokerHeartbeatTracker.java (KIP-631, KIP-841).
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.model.value import value

NEVER: int = -1
"""What a broker has reported of its metadata that has not reported yet."""


class Life(NamedTuple):
    """One life of a broker."""

    broker: int
    epoch: int


@value
class Heartbeat:
    """What a heartbeat has told, and what was decided about it."""

    life: Life
    metadata_offset: int
    """How far the broker has read."""
    shutdown_offset: int | None
    """How far the others have to read before it may stop, if it is to stop."""
    stops: bool
    """Whether it was told to."""


class Sessions:
    """Who was heard of when, and how far each has read."""

    def __init__(self, session_timeout_ms: int) -> None:
        self._timeout_ms = session_timeout_ms
        # The one heard of longest ago comes first: whoever is heard goes to the end.
        self._heard_ms: dict[Life, int] = {}
        self._metadata_offsets: dict[Life, int] = {}
        self._shutdown_offsets: dict[Life, int] = {}

    def activated(self, state: ControllerState, now_ms: int) -> None:
        """Give everybody who is believed alive a whole session."""
        for _, broker in sorted(state.image.cluster.brokers.items()):
            if not broker.fenced:
                self._heard_ms[life_of(broker)] = now_ms

    def heard(self, state: ControllerState, broker: int, epoch: int, now_ms: int) -> None:
        """A heartbeat has arrived; of another life than the one registered, it means nothing."""
        known = state.image.cluster.brokers.get(broker)
        if known is not None and known.epoch == epoch:
            life = Life(broker, epoch)
            self._heard_ms.pop(life, None)
            self._heard_ms[life] = now_ms

    def note(self, heartbeat: Heartbeat) -> None:
        """Remember what a heartbeat has told, after it was decided."""
        life = heartbeat.life
        if heartbeat.stops:
            self.ended(life)
            return
        self._metadata_offsets[life] = heartbeat.metadata_offset
        if heartbeat.shutdown_offset is not None:
            self._shutdown_offsets.setdefault(life, heartbeat.shutdown_offset)

    def ended(self, life: Life) -> None:
        """Forget a life: it was fenced, told to stop, or replaced."""
        self._heard_ms.pop(life, None)
        self._metadata_offsets.pop(life, None)
        self._shutdown_offsets.pop(life, None)

    def is_valid(self, life: Life, now_ms: int) -> bool:
        """Tell whether a life was heard of within the session's time."""
        heard_ms = self._heard_ms.get(life)
        return heard_ms is not None and now_ms - heard_ms <= self._timeout_ms

    def expired(self, now_ms: int) -> Life | None:
        """Return the life that was not heard of for the longest time, if that is too long."""
        for life, heard_ms in self._heard_ms.items():
            return life if now_ms - heard_ms > self._timeout_ms else None
        return None

    def due_ms(self) -> int | None:
        """Return when the next session will be over, if nobody is heard of until then."""
        for heard_ms in self._heard_ms.values():
            return heard_ms + self._timeout_ms + 1
        return None

    def shutdown_offset(self, life: Life) -> int | None:
        """Return how far the others have to read before a life may end, if that was fixed."""
        return self._shutdown_offsets.get(life)

    def lowest_active_offset(self, brokers: Mapping[int, BrokerRegistration]) -> int | None:
        """Return how far every active broker has read at least; None if none is active."""
        return min(
            (
                self._metadata_offsets.get(life_of(broker), NEVER)
                for broker in brokers.values()
                if not broker.fenced and not broker.in_controlled_shutdown
            ),
            default=None,
        )


def life_of(broker: BrokerRegistration) -> Life:
    """Return the life that a registration stands for."""
    return Life(broker.id, broker.epoch)
