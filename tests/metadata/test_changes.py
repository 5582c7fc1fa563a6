"""What a change of a partition did, in words."""

import pytest

from barnabas.metadata.changes import directory_text, effects, is_unclean, listed, without
from barnabas.metadata.topics import RECOVERING, USUAL, PartitionRegistration
from barnabas.model.ids import Uuid, uuid_text
from tests.metadata.stories import uuid


def registered(**told: object) -> PartitionRegistration:
    """Return a partition on 1, 2 and 3 that 1 leads, otherwise as told."""
    replicas = told.pop("replicas", (1, 2, 3))
    assert isinstance(replicas, tuple)
    unusual = tuple(told.pop(name, ()) for name in ("removing", "adding", "elr", "last"))
    return PartitionRegistration(
        replicas,
        **{  # type: ignore[arg-type]  # -- whatever a test says
            "directories": tuple(uuid(10 * replica) for replica in replicas),
            "isr": (1, 2, 3),
            "leader": 1,
            "leader_epoch": 4,
            "partition_epoch": 9,
            "unusual": (*unusual, told.pop("recovery", 0)),
            **told,
        },
    )


USUALLY = registered()


def what(before: PartitionRegistration, after: PartitionRegistration) -> dict[str, str]:
    """Return the effects by their names."""
    return {effect.what: effect.words for effect in effects(before, after)}


def test_nothing_did_nothing() -> None:
    assert USUALLY.unusual == USUAL
    assert what(USUALLY, USUALLY) == {}


def test_a_leader_that_was_in_sync_is_elected() -> None:
    after = registered(leader=2, leader_epoch=5, isr=(2, 3))
    assert what(USUALLY, after) == {
        "leaderElected": "leader 2 elected (1 led before)",
        "isrShrunk": "ISR shrunk by 1",
    }
    back = what(after, registered(leader_epoch=6, isr=(1,), recovery=RECOVERING))
    assert back["leaderElectedUnclean"].startswith("leader 1 elected, the preferred one, uncleanly")
    assert what(registered(leader=2), USUALLY) == {
        "leaderElected": "leader 1 elected, the preferred one (2 led before)"
    }


def test_a_leader_that_was_not_in_sync_is_elected_uncleanly_and_has_to_recover() -> None:
    before = registered(leader=-1, isr=(1,))
    after = registered(leader=3, isr=(3,), recovery=RECOVERING)
    assert is_unclean(before, after)
    told = what(before, after)
    assert told["leaderElectedUnclean"] == (
        "leader 3 elected, uncleanly: it was not in sync, so records may be lost "
        "(nobody led before)"
    )
    assert told["leaderRecovering"] == "leader 3 has to recover"
    assert what(after, registered(leader=3, isr=(3,))) == {
        "leaderRecovered": "leader 3 has recovered"
    }


def test_an_eligible_leader_lacks_nothing() -> None:
    before = registered(leader=-1, isr=(), elr=(2,), last=(1,))
    after = registered(leader=2, isr=(2,))
    assert not is_unclean(before, after)
    assert what(before, after) == {
        "leaderElectedEligible": "leader 2 elected, of the eligible leaders (nobody led before)",
        "isrGrown": "ISR grown by 2",
        "notEligible": "2 no longer eligible to lead",
        "lastKnownForgotten": "1 need not be remembered any more",
    }
    assert what(USUALLY, registered(isr=(1,), elr=(2, 3), last=(1,))) == {
        "isrShrunk": "ISR shrunk by 2, 3",
        "eligible": "2, 3 may lead although not in sync",
        "lastKnown": "1 remembered as the last that could lead",
    }


def test_a_leader_may_be_lost_and_a_leader_may_stay_in_a_new_epoch() -> None:
    lost = registered(leader=-1, leader_epoch=5)
    assert what(USUALLY, lost) == {"leaderLost": "leader 1 lost, and nobody can lead"}
    assert not is_unclean(USUALLY, lost)
    assert what(USUALLY, registered(leader_epoch=5)) == {
        "leaderEpochRaised": "leader 1 stays, in a new epoch"
    }
    assert what(lost, registered(leader=-1, leader_epoch=6)) == {
        "leaderEpochRaised": "still nobody leads, in a new epoch"
    }


def test_a_reassignment_begins_changes_and_is_completed() -> None:
    begun = registered(replicas=(4, 1, 2, 3), adding=(4,), removing=(3,))
    assert what(USUALLY, begun) == {
        "reassignmentBegan": "reassignment began: adds 4 and removes 3",
        "replicasAdded": "replicas added on 4",
    }
    changed = registered(replicas=(4, 1, 2, 3), adding=(4,), removing=(2, 3))
    assert what(begun, changed) == {
        "reassignmentChanged": "reassignment changed: adds 4 and removes 2, 3"
    }
    done = registered(replicas=(4, 1), isr=(1, 4))
    assert what(changed, done) == {
        "isrShrunk": "ISR shrunk by 2, 3",
        "isrGrown": "ISR grown by 4",
        "reassignmentCompleted": "reassignment completed",
        "replicasRemoved": "replicas removed from 2, 3",
    }


def test_who_joins_the_isr_and_is_elected_at_once_is_elected_cleanly() -> None:
    # A leader that is reassigned away tells that its successor has caught up: the last it does.
    before = registered(replicas=(4, 2, 1), adding=(4,), removing=(1,), isr=(1, 2))
    after = registered(replicas=(4, 2), isr=(2, 4), leader=4, leader_epoch=5)
    assert not is_unclean(before, after)
    assert what(before, after) == {
        "leaderElected": "leader 4 elected, the preferred one (1 led before)",
        "isrShrunk": "ISR shrunk by 1",
        "isrGrown": "ISR grown by 4",
        "reassignmentCompleted": "reassignment completed",
        "replicasRemoved": "replicas removed from 1",
    }


@pytest.mark.parametrize(
    ("before", "after", "ended"),
    [
        (registered(replicas=(1, 2, 3, 4), adding=(4,)), USUALLY, "Cancelled"),
        (registered(removing=(3,)), USUALLY, "Cancelled"),
        (registered(removing=(3,)), registered(replicas=(1, 2), isr=(1, 2)), "Completed"),
        (
            registered(replicas=(1, 2, 3, 4), adding=(4,)),
            registered(replicas=(1, 2, 3, 4)),
            "Completed",
        ),
        (registered(replicas=(1, 2, 3, 4), adding=(4,), removing=(3,)), USUALLY, "Cancelled"),
    ],
)
def test_a_reassignment_ends_as_planned_or_as_if_it_had_never_begun(
    before: PartitionRegistration, after: PartitionRegistration, ended: str
) -> None:
    assert f"reassignment{ended}" in what(before, after)


def test_another_order_makes_another_replica_the_preferred_one() -> None:
    after = registered(replicas=(2, 1, 3))
    assert what(USUALLY, after) == {
        "replicasReordered": "replicas in another order: 2, 1, 3, the first is preferred"
    }


def test_a_replica_in_another_directory_is_told_by_its_id_or_why_it_has_none() -> None:
    told = registered(directories=(uuid(10), uuid(21), uuid(30)))
    assert what(USUALLY, told) == {
        "directoryAssigned": f"replica on 2 now in directory {uuid_text(uuid(21))}"
    }
    reserved = [Uuid(bytes(15) + bytes([number])) for number in range(3)]
    assert list(map(directory_text, reserved)) == ["not told", "not assigned", "lost"]


def test_order_is_kept() -> None:
    assert without((3, 1, 2), (1,)) == (3, 2)
    assert listed((3, 1)) == "3, 1"
    assert listed(()) == ""
