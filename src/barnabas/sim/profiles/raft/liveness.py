"""What a healthy part of a quorum owes: RL-1 to RL-7, RL-9.

    healed ──▶ a leader, followed ──▶ a write done ──▶ all have caught up ──▶ well
                                                                               │ core only
                                                          no new epoch for 50 timeouts ──▶ over

Some hosts may stay out of reach, and be heard or hear all the same: whoever is whole must do
without them, if a majority of the voters is among them.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from barnabas.raft.states import Candidate, Follower, Leader, Prospective
from barnabas.raft.voters import Voter
from barnabas.sim.plan import Plan
from barnabas.sim.profiles.raft.history import Written
from barnabas.sim.profiles.raft.judges import Judges
from barnabas.sim.profiles.raft.lives import has_seat, is_seat
from barnabas.sim.profiles.raft.member import Member, Part
from barnabas.sim.world import Violation, World

# In units of the longest election and fetch timeout together; and of the election timeout.
ELECTED_WITHIN: Final = 20
STABLE_FOR: Final = 50
SETTLED_AFTER: Final = 10

# What disks, connections and processes need to come back, besides.
SLACK_MS: Final = 30_000

PROBE: Final = "probe"


class Quorums(Protocol):
    """What is asked of the scene."""

    @property
    def world(self) -> World:
        """Where everything happens."""
        ...

    @property
    def plan(self) -> Plan:
        """What was drawn."""
        ...

    @property
    def judges(self) -> Judges:
        """The oracles."""
        ...

    def part_of(self, host: str) -> Part:
        """Return what a host plays."""
        ...

    def is_found(self, voter: Voter) -> bool:
        """Tell whether a voter listens where a set of voters says."""
        ...

    def living(self, host: str) -> Member | None:
        """Return the member that runs on a host."""
        ...

    def write(self, key: str, texts: tuple[str, ...], chooser: int, tries: int = 20) -> Written:
        """Let a client write."""
        ...


class Healing:
    """Some hosts that are whole, and how far they have come since."""

    def __init__(self, scene: Quorums, hosts: Sequence[str], for_core: bool) -> None:
        self._scene: Final = scene
        self._hosts: Final = hosts
        self._for_core: Final = for_core
        self._since_ms: Final = scene.world.now_ms
        self._probe: Written | None = None
        self._target: int | None = None
        self._well_since_ms: int | None = None
        self._stable: tuple[int, int] | None = None
        self._is_lost = False
        election_ms = 2 * scene.plan.knob("election_ms", 1_000)
        fetch_ms = scene.plan.knob("fetch_ms", 2_000)
        self._election_ms: Final = election_ms
        self._limit_ms: Final = ELECTED_WITHIN * (election_ms + fetch_ms) + SLACK_MS

    @property
    def _world(self) -> World:
        return self._scene.world

    def is_over(self) -> bool:
        """Tell whether everything that is owed was given; ``RL-…`` if it is too late for that."""
        if not self.has_majority():
            # Nothing is owed: the voters that matter are elsewhere.
            self._world.mark("a core without a majority")
            return True
        if not self.is_well():
            self._check_deadline()
            return self._is_lost
        if not self._for_core:
            return True
        return self._stays()

    def has_majority(self) -> bool:
        """Tell whether these hosts are a majority of every voter set that anybody goes by."""
        keys = [self._scene.part_of(host).config.key for host in self._hosts]
        for voters in self._scene.judges.voter_sets():
            here = [
                voter
                for voter in voters.voters
                if any(is_seat(voter.key, key) for key in keys) and self._scene.is_found(voter)
            ]
            if len(here) < voters.majority:
                return False
        return True

    def is_stranded(self) -> bool:
        """Tell whether somebody is needed who may not stand, and nobody else can be elected.

        A leader that removes itself, and loses its epoch before that is committed, may be the
        only one of a majority that has the newest records.  Kafka lets it stand no more.
        """
        for host in self._hosts:
            each = self._scene.living(host)
            if each is None:
                continue
            node, own = each.quorum.node, each.quorum.config.key
            before = node.voters.set_at(node.high_watermark)
            is_open = node.voters.current_offset >= node.high_watermark
            if is_open and has_seat(before, own) and not has_seat(node.voters.current, own):
                return True
        return False

    def is_well(self) -> bool:
        """Tell whether all follow one leader, a write is done, and everybody has it."""
        members = [self._scene.living(host) for host in self._hosts]
        if any(each is None for each in members):
            return False
        found = [each for each in members if each is not None]
        leader = self._leader(found)
        if leader is None:
            return False
        if self._probe is None or self._probe.end not in ("waits", "done"):
            self._probe = self._scene.write(PROBE, (f"probe at {self._world.now_ms}",), 0)
        if self._probe.process is not None and not self._probe.process.alive:
            self._probe = None
            return False
        if self._probe.end != "done":
            return False
        if self._target is None:
            self._target = leader.quorum.node.high_watermark
        return all(self._follows(each, leader) for each in found)

    def _leader(self, found: Sequence[Member]) -> Member | None:
        newest = max(each.quorum.node.epoch for each in found)
        for each in found:
            node = each.quorum.node
            claimed = each.leads == node.epoch
            if isinstance(node.state, Leader) and node.epoch == newest and claimed:
                return each
        return None

    def _follows(self, each: Member, leader: Member) -> bool:
        node, target = each.quorum.node, self._target
        assert target is not None
        same = node.epoch == leader.quorum.node.epoch
        role = each is leader or isinstance(node.state, Follower)
        return same and role and node.high_watermark >= target and each.offset >= target

    def _stays(self) -> bool:
        """RL-5: see that the leader is kept."""
        now_ms = self._world.now_ms
        if self._well_since_ms is None:
            self._well_since_ms = now_ms
        if now_ms - self._well_since_ms < SETTLED_AFTER * self._election_ms:
            return False
        epoch = max(
            each.quorum.node.epoch
            for host in self._hosts
            if (each := self._scene.living(host)) is not None
        )
        if self._stable is None:
            self._stable = epoch, now_ms
        if epoch != self._stable[0]:
            story = f"a core that is well goes from epoch {self._stable[0]} to {epoch}"
            self._world.found(Violation("RL-5", story, "a leader that works is not kept"))
        return now_ms - self._stable[1] >= STABLE_FOR * self._election_ms // 2

    def _check_deadline(self) -> None:
        late_ms = self._world.now_ms - self._since_ms
        if self._well_since_ms is not None or late_ms <= self._limit_ms:
            return
        if self.is_stranded():
            self._world.mark("stranded by an open removal")
            self._is_lost = True
            return
        told = []
        for host in self._hosts:
            each = self._scene.living(host)
            node = None if each is None else each.quorum.node
            told.append(
                f"{host}: nothing"
                if node is None or each is None
                else f"{host}: {node.state}, committed {node.high_watermark} of "
                f"{node.outline.end_offset}, folded {each.offset}"
            )
        story = f"after {late_ms} ms of peace: " + "; ".join(told)
        self._world.found(Violation(self._owed(), story, "no progress"))

    def _owed(self) -> str:
        """Return the property that is not kept: the first thing that is missing."""
        found = [each for host in self._hosts if (each := self._scene.living(host)) is not None]
        states = [each.quorum.node.state for each in found]
        if any(isinstance(state, Leader) for state in states):
            if any(isinstance(state, Prospective | Candidate) for state in states):
                return "RL-4"
            if self._probe is None or self._probe.end != "done":
                return "RL-7"
            lagging = [each.lags for each in found if self._only_folding(each)]
            return lagging[0] if lagging else "RL-6"
        return "RL-1"

    def _only_folding(self, each: Member) -> bool:
        """Tell whether a member has the log, and what stands on it has not followed."""
        target = self._target or 0
        return each.quorum.node.high_watermark >= target > each.offset
