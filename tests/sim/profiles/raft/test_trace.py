"""The port goes with the product through every schedule, and with no broken product."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from barnabas.raft.effects import Effect, Truncate
from barnabas.raft.events import Event, StopAsked
from barnabas.raft.node import Contradiction, RaftNode
from barnabas.sim.profiles.raft import RaftValidator, facts_of
from barnabas.sim.profiles.raft.facts import replica_of
from barnabas.sim.profiles.raft.trace import not_cleaned
from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.log import PLAIN, Key, Log
from barnabas.sim.specs.raft.node import Node, Role, Snapshot, Step
from barnabas.sim.specs.raft.replication import clean
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.breaking import BREAKS, Break
from tests.sim.profiles.raft.quorum import Life, Quorum

STEPS = 600

ME = Key(1, "a")

# In how many schedules a broken product must be found; most are in the first, some need a rare
# turn of things.  And how many are followed to their end.
SEEDS_MAX = 200
SEEDS = 120


class Validated(Quorum):
    """Every event of every replica goes through the validator."""

    def __init__(self, seed: int) -> None:
        self.validator = RaftValidator({})
        self.events = 0
        super().__init__(seed, self.take)

    def on_life(self, how: str, life: Life) -> None:
        """Tell the validator of a life."""
        facts = facts_of(life.node)
        if how == "restarted":
            violation = self.validator.restarted(life.name, facts)
            if violation is not None:
                raise violation
        elif how == "wiped":
            self.validator.wiped(life.name, facts)
        else:
            self.validator.started(life.name, facts)

    def take(self, life: Life, node: RaftNode, event: Event) -> list[Effect]:
        """Let a replica take an event, and the validator judge it."""
        before = facts_of(node)
        effects = node.step(event, self.now_ms())
        self.events += 1
        violation = self.validator.step(life.name, before, event, effects, facts_of(node))
        if violation is not None:
            raise violation
        return effects


def run(seed: int) -> Validated:
    """Run one schedule."""
    quorum = Validated(seed)
    for _ in range(STEPS):
        quorum.step()
    return quorum


# Everything that the port can do, but for what nobody does in these schedules.
ACTIONS = {
    "accept_fetch", "append", "ask_fetch", "ask_vote", "change_voters", "clean", "commit",
    "count_vote", "cut", "detach", "flush", "follow", "give_up", "grant", "hear_leader",
    "hear_part", "install", "lead", "lose_pre_vote", "miss_leader", "refuse", "refuse_fetch",
    "resign", "restart", "send_diverging", "send_records", "send_snapshot", "stand", "stay",
    "take", "take_snapshot", "win_pre_vote",
}  # fmt: skip


@pytest.mark.slow
def test_the_port_goes_with_the_product_through_every_schedule() -> None:
    actions: dict[str, int] = {}
    for seed in range(SEEDS):
        for action, count in run(seed).validator.actions.items():
            actions[action] = actions.get(action, 0) + count
    assert set(actions) == ACTIONS
    # Elections must not crowd out what they are for.
    assert min(actions["commit"], actions["take"], actions["restart"]) > 100


class Struck(Validated):
    """Whoever cuts its log dies of it as often as not."""

    def __init__(self, seed: int) -> None:
        self.struck = 0
        super().__init__(seed)

    def dies_after(self, effects: Sequence[Effect]) -> int:
        """Die where a log is cut, and nowhere else."""
        for at, effect in enumerate(effects):
            if isinstance(effect, Truncate) and self.random.random() < 0.5:
                self.struck += 1
                return at
        return len(effects) + 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [13, 28, 80])
def test_whoever_dies_while_it_cuts_its_log_may_have_any_part_of_it(seed: int) -> None:
    # Schedules in which the log that was found ends between what was cut and what was there.
    quorum = Struck(seed)
    for _ in range(STEPS):
        quorum.step()
    assert quorum.struck


@pytest.mark.slow
@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.make.__name__)
def test_the_port_does_not_go_with_a_product_that_does_wrong(
    broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.make(monkeypatch)
    found = noticed()
    assert found is not None, f"nothing was noticed in {SEEDS_MAX} schedules"
    assert found.oracle in broken.actions, found


def noticed() -> Violation | None:
    """Return the first thing that the validator notices in some schedules."""
    for seed in range(SEEDS_MAX):
        try:
            run(seed)
        except Violation as violation:
            return violation
        except (AssertionError, Contradiction):
            # In this schedule the product has noticed first.
            continue
    return None


# --- What the face promises ------------------------------------------------------------------


def settled(seed: int = 1) -> Validated:
    """Return a quorum in the middle of things."""
    quorum = Validated(seed)
    for _ in range(10 * STEPS):
        if any(life.node.high_watermark > 5 for life in quorum.lives.values()):
            return quorum
        quorum.step()
    raise AssertionError(f"seed {seed} comes to nothing")


def test_a_replica_that_changes_between_two_events_is_noticed() -> None:
    quorum = settled()
    life = quorum.lives["c1"]
    life.node.flushed_offset -= 1
    with pytest.raises(Violation, match=r"flushed is \d+, not \d+") as caught:
        quorum.tell(life, StopAsked())
    assert caught.value.signature == "TV-raft-state state"


def test_a_validator_may_begin_in_the_middle_of_a_log() -> None:
    quorum = settled()
    quorum.validator = RaftValidator(
        {name: facts_of(life.node) for name, life in quorum.lives.items()}
    )
    for name, life in quorum.lives.items():
        port = quorum.validator.replica(name)
        assert (port.log.end, port.hwm) == (life.node.outline.end_offset, life.node.high_watermark)
        assert port.log.epochs == tuple(life.node.outline.epochs)


def test_a_restart_that_lost_what_was_flushed_is_noticed() -> None:
    quorum = settled()
    life = next(each for each in quorum.lives.values() if each.disk.flushed > 1)
    life.disk.cut(life.disk.flushed - 1)
    with pytest.raises(Violation) as caught:
        quorum.reboot(life)
    assert caught.value.signature == f"TV-raft-restart {Guard.KEEPS_FLUSHED.name}"


def test_a_restart_that_lost_an_election_is_noticed() -> None:
    quorum = settled()
    life = quorum.lives["c1"]
    life.disk.election = None
    life.disk.cut(life.disk.flushed)
    with pytest.raises(Violation) as caught:
        quorum.reboot(life)
    assert caught.value.oracle == "TV-raft-restart"


def test_a_candidate_that_lost_records_may_not_run_on() -> None:
    quorum = settled()
    facts = facts_of(quorum.lives["c1"].node)
    own = replace(facts, role=Role.CANDIDATE, leader=None, voted=facts.key, flushed=facts.end - 1)
    again = replace(own, hwm=0, flushed=facts.start)
    lost = replace(again, end=facts.end - 1, epochs=replica_of(facts).log.cut(facts.end - 1).epochs)
    for back, expected in ((again, ""), (lost, "TV-raft-restart KEEPS_CLAIM")):
        found = RaftValidator({"c1": own}).restarted("c1", back)
        assert (found.signature if found else "") == expected
    waits = replace(lost, role=Role.UNATTACHED)
    assert RaftValidator({"c1": own}).restarted("c1", waits) is None


def test_a_new_disk_makes_a_new_replica() -> None:
    quorum = settled()
    before = quorum.validator.replica("c2")
    quorum.wipe(quorum.lives["c2"])
    after = quorum.validator.replica("c2")
    assert after.key.id == before.key.id
    assert after.key != before.key
    assert after.log.end == 0


def test_a_disk_may_be_several_cleanings_behind() -> None:
    def of(log: Log, *ends: int) -> Node:
        snapshots = tuple(Snapshot(end, 1, frozenset()) for end in ends)
        return Node(ME, log=log, snapshots=snapshots)

    def cleaned(node: Node, end: int) -> Node:
        step = clean(node, end)
        assert isinstance(step, Step)
        return step.node

    short = Log().append(1, PLAIN, 4)
    first = of(short, 1, 2)
    second = replace(cleaned(first, 2), log=cleaned(first, 2).log.append(1, PLAIN, 4))
    second = replace(second, snapshots=(*second.snapshots, Snapshot(6, 1, frozenset())))
    node = cleaned(second, 6)
    assert not_cleaned(node, [first, second], 6) == node
    assert not_cleaned(node, [first, second], 2) == second
    whole = of(short.append(1, PLAIN, 4), 1, 2, 6)
    assert not_cleaned(node, [first, second], 0) == whole
