"""Trials: a seed draws a quorum, its weather and its misfortunes; then all is healed.

    python -m tests.raft.trials --seeds 1000 [--from N] [--seconds 120]

Each seed enables some of the misfortunes and none of the others, at a rate of its own: where
everything always happens, nothing ever gets far.  What a trial has reached is counted, so that a
campaign can show what it has seen.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

from barnabas.raft.events import AppendAsked, CleanAsked, ResignAsked, SnapshotTaken, StopAsked
from barnabas.raft.messages import AddVoter, RemoveVoter, VoterAnswer
from barnabas.raft.states import Follower, Leader
from barnabas.raft.voters import ReplicaKey, VoterSet
from tests.raft.cores import BROKERS, CONTROLLERS, Member, Weather, World, endpoints
from tests.raft.oracles import Judge

CALM = Weather()
HEALED_MS = 120_000


class Trial:
    """One seed's story."""

    def __init__(self, seed: int, seconds: int) -> None:
        self.random = random.Random(seed)
        draw = self.random
        self.judge = Judge()
        self.static = draw.random() < 0.2
        self.is_mild = draw.random() < 0.1
        voters = CONTROLLERS[: draw.choice((1, 2, 3, 3, 3, 3, 4, 5))]
        self.world = World(
            seed, voters=voters, static=self.static, weather=self._weather(), watcher=self.judge
        )
        self.judge.world = self.world
        self.end_ms = seconds * 1_000
        self.auto_join = draw.random() < 0.3
        for node_id in (*CONTROLLERS, *BROKERS[: draw.randint(0, 2)]):
            if node_id not in self.world.members and draw.random() < 0.7:
                self.world.add(node_id)
        for member in self.world.members.values():
            member.auto_join = self.auto_join
            member.old_protocol = draw.random() < 0.05
        self.tokens: list[tuple[Member, int, int]] = []
        self.seen = self.world.seen

    def _weather(self) -> Weather:
        draw = self.random

        def some(most: float) -> float:
            return draw.random() * most if draw.random() < 0.5 else 0.0

        return Weather(
            latency_ms=draw.choice(((1, 5), (1, 60))),
            slow=some(0.1),
            loss=some(0.2),
            twice=some(0.2),
            flush_ms=draw.choice(((0, 4), (0, 80))),
            slow_flush=some(0.05),
            refused_snapshots=some(0.6),
        )

    # --- the story -------------------------------------------------------------------------------

    def run(self) -> None:
        """Live through everything, and be whole again."""
        for member in self.world.members.values():
            self.world.later(self.random.randint(0, 500), partial(self._start, member))
        self._often(self._append, (20, 400), always=True)
        self._often(self._snapshot, (300, 4_000))
        self._often(self._clean, (1_000, 8_000))
        self._often(self._crash, (500, 20_000))
        self._often(self._crash_leader, (2_000, 20_000))
        self._often(self._partition, (1_000, 20_000))
        self._often(self._isolate_leader, (2_000, 20_000))
        self._often(self._reconfigure, (300, 6_000), always=self.is_mild)
        self._often(self._wipe, (2_000, 20_000))
        self._often(self._resign, (2_000, 20_000))
        self._often(self._stop, (2_000, 20_000))
        self._often(self._causeless_timer, (200, 5_000))
        self.world.run(self.end_ms)
        self._heal()

    def _start(self, member: Member) -> None:
        if member.node is None:
            self.world.start(member)

    def _often(
        self, what: Callable[[], None], every_ms: tuple[int, int], *, always: bool = False
    ) -> None:
        """Let something happen again and again, at a rate that the seed has drawn, or never."""
        if not always and (self.is_mild or self.random.random() < 0.5):
            return
        mean_ms = self.random.randint(*every_ms)

        def once() -> None:
            if self.world.now_ms < self.end_ms:
                what()
                self.world.later(1 + int(self.random.expovariate(1 / mean_ms)), once)

        self.world.later(mean_ms, once)

    def _some(self, among: list[Member]) -> Member | None:
        return self.random.choice(among) if among else None

    # --- work ------------------------------------------------------------------------------------

    def _append(self) -> None:
        able = [m for m in self.world.running if m.alive.promised_offset is not None]
        member = self._some(able)
        if member is not None:
            self.world.step(member, AppendAsked(self.random.randint(1, 3)))

    def _snapshot(self) -> None:
        member = self._some(self.world.running)
        if member is None:
            return
        end, disk = member.alive.high_watermark, member.disk
        newest = max((each.end_offset for each in disk.snapshots), default=0)
        if end > max(newest, disk.start) and not member.alive.is_installing:
            self.world.step(member, SnapshotTaken(disk.snapshot(end)))

    def _clean(self) -> None:
        member = self._some(self.world.running)
        if member is None:
            return
        snapshots = [each for each in member.disk.snapshots if each.end_offset > member.disk.start]
        if snapshots:
            first = self.random.choice(sorted(snapshots, key=lambda each: each.rank))
            self.world.step(member, CleanAsked(first))

    def _reconfigure(self) -> None:
        leaders = self.world.leaders
        asked = leaders[-1] if leaders else self._some(self.world.running)
        if asked is None or not asked.can_vote:
            return
        voters = asked.disk.voters()
        outside = [m for m in self.world.running if m.can_vote and not voters.contains(m.key)]
        newcomer = self._some(outside)
        if newcomer is not None and self.random.random() < 0.6:
            ack = self.random.random() < 0.5
            self._ask(asked, AddVoter(newcomer.key, endpoints(newcomer.id), 2_000, ack))
        elif len(voters):
            key = self.random.choice(voters.voters).key
            keys = {m.key for m in self.world.members.values()} - {key}
            # Who knows first that it is removed stands no more, and may have too much to vote for
            # the others: without it they have to be enough, or nobody may be lost meanwhile.
            enough = 2 * sum(voter.key in keys for voter in voters.voters) > len(voters)
            if enough or (self.is_mild and self._lives(voters.without(key))):
                self._ask(asked, RemoveVoter(key))

    def _ask(self, asked: Member, question: AddVoter | RemoveVoter) -> None:
        self.seen[f"asks {type(question).__name__}"] += 1
        self.tokens.append((asked, asked.life, self.world.ask(asked, question)))

    # --- misfortunes -----------------------------------------------------------------------------

    def _crash(self) -> None:
        self._crash_one(self._some(self.world.running))

    def _crash_leader(self) -> None:
        self._crash_one(self._some(self.world.leaders))

    def _crash_one(self, member: Member | None) -> None:
        if member is not None:
            power = self.random.random() < 0.7
            self.seen["power cut" if power else "kill"] += 1
            self.world.kill(member, power=power)
            self.world.later(self._pause_ms(), lambda: self._start(member))

    def _pause_ms(self) -> int:
        return self.random.choice((1, 50, 500, 3_000, 9_000))

    def _partition(self) -> None:
        ids = list(self.world.members)
        if self.random.random() < 0.5:
            one = self.random.choice(ids)
            links = {(one, other) for other in ids}
            links |= {(other, one) for other in ids}
        elif self.random.random() < 0.5:
            side = {each for each in ids if self.random.random() < 0.5}
            links = {(a, b) for a in ids for b in ids if (a in side) != (b in side)}
        else:
            links = {(self.random.choice(ids), self.random.choice(ids)) for _ in range(4)}
        self.seen["partition"] += 1
        self.world.cut |= links
        self.world.later(self.random.randint(500, 9_000), lambda: self._mend(links))

    def _isolate_leader(self) -> None:
        """Cut a leader off, in both directions or in one: RL-7, R-27."""
        leader = self._some(self.world.leaders)
        if leader is None:
            return
        others = [each for each in self.world.members if each != leader.id]
        links = {(each, leader.id) for each in others}
        if self.random.random() < 0.6:
            links |= {(leader.id, each) for each in others}
        self.seen["leader cut off"] += 1
        self.world.cut |= links
        self.world.later(self.random.randint(1_000, 12_000), lambda: self._mend(links))

    def _mend(self, links: set[tuple[int, int]]) -> None:
        self.world.cut -= links

    def _lives(self, voters: VoterSet, without: ReplicaKey | None = None) -> bool:
        """Tell whether a majority of a set has its disks, so that all can be whole again."""
        keys = {m.key for m in self.world.members.values()} - {without}
        return 2 * sum(voter.key in keys for voter in voters.voters) > len(voters)

    def _wipe(self) -> None:
        member = self._some([m for m in self.world.members.values() if m.can_vote])
        if member is None or self.static:
            return
        sets = {m.disk.voters() for m in self.world.members.values()}
        if not all(self._lives(each, member.key) for each in sets if len(each)):
            return
        if any(m.voters_offset >= self.judge.committed_end for m in self.world.members.values()):
            # Nobody stands for election whom the end of its own log removes, although its vote
            # may still be needed: a disk that dies meanwhile can stop a quorum, here as in Kafka.
            return
        self.seen["wipe"] += 1
        if member.node is not None:
            self.world.kill(member, power=True)
        self.world.wipe(member)
        self.world.later(self._pause_ms(), lambda: self._start(member))

    def _resign(self) -> None:
        member = self._some(self.world.leaders)
        if member is not None:
            self.world.step(member, ResignAsked(member.alive.epoch - self.random.randint(0, 1)))

    def _stop(self) -> None:
        member = self._some(self.world.running)
        if member is None or member.alive.is_stopping:
            return
        life = member.life
        self.world.step(member, StopAsked())

        def end() -> None:
            if member.life == life and member.node is not None:
                self.seen["stopped in order" if member.alive.is_stopped else "stopped anyway"] += 1
                self._crash_one(member)

        self.world.later(self.random.randint(0, 5_000), end)

    def _causeless_timer(self) -> None:
        member = self._some(self.world.running)
        if member is not None and member.timers:
            timer = self.random.choice(list(member.timers))
            self.seen["causeless timer"] += 1
            self.world.fire(member, timer)

    # --- the end ---------------------------------------------------------------------------------

    def _heal(self) -> None:
        """RL-1, RL-2, RL-6: one leads, all follow, and all have the same."""
        world = self.world
        world.cut.clear()
        world.weather = CALM
        for member in world.members.values():
            if member.node is not None and member.alive.is_stopping:
                world.kill(member, power=False)
            self._start(member)
        healed = world.run(HEALED_MS, self._is_whole)
        assert healed, f"not whole: {[(m.id, m.alive.state) for m in world.running]}"
        leader = world.leaders[-1]
        end = leader.alive.promised_offset
        assert end is not None, "a leader that decides nothing"
        world.step(leader, AppendAsked(1))
        assert world.run(HEALED_MS, self._is_whole), "nothing is committed any more"
        assert leader.alive.high_watermark > end, "another one leads a healthy quorum"
        assert not self.judge.awaited.get((leader.id, leader.life)), "somebody waits for ever"
        # Longer than anybody waits for a change.
        world.run(3_000)
        for member, life, token in self.tokens:
            # RL-3: who asked for a change is answered, unless the process died.
            answers = len(world.answers[token])
            assert answers == 1 or (answers == 0 and member.life != life), f"{answers} answers"
            for answer in world.answers[token]:
                assert isinstance(answer, VoterAnswer), answer
                self.seen[f"change {answer.error.name}"] += 1

    def _is_whole(self) -> bool:
        leaders = self.world.leaders
        if len(leaders) != 1:
            return False
        leader = leaders[0].alive
        end, epoch = leader.outline.end_offset, leader.epoch
        assert isinstance(leader.state, Leader)
        return all(
            m.alive.high_watermark == m.disk.end == end
            and m.alive.epoch == epoch
            and isinstance(m.alive.state, Follower | Leader)
            for m in self.world.running
        )


def tell(counted: Counter[str]) -> str:
    """Return what was counted, most first."""
    return "\n".join(f"{number:9,}  {name}" for name, number in counted.most_common())


def main() -> None:
    """Run a campaign and say what it has seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=40)
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.seeds):
        trial = Trial(seed, options.seconds)
        try:
            trial.run()
        except AssertionError as problem:
            failures[str(problem)[:60]] += 1
            sys.stderr.write(f"seed {seed} at {trial.world.now_ms} ms: {problem}\n")
        seen += trial.seen
        checked += trial.judge.checked
    sys.stdout.write("\n\n".join(map(tell, (seen, checked, failures))) + "\n")


if __name__ == "__main__":
    main()
