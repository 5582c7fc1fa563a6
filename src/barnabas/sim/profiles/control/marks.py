"""What many runs together must have come upon: else the plans are badly drawn."""

from collections.abc import Sequence
from typing import Final

CLAIMED: Final = "controller claimed"
REVERTED: Final = "failover with an uncommitted tail that was reverted"
RETRIED: Final = "registration retried by the same life"
BOUNCED: Final = "another life registered"
CLEAN: Final = "registration after a clean shutdown"
UNCLEAN: Final = "unclean registration that took a broker from an ISR or an ELR"
DUPLICATE: Final = "registration refused while another life is valid"
STALE: Final = "request of a life that is over"
FENCED: Final = "broker fenced because its session was over"
UNFENCED_AGAIN: Final = "broker fenced and unfenced without a restart"
STOPPING: Final = "controlled shutdown begun"
STOPPED: Final = "controlled shutdown ended by the answer"
CUT_SHORT: Final = "controlled shutdown ended by a fence"
UNREGISTERED: Final = "broker unregistered"
ZOMBIE: Final = "broker ended because another took its place"
ALTERED: Final = "ISR altered"
JOINED: Final = "replica let into an ISR"
INELIGIBLE: Final = "proposal refused: INELIGIBLE_REPLICA"
OVERTAKEN: Final = "proposal refused: INVALID_UPDATE_VERSION"
DEPOSED: Final = "proposal refused: FENCED_LEADER_EPOCH"
MOVED_ON: Final = "proposal answered: NEW_LEADER_ELECTED"
LEADERLESS: Final = "partition without a leader"
ELR_ELECTED: Final = "leader elected from the ELR"
LAST_ELECTED: Final = "last known leader elected"
UNCLEANLY: Final = "unclean election that was allowed"
REASSIGNED: Final = "reassignment completed"
CANCELLED: Final = "reassignment cancelled"
RENEWED: Final = "topic deleted and made anew"
ASKED_AGAIN: Final = "administrator asked again after an indeterminate result"
OFFLINE: Final = "log directory failed while its broker ran"
ASSIGNED: Final = "replica assigned to a directory"
RAISED: Final = "level of a feature changed"
LOADED: Final = "snapshot loaded by a node that was far behind"
PRODUCING: Final = "producer ids given away"

MUST_SEE: Final[Sequence[str]] = (
    CLAIMED,
    REVERTED,
    RETRIED,
    BOUNCED,
    CLEAN,
    UNCLEAN,
    DUPLICATE,
    STALE,
    FENCED,
    UNFENCED_AGAIN,
    STOPPING,
    STOPPED,
    CUT_SHORT,
    UNREGISTERED,
    ZOMBIE,
    ALTERED,
    JOINED,
    INELIGIBLE,
    OVERTAKEN,
    DEPOSED,
    MOVED_ON,
    LEADERLESS,
    ELR_ELECTED,
    LAST_ELECTED,
    UNCLEANLY,
    REASSIGNED,
    CANCELLED,
    RENEWED,
    ASKED_AGAIN,
    OFFLINE,
    ASSIGNED,
    RAISED,
    LOADED,
    PRODUCING,
)
