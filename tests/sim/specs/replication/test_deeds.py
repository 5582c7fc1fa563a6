"""What may happen in the closed model, piece by piece."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.cluster import (
    AlterAnswer,
    AlterRequest,
    Broker,
    Diverging,
    FetchAnswer,
    FetchRequest,
    Message,
    Partition,
    Peer,
    Pending,
    Phase,
    Refusal,
    RegisterAnswer,
    RegisterRequest,
    Role,
    Unserved,
)
from barnabas.sim.specs.replication.deeds import (
    FREE,
    LOSSES,
    SHRINKS,
    STOPS,
    Choice,
    Deed,
    Scope,
    about,
    choices,
    concerns,
    first_broker,
    first_controller,
    is_even,
    may_react,
    notices,
    own_choices,
    own_deeds,
    reaction,
    receiver,
    responses,
    subsets,
    updates,
)
from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Guard, Rules
from barnabas.sim.specs.replication.lifecycle import end
from barnabas.sim.specs.replication.log import Log, Run
from barnabas.sim.specs.replication.properties import of_broker, of_controller, of_standing
from barnabas.sim.specs.rules import Blocked
from tests.sim.specs.replication.clusters import THREE, broker, controller, done, ids

ALL = ids(1, 2, 3)
SCOPE = Scope(3, 3, 3, shrinks=1, repeats=1)
REQUEST = AlterRequest(1, ids(1, 2), ((1, 1), (2, 0)), 1, 1, 1)


def own(which: Broker, scope: Scope = THREE, rules: Rules = SPECIFIED) -> list[str]:
    """Return what a broker may do of itself."""
    return [each.name for each in own_deeds(which, scope, rules, 3, 0) if isinstance(each, Deed)]


def test_a_broker_does_what_its_role_allows() -> None:
    ends = ["ends, its log lost", "ends cleanly", "is killed"]
    assert own(broker()) == ["appends 1", *ends]
    assert own(broker(2)) == ["asks 1", *ends]
    assert own(done(end(broker(2), None))) == ["starts"]
    assert own(broker(), SCOPE) == [
        "appends 1", "proposes {1,3}", "proposes {1,2}", "proposes {1}", *ends,
    ]  # fmt: skip
    proposed = broker(pending=Pending(2, REQUEST))
    assert "proposes again" in own(proposed, SCOPE)
    full = [each for each in own_deeds(broker(), THREE, SPECIFIED, 3, 1) if isinstance(each, Deed)]
    assert "appends 2" not in [each.name for each in full], "there is one value"


def test_what_disturbs_has_its_price() -> None:
    found = [each for each in own_deeds(broker(), SCOPE, SPECIFIED, 3, 0) if isinstance(each, Deed)]
    costs = {each.name: each.cost for each in found}
    assert costs == {
        "appends 1": FREE, "proposes {1,3}": SHRINKS, "proposes {1,2}": SHRINKS,
        "proposes {1}": SHRINKS, "ends, its log lost": LOSSES, "ends cleanly": STOPS,
        "is killed": STOPS,
    }  # fmt: skip


def test_a_broker_learns_of_what_concerns_it() -> None:
    the = controller()
    now = the.partition
    shrunk, led = (
        replace(now, isr=ids(1, 2), partition_epoch=2),
        replace(now, isr=ids(1, 2), leader=2, leader_epoch=2, partition_epoch=3),
    )
    records = tuple(replace(the.log[0], partition=each) for each in (now, shrunk, led))
    the = replace(the, log=records)

    def learned(which: Broker) -> list[str]:
        return [each.name for each in updates(which, the, SPECIFIED) if isinstance(each, Deed)]

    assert learned(broker()) == ["applies 2: remains leader", "applies 3: becomes follower"]
    assert learned(broker(3)) == ["applies 3: becomes follower"]
    assert learned(broker(2)) == ["applies 3: becomes leader"]
    waits = broker(3, role=Role.NONE, registered_at=2)
    assert [name[:9] for name in learned(waits)] == ["applies 2", "applies 3"]
    assert not concerns(broker(4, scope=Scope(4, 3, 3)), led)


def test_a_fetch_that_would_bring_nothing_is_not_needed() -> None:
    leader, follower = broker(), broker(2)
    assert not is_even(leader, follower), "the leader does not know yet"
    assert is_even(leader.with_peer(Peer(2, 0, 2)), follower)
    assert not is_even(leader.with_peer(Peer(2, 0, 1)), follower), "in another life"
    assert not is_even(replace(leader, log=Log().append(1, 1)), follower)


@pytest.mark.parametrize(
    ("message", "to", "name"),
    [
        (RegisterAnswer(2, 2, 9, 1), 2, None),
        (AlterAnswer(REQUEST, Refusal.FENCED), 1, "hears FENCED"),
        (AlterAnswer(REQUEST, Partition(ALL, ids(1, 2), 1, 1, 2)), 1, "hears {1,2}"),
        (FetchRequest(2, 1, 2, 1, 0, 0), 1, "serves 2 at 0"),
        (FetchAnswer(1, 2, 1, 0, 0, (Run(1, 1, 1),)), 2, "takes of 1 1 from 0, 0 committed"),
        (FetchAnswer(1, 2, 1, 0, 0, Diverging(0, 0)), 2, "takes of 1 that epoch 0 ends at 0"),
        (
            FetchAnswer(1, 2, 1, 0, 0, Unserved.NO_LEADER), 2, "takes of 1 that it does not lead",
        ),
        (RegisterRequest(2, 4, 2), 0, None),
        (REQUEST, 0, None),
    ],
)  # fmt: skip
def test_a_message_is_for_somebody_who_does_something_about_it(
    message: Message, to: int, name: str | None
) -> None:
    assert receiver(message) == to
    if to:
        which = broker(to, pending=Pending(2, REQUEST) if to == 1 else None)
        which = replace(which, fetchers=tuple(replace(each, waits=True) for each in which.fetchers))
        deed = reaction(which, message, SPECIFIED)
        assert (deed.name if isinstance(deed, Deed) else None) == name
        assert isinstance(deed, Blocked) != may_react(which, message)
        with pytest.raises(AssertionError, match="is for a broker"):
            list(responses(controller(), message, SPECIFIED))
    else:
        with pytest.raises(AssertionError, match="is for the controller"):
            reaction(broker(), message, SPECIFIED)


def test_what_nobody_waits_for_may_be_forgotten() -> None:
    starting = broker(2, phase=Phase.STARTING)
    assert may_react(starting, RegisterAnswer(2, 2, 9, 1))
    assert not may_react(starting, RegisterAnswer(2, 1, 9, 1))
    assert not may_react(broker(), AlterAnswer(REQUEST, Refusal.FENCED))


def names(found: Iterable[Choice]) -> list[str]:
    """Return what choices are called."""
    return [each.name for each in found]


def test_the_controller_does_what_it_may() -> None:
    the = controller()
    assert names(own_choices(the, Scope(fences=1), SPECIFIED)) == [
        "fences 1, 2 leads", "fences 1, 3 leads", "fences 2", "fences 3",
    ]  # fmt: skip
    # One could not commit anything.
    assert names(own_choices(the, Scope(moves=1), SPECIFIED)) == [
        "moves +{} -{1}, 2 leads", "moves +{} -{1}, 3 leads", "moves +{} -{2}", "moves +{} -{3}",
    ]  # fmt: skip
    assert names(responses(the, REQUEST, SPECIFIED)) == ["accepts {1,2} of 1"]
    stale = replace(REQUEST, partition_epoch=0)
    assert names(responses(the, stale, SPECIFIED)) == ["refuses {1,2} of 1"]
    assert names(choices("fences 1", FREE, "", Blocked(Guard.IS_UNFENCED))) == []


def test_a_broker_that_is_silent_is_fenced_and_one_that_lives_is_not() -> None:
    late = Scope(3, 3, 2)
    for rules in (SPECIFIED, BUILT):
        the = first_controller(late, rules)
        assert names(about(the, first_broker(3, late, the), rules)) == ["unfences 3"]
        gone = done(end(first_broker(2, late, the), None))
        assert names(about(the, gone, rules)) == (["misses 2"] if rules is BUILT else [])
        fenced = [each.decision.controller != the for each in notices(the, 2, rules)]
        assert fenced == [rules is SPECIFIED]


def test_every_subset_comes_once_the_smaller_ones_first() -> None:
    found = [sorted(each) for each in subsets(ids(2, 3))]
    assert found == [[], [2], [3], [2, 3]]


@pytest.mark.parametrize("scope", [THREE, Scope(3, 3, 2), Scope(4, 3, 3), Scope(2, 2, 2)])
@pytest.mark.parametrize("rules", [SPECIFIED, BUILT])
def test_the_first_state_is_as_it_may_be(scope: Scope, rules: Rules) -> None:
    the = first_controller(scope, rules)
    assert not list(of_controller(the, rules))
    for each in scope.ids:
        which = first_broker(each, scope, the)
        assert not [*of_broker(which), *of_standing(the, which, rules)]
