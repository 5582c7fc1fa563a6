"""The guards of the quorum by name, and the rules with all of them or without some."""

from enum import StrEnum
from typing import Final

from barnabas.sim.specs.rules import Rules


class Guard(StrEnum):
    """What must hold for something to happen; the text completes "because it must be that ..."."""

    # Elections.
    IS_VOTER = "it votes, as far as its own log says"
    RIGHT_ROLE = "it is in a role that does this"
    PRE_VOTED = "a majority would elect it"
    ELECTED = "a majority has elected it"
    VOTE_EPOCH = "the vote is asked for in the epoch of who gives it"
    FREE_TO_VOTE = "it is unattached or prospective, and follows nobody"
    VOTES_ONCE = "it has voted for nobody else in this epoch"
    LOG_COMPLETE = "the candidate's log is as complete as its own"
    LEADER_IS_SILENT = "it has not fetched from a leader in this epoch, or misses it since"
    REASON_TO_REFUSE = "there is a reason to refuse"
    ADDRESSEE = "it is the one that was meant, with the disk that was meant"
    OUTSTANDING = "the answer is to a question that still stands"
    VOTE_COUNTS = "the vote is for the epoch that the candidate is in"
    KEEPS_VOTE = "whoever stays in an epoch keeps the vote"
    PERSISTS = "epoch and vote are on the disk before they are told"
    KEEPS_CLAIM = "a candidate that restarts has the log that it has claimed to have"
    KEEPS_FLUSHED = "what was flushed is there after a restart, and nothing that never was"
    LEADS_NO_MORE = "a leader that restarts, and nobody else, has resigned"
    GOES_FORWARD = "an epoch is never followed by a smaller one"
    ONE_LEADER = "nobody knows two leaders of one epoch"
    IS_TOLD = "somebody has told of the epoch and of its leader"
    NOTHING_NEW = "what was heard changes nothing"
    # Replication.
    LEADS = "it leads"
    AS_ISSUED = "what is appended is what the leader of that epoch has appended there"
    FETCH_EPOCH = "the fetch is of the leader's own epoch"
    FETCH_POSITION = "what the replica has is a beginning of the leader's log"
    DIVERGES = "what the replica has is no beginning of the leader's log"
    FETCHES_FLUSHED = "everything below the offset of a fetch is on the disk"
    SAME_POSITION = "the answer is about the end of the log as it is"
    LEADER_ANSWERS = "the answer is of the leader's own epoch"
    CUTS_WHERE_TOLD = "the log is cut at the highest point that both may share"
    KEEPS_COMMITTED = "nothing that is committed is cut"
    HWM_RISES = "the high watermark does not fall"
    HWM_WITHIN = "the high watermark is within the log, and no higher than the leader's"
    MAJORITY = "a majority of the voters has it on its disks"
    ONLY_VOTERS = "replicas that do not vote are not counted"
    BY_DIRECTORY = "a replica with another disk is not counted as the voter that it was"
    OWN_FLUSHED = "a leader counts itself up to what is on its disk"
    COUNTS_ITSELF = "a leader that does not vote does not count itself"
    OWN_EPOCH = "a record of the leader's own epoch is among what is committed"
    # Voters.
    READY = "the leader has committed a record of its epoch"
    SETTLED = "the last change of the voters is committed"
    ONE_AT_A_TIME = "at most one voter comes or goes"
    # Snapshots.
    COMMITTED = "what a snapshot sums up is committed"
    SNAPSHOT_THERE = "there is a snapshot of what is no longer in the log"
    NOT_LEADING = "a leader's log is not replaced"


ALL: Final = Rules()


def without(*guards: Guard) -> Rules:
    """Return the rules less some guards."""
    return Rules(frozenset(guards))
