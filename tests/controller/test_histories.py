"""Whatever brokers, leaders and people do, in whatever order: every decision is a good one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.controller.histories import played

MUST_BE_SEEN = {
    "AlterPartition: FENCED_LEADER_EPOCH",
    "AlterPartition: INELIGIBLE_REPLICA",
    "AlterPartition: INVALID_REQUEST",
    "AlterPartition: INVALID_UPDATE_VERSION",
    "AlterPartition: NEW_LEADER_ELECTED",
    "AlterPartition: NONE",
    "AlterPartition: NOT_CONTROLLER",
    "ElectLeaders: ELECTION_NOT_NEEDED",
    "ElectLeaders: ELIGIBLE_LEADERS_NOT_AVAILABLE",
    "ElectLeaders: NONE",
    "ElectLeaders: PREFERRED_LEADER_NOT_AVAILABLE",
    "a copied disk",
    "a directory failed",
    "a zombie",
    "balance",
    "cancel: INVALID_REPLICA_ASSIGNMENT",
    "cancel: NONE",
    "cancel: NO_REASSIGNMENT_IN_PROGRESS",
    "controlled shutdown",
    "crashed",
    "elect_unclean",
    "elected as one that has just joined",
    "elected as the last known leader",
    "elected as the only replica",
    "elected from the ELR",
    "elected from the ISR",
    "elected uncleanly",
    "failover",
    "fenced for silence",
    "forgotten",
    "joined clean",
    "joined unclean",
    "leaderless",
    "move: INVALID_REPLICATION_FACTOR",
    "move: INVALID_REPLICA_ASSIGNMENT",
    "move: NONE",
    "put into a directory",
    "reassignment over",
    "registered again",
    "somebody is eligible",
    "stale heartbeat",
    "stopped",
    "the same id twice",
    "unfenced",
}
"""What two hundred histories have to come across, or they say nothing."""


@given(st.integers(0, 10**9))
def test_every_decision_leads_from_a_good_state_to_a_good_one(seed: int) -> None:
    played(seed)


@pytest.mark.slow
def test_histories_come_across_everything_that_can_happen() -> None:
    seen: Counter[str] = Counter()
    for seed in range(200):
        seen += played(seed).seen
    assert set(seen) >= MUST_BE_SEEN, sorted(MUST_BE_SEEN - set(seen))
