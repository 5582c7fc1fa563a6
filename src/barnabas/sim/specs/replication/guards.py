"""The guards of replication by name, where Barnabas differs, and the rules with or without them.

The rules say three things: how many replicas are enough (``min_isr``), which guards are lifted,
and in what a cluster differs from the specification.  ``SPECIFIED`` differs in nothing, ``BUILT``
in everything that this tree does otherwise, on purpose; what is in between shows what each
difference needs.
"""

from enum import StrEnum
from typing import Final

from barnabas.model.value import value
from barnabas.sim.specs import rules


class Guard(StrEnum):
    """What must hold for something to happen; the text completes "because it must be that ..."."""

    # The lives of a broker.
    IS_DOWN = "its process is gone"
    IS_UP = "its process runs"
    IS_REGISTERED = "the controller has registered this life of it"
    SESSION_OVER = "its life before is fenced, or this is that life"
    SAME_LIFE = "the answer is to this life of it"
    EXCLUDES_UNCLEAN = "who did not stop cleanly is in no ISR and no ELR when it comes back"
    NEW_EPOCH = "every life has an epoch of its own, larger than all before"
    THIS_LIFE = "the heartbeat is of the life that is registered"
    IS_FENCED = "it is fenced"
    IS_UNFENCED = "it is not fenced"
    SEES_ITSELF = "it has applied its own registration"
    # The controller's partition.
    LEAVES_ISR = "who is fenced leaves the ISR"
    KEEPS_CANDIDATES = "who leaves an ISR that is too small may still lead"
    ELECTS_CANDIDATE = "a leader is in the ISR, or if that is empty unfenced and in the ELR"
    EPOCH_RISES = "with another leader begins another epoch"
    FROM_LEADER = "it is the leader who asks"
    LEADERS_LIFE = "the leader that asks is in the life that is registered"
    PARTITION_EPOCH = "the leader knows the partition as it is"
    MEMBERS_UNFENCED = "nobody in the ISR is fenced"
    MEMBERS_LIVES = "whoever is added is in the life that has caught up"
    NONE_UNDERWAY = "no other reassignment is under way"
    HAS_IN_SYNC = "somebody is in sync"
    POSSIBLE_TARGET = "the target differs, is of replicas that are there or not, and large enough"
    TARGET_IN_SYNC = "the replicas that are added are in sync, and enough of the target are"
    # What a replica learns of its partition.
    GOES_ON = "the metadata log is applied in its order"
    LEARNS_MORE = "a replica never goes back to an older state of its partition"
    LEADS_KNOWING_NOTHING = "who begins to lead knows nothing of the others"
    LEADS_ANEW = "who leads again knows nothing of those outside of the ISR"
    FETCHES_ANEW = "who follows a new epoch fetches from its own end"
    # A leader and its ISR.
    LEADS = "it leads"
    NONE_PENDING = "no change that it has proposed is undecided"
    IS_CHANGE = "what is proposed differs from the ISR as it is"
    HAS_FETCHED = "the follower has fetched in this epoch"
    REACHED_HWM = "the follower has everything that is committed"
    REACHED_START = "the follower has everything that was there when the epoch began"
    WAITS = "a leader that was refused has learned more since"
    IS_ELIGIBLE = "the metadata have the follower unfenced, in the life that has fetched"
    EAGER_MAXIMAL = "who is proposed counts from the moment it is proposed"
    ANSWERS_PROPOSAL = "the answer is to the proposal that stands"
    LAST_ATTEMPT = "the answer is to the last time that it was asked"
    NEWER_CHANGE = "the answer tells of something newer, in the epoch that it leads"
    KEEPS_PROPOSAL = "a proposal stands until it is certain what has become of it"
    ENOUGH_TO_WRITE = "as many replicas as must be count for what is written"
    ENOUGH_IN_SYNC = "as many replicas as must be are in sync when something commits"
    MAXIMAL_HAS_IT = "whoever is in sync, or might be, has what is committed"
    HWM_RISES = "the high watermark of a leader does not fall"
    # Fetching.
    FOLLOWS = "it follows that leader, and is registered with its fetcher"
    ONE_OUTSTANDING = "the fetcher waits for no other answer"
    FETCH_EPOCH = "both are of the same leader epoch"
    LIFE_THAT_FETCHES = "the follower is in the life that the leader knows, or in a later one"
    FETCH_POSITION = "what the follower has is a beginning of the leader's log"
    OUTSTANDING = "the fetcher waits for an answer"
    SAME_POSITION = "the answer is about the end of the log as it is"
    SAME_EPOCH = "the answer is of the epoch that the follower is in"
    CUTS_WHERE_TOLD = "the log is cut at the highest point that both may share"
    HWM_IN_LOG = "the high watermark of a follower is within its log"


class Difference(StrEnum):
    """Where a cluster does otherwise than the specification, and why."""

    PROPOSALS_STAND = (
        "a proposal is given up only when it was certainly not applied: it may be asked again, "
        "and then an answer about the second time says nothing of the first"
    )
    LAST_KNOWN_LEADER = (
        "when nobody is left who may lead, who led last is remembered, and leads when it is back, "
        "with what it still has"
    )
    STARTS_FENCED = (
        "who registers is fenced until it has caught up, and applies metadata from the beginning"
    )
    NOTICED_LATE = "who is gone is fenced when its session ends, not at once"
    LINGERS = (
        "a fetch may be served after the life that has sent it; the leader heeds it only if it "
        "knows of no later one, and nobody gets the answer"
    )
    BACKS_OFF = (
        "a leader proposes whom its metadata have as eligible, and after a refusal waits for more "
        "metadata: asking again at once would go round in a circle"
    )
    REASSIGNS_FREELY = (
        "a partition without a leader may be reassigned, and to fewer replicas than must be in sync"
    )
    EPOCH_STAYS = "a reassignment that takes away nobody does not begin a new leader epoch"


@value
class Rules(rules.Rules):
    """All guards less those that are lifted, how many are enough, and what is different."""

    min_isr: int = 2
    differs: frozenset[Difference] = frozenset()

    def has(self, difference: Difference) -> bool:
        """Tell whether something is done otherwise than specified."""
        return difference in self.differs


SPECIFIED: Final = Rules()
BUILT: Final = Rules(differs=frozenset(Difference))
