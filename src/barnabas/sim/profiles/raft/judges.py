"""All oracles of the quorum, and who tells each of them what.

``Judges`` are those of every profile with a quorum; what is made of the log, ``TableJudges`` have
for the ``raft`` profile, and others for themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.sim.profiles.raft.claims import Claimant, ClaimProtocol, HandedOver
from barnabas.sim.profiles.raft.drive import Controller, Keeper
from barnabas.sim.profiles.raft.durability import (
    CommitRule,
    Durability,
    EpochDurable,
    FsyncMeansDurable,
    StateBeforeLog,
    VoteOnce,
)
from barnabas.sim.profiles.raft.elections import (
    CheckQuorum,
    ElectionSafety,
    EpochMonotonic,
    LegalTransition,
    NoLeaderAfterRestart,
    NoVoteAmnesia,
    PreVoteIsHarmless,
    ValidRoles,
    VoteLogCheck,
)
from barnabas.sim.profiles.raft.ghost import Content, Ghost
from barnabas.sim.profiles.raft.history import Written, compare
from barnabas.sim.profiles.raft.lives import Home, Oracle
from barnabas.sim.profiles.raft.marks import Sightings, Situations
from barnabas.sim.profiles.raft.member import Member
from barnabas.sim.profiles.raft.membership import (
    ClusterIdMatch,
    ConfigIsLastInLog,
    DepartingLeader,
    IdentityByDirectory,
    OneReconfigAtATime,
    ResignedForGood,
)
from barnabas.sim.profiles.raft.replication import (
    CommittedPrefixStable,
    DivergenceSound,
    EpochCacheExact,
    FetchEpochMatch,
    HwmMonotonic,
    LeaderAppendOnly,
    LeaderChangeFirst,
    LeaderCompleteness,
    LogMatching,
    NoTruncateBelowHwm,
    ObserverNeutral,
)
from barnabas.sim.profiles.raft.snapshots import (
    LogBounded,
    SnapshotCoversStart,
    SnapshotInstallAtomic,
    SnapshotValid,
)
from barnabas.sim.profiles.raft.table import Tables
from barnabas.sim.profiles.raft.tracing import Tracing
from barnabas.sim.profiles.raft.watch import Watch
from barnabas.sim.world import Violation, World
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from barnabas.wire.structs import Request, Response


class Judges:
    """The oracles of one world with a quorum."""

    def __init__(
        self,
        world: World,
        first: VoterSet,
        snapshot_bytes: int,
        content: Content,
        more: Sequence[Oracle] = (),
    ) -> None:
        self.ghost: Final = Ghost(content)
        self.homes: Final[list[Home]] = []
        self._world: Final = world
        self._first: Final = first
        self._lost: Final[dict[ReplicaKey, None]] = {}
        ghost = self.ghost
        self._vote_once: Final = VoteOnce()
        self._epoch_durable: Final = EpochDurable()
        self._claims: Final = ClaimProtocol()
        self._cluster: Final = ClusterIdMatch()
        self._bounded: Final = LogBounded(snapshot_bytes)
        oracles: list[Oracle] = [
            EpochMonotonic(),
            NoVoteAmnesia(),
            LegalTransition(),
            NoLeaderAfterRestart(),
            ElectionSafety(ghost),
            self._vote_once,
            ValidRoles(),
            VoteLogCheck(),
            PreVoteIsHarmless(),
            CheckQuorum(),
            OneReconfigAtATime(),
            DepartingLeader(),
            ResignedForGood(),
            IdentityByDirectory(self._lost),
            LeaderCompleteness(ghost),
            LeaderAppendOnly(),
            NoTruncateBelowHwm(),
            FetchEpochMatch(),
            DivergenceSound(ghost),
            ObserverNeutral(),
            FsyncMeansDurable(),
            StateBeforeLog(),
            Durability(),
            CommitRule(self.homes, self._lost),
            self._claims,
            LogMatching(ghost),
            LeaderChangeFirst(ghost),
            CommittedPrefixStable(ghost),
            HwmMonotonic(ghost),
            EpochCacheExact(),
            ConfigIsLastInLog(ghost),
            SnapshotValid(ghost),
            SnapshotCoversStart(),
            SnapshotInstallAtomic(),
            self._bounded,
            Sightings(world),
            Situations(world),
            *more,
        ]
        self.watch: Final = Watch(world, self.homes, oracles)

    def born(self, name: str, host: str, member: Member) -> None:
        """Learn of a process that has read its disk."""
        self.watch.born(name, host, member.quorum)

    def lost(self, key: ReplicaKey) -> None:
        """Learn that a replica has lost its disk, with its consent."""
        self._lost[key] = None
        for home in list(self.homes):
            if home.key == key:
                self.homes.remove(home)

    # --- what is said -------------------------------------------------------------------------

    def told(self, name: str, said: Request | Response, asked: Request | None) -> None:
        """Look at a message at the instant at which it leaves."""
        self.attempt(lambda: self._hear(name, said, asked))

    def _hear(self, name: str, said: Request | Response, asked: Request | None) -> None:
        life = self.watch.lives[name]
        if isinstance(said, VoteRequest):
            vote = said.topics[0].partitions[0]
            if not vote.pre_vote:
                self._vote_once.telling(life, vote.replica_epoch, life.key)
            self._epoch_durable.telling(life, vote.replica_epoch)
        elif isinstance(said, BeginQuorumEpochRequest):
            self._epoch_durable.telling(life, said.topics[0].partitions[0].leader_epoch)
        elif isinstance(said, FetchRequest):
            epoch = said.topics[0].partitions[0].current_leader_epoch
            self._epoch_durable.telling(life, epoch)
        elif isinstance(said, VoteResponse) and isinstance(asked, VoteRequest):
            self._hear_vote(name, said, asked)

    def _hear_vote(self, name: str, said: VoteResponse, asked: VoteRequest) -> None:
        life = self.watch.lives[name]
        if not said.topics:
            return
        answer, vote = said.topics[0].partitions[0], asked.topics[0].partitions[0]
        self._epoch_durable.telling(life, answer.leader_epoch)
        if answer.vote_granted and not vote.pre_vote:
            candidate = ReplicaKey(vote.replica_id, vote.replica_directory_id)
            self._vote_once.telling(life, vote.replica_epoch, candidate)

    def claimed(self, name: str, claimant: Claimant) -> None:
        """Look at a state machine that was told who leads."""
        life = self.watch.lives[name]
        self.attempt(lambda: self._claims.told(life, claimant))

    def mistaken(self, name: str, error: int, happened: bool) -> None:
        """Look at the answer to a question for another cluster."""
        self.attempt(lambda: self._cluster.mistaken(name, error, happened))

    def administered(self, request: Request, error: ErrorCode) -> None:
        """Learn how a change of the voters ended."""
        self._world.mark(f"{type(request).__name__} ended {error.name}")

    # --- what people outside need to know ------------------------------------------------------

    def voter_sets(self) -> list[VoterSet]:
        """Return every voter set that somebody may go by: the last one of each replica."""
        latest = {life.home.key: life.facts.voters for life in self.watch.lives.values()}
        sets = {
            voters: None for key, voters in latest.items() if key not in self._lost and len(voters)
        }
        return list(sets) or [self._first]

    def compare_history(self, written: list[Written], committed: Mapping[str, int]) -> None:
        """Compare what clients know with what is committed."""
        compare(written, committed)

    def attempt(self, look: Callable[[], None]) -> None:
        """Let an oracle look in the middle of a handle, and take what it finds."""
        try:
            look()
        except Violation as violation:
            self._world.found(violation)


class TableJudges(Judges):
    """The oracles of the ``raft`` profile: those of the quorum, and of the table on its log."""

    def __init__(self, world: World, first: VoterSet, snapshot_bytes: int, traces: bool) -> None:
        self.tables: Final = Tables()
        super().__init__(world, first, snapshot_bytes, self.tables, [Tracing()] if traces else [])
        self._handed: Final = HandedOver(self.ghost, self.tables)

    def listened(self, name: str, keeper: Keeper, what: str) -> None:
        """Look at a state machine that was told something."""
        life = self.watch.lives[name]
        if what == "leader":
            self.claimed(name, keeper)
        else:
            self.attempt(lambda: self._handed.listened(life, keeper))

    def quiet(self, controllers: Sequence[Controller]) -> None:
        """Look at everybody's listeners when nothing is new any more."""
        lives = [self.watch.lives[each.name] for each in controllers]
        # Before a restart counts everything anew.
        self._world.judge(lambda: self._bounded.finish(lives))
        for each, life in zip(controllers, lives, strict=True):
            self._claims.caught_up(life, each.keeper.known, each.keeper.offset)
            if each.latecomer is not None:
                self._claims.caught_up(life, each.latecomer.known, each.latecomer.offset)
