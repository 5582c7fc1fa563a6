"""The stage of every profile with a quorum: hosts, an administrator, clients, what they may expect.

    n1 n2 n3 …   controllers: the first ``voters`` of them vote from the beginning
    o1 o2 …      observers: they follow, and never vote

It does what people outside of the processes do: it replaces disks, moves listeners, adds and
removes voters, and writes at whoever says that it leads, also at two who do.  What runs on the
hosts, and what it is judged by, is the profile's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Generic, TypeVar

from barnabas.log.health import DirectoryFailed
from barnabas.model.errors import ErrorCode
from barnabas.raft.config import RaftConfig
from barnabas.raft.states import Leader
from barnabas.raft.voters import NO_VOTERS, ReplicaKey, Voter, VoterSet
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.plan import Fault, Operation, Plan
from barnabas.sim.process import Process
from barnabas.sim.profiles.raft.history import Written
from barnabas.sim.profiles.raft.judges import Judges
from barnabas.sim.profiles.raft.liveness import SLACK_MS, Healing
from barnabas.sim.profiles.raft.member import (
    CLUSTER,
    Member,
    Part,
    endpoint_of,
    id_of,
    key_of,
)
from barnabas.sim.world import Checker, Violation, World
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.vote import VoteRequest
from barnabas.wire.structs import Request, Response

PORT: Final = 9093

# A cluster that is not this one.
STRANGE: Final = "c29tZWJvZHktZWxzZXMgIQ"

# How often a client looks for somebody who leads, and how long between two looks.
TRIES: Final = 20
RETRY_MS: Final = 100

# After a process has ended by an error that is excused, its host's supervisor waits so long.
SUPERVISED_MS: Final = 300


MemberT = TypeVar("MemberT", bound=Member)


class Stage(ABC, Generic[MemberT]):
    """A quorum and those who use it."""

    def __init__(self, world: World, plan: Plan) -> None:
        self.world: Final = world
        self.plan: Final = plan
        self.hosts: Final = plan.hosts
        self.is_static: Final = plan.knob("static", 0) == 1
        self.members: Final[dict[str, MemberT]] = {}
        """By process name, the dead included."""
        self.written: Final[list[Written]] = []
        self.disks: Final = dict.fromkeys(plan.hosts, 0)
        self.ports: Final = dict.fromkeys(plan.hosts, PORT)
        self._lost: Final[dict[ReplicaKey, None]] = {}
        self._broken: Final[dict[str, None]] = {}
        self._slow: Final[dict[str, int]] = {}
        self._begun = False
        self._healing = Healing(self, plan.hosts, for_core=False)

    def start(self) -> None:
        """Start a process on every host."""
        for host in self.hosts:
            self.world.start(host, partial(self.live, host))

    # --- what is the profile's own -----------------------------------------------------------

    @property
    @abstractmethod
    def judges(self) -> Judges:
        """The oracles."""

    @abstractmethod
    async def live(self, host: str, runtime: Runtime) -> None:
        """Be the process of a host."""

    @property
    @abstractmethod
    def committed_values(self) -> Mapping[str, int]:
        """What clients have written and was committed, and behind which offset."""

    def forgives(self, process: Process, error: BaseException | None) -> bool:
        """Tell whether an error of a process is one that its host's supervisor knows."""
        broken = process.host in self._broken and isinstance(error, DirectoryFailed | OSError)
        return bool(broken)

    @abstractmethod
    def quiet(self, members: Sequence[MemberT]) -> None:
        """Look at all members when nothing is new any more."""

    # --- who plays what ----------------------------------------------------------------------

    def first_voters(self) -> VoterSet:
        """Return the voters of the beginning."""
        count = self.plan.knob("voters", 3)
        keys = {
            host: ReplicaKey(id_of(host)) if self.is_static else key_of(host, 0)
            for host in self.hosts[:count]
        }
        return VoterSet.of(
            Voter(key, (endpoint_of(host, PORT),), (0, 1)) for host, key in keys.items()
        )

    def part_of(self, host: str) -> Part:
        """Return what a host plays, with the disk and the port that it has now."""
        plan, disk = self.plan, self.disks[host]
        controls = host.startswith("n")
        votes_first = host in self.hosts[: plan.knob("voters", 3)] and disk == 0
        knows_voters = self.is_static or votes_first
        election_ms = plan.knob("election_ms", 1_000)
        config = RaftConfig(
            key_of(host, disk),
            CLUSTER,
            endpoints=(endpoint_of(host, self.ports[host]),) if controls else (),
            bootstrap=tuple(
                Address(other, self.ports[other]) for other in self.hosts if other.startswith("n")
            ),
            can_vote=controls,
            auto_join=controls and not self.is_static and plan.knob("auto_join", 0) == 1,
            election_timeout_ms=election_ms,
            election_backoff_max_ms=election_ms,
            fetch_timeout_ms=plan.knob("fetch_ms", 2_000),
            request_timeout_ms=plan.knob("fetch_ms", 2_000),
            fetch_wait_ms=plan.knob("fetch_ms", 2_000) // 4,
            fetch_bytes_max=plan.knob("fetch_bytes", 4_096),
            fetch_snapshot_bytes_max=plan.knob("fetch_bytes", 4_096),
            retention_bytes=plan.knob("retention_bytes", 2_048),
            clean_interval_ms=5_000,
        )
        return Part(
            config,
            self.first_voters() if knows_voters else NO_VOTERS,
            self.is_static,
            plan.knob("segment_bytes", 8_192),
            plan.knob("snapshot_bytes", 4_096),
        )

    def meet(self, name: str, member: MemberT) -> None:
        """Learn of a process that is about to begin."""
        self.members[name] = member
        self.judges.born(name, name.partition(".")[0], member)

    def told(self, name: str, said: Request | Response, asked: Request | None) -> None:
        """Let the oracles hear what is said."""
        self.judges.told(name, said, asked)

    def delay_ms(self, name: str) -> int:
        """Return how slow the listener of a process is now."""
        return self._slow.get(name.partition(".")[0], 0)

    # --- ``Scene`` -----------------------------------------------------------------------------

    @property
    def checkers(self) -> Sequence[Checker]:
        """The one that listens for all oracles."""
        return (self.judges.watch,)

    def ready(self) -> bool:
        """Tell whether everybody follows one leader that has committed something."""
        if not self._healing.is_well():
            return False
        if not self._begun:
            self._begun = True
            for operation in self.plan.workload:
                self.world.later(
                    self.plan.phases.warm_up_ms + operation.at_ms,
                    partial(self.perform, operation),
                )
        return True

    def healed(self, hosts: Sequence[str]) -> None:
        """Hold the hosts that are whole to their promises from now on."""
        self._begun = True
        self._slow.clear()
        self._healing = Healing(self, hosts, for_core=len(hosts) < len(self.hosts))

    def recovered(self) -> bool:
        """Tell whether work goes on on those hosts."""
        return self._healing.is_over()

    def permits(self, world: World, fault: Fault) -> bool:
        """Permit what leaves a majority of every voter set its disks (§0.6)."""
        match fault.kind:
            case "wipe":
                return self._may_lose(fault.target[0])
            case "disk-fail":
                self._broken[fault.target[0]] = None
                return True
            case _:
                return True

    def excuses(self, process: Process) -> bool:
        """Excuse a process whose disk failed, and what else is forgiven; restart it."""
        assert process.death is not None
        if not self.forgives(process, process.death.error):
            return False
        self.world.later(SUPERVISED_MS, partial(self._supervise, process.host))
        return True

    def _supervise(self, host: str) -> None:
        there = self.world.hosts[host]
        if there.wanted and there.powered:
            self.world.restart(host)

    def audit(self, world: World) -> None:
        """Compare what clients know with what is committed, before and after a restart of all."""
        self.rest()
        self.judges.compare_history(self.written, self.committed_values)
        self.quiet(self.all_living())
        for host in self.hosts:
            world.cut_power(host, "block")
        for host in self.hosts:
            world.restart(host)
        self._healing = Healing(self, self.hosts, for_core=False)
        if not world.run_until(self._healing.is_over, self.plan.phases.recovery_ms):
            world.found(Violation("RL-1", "after a restart of everything nobody works"))
        self.rest()
        self.judges.compare_history(self.written, self.committed_values)

    def rest(self) -> None:
        """Let everybody finish what was begun, and then everybody hear of it.

        A sync that was begun while a disk stalled goes on after the heal, for as long as it was
        drawn; and a slow disk takes its time for what clients wrote once somebody led again.
        """
        self.world.run_until(self.is_calm, self.plan.phases.quiesce_ms + SLACK_MS)
        self.world.run_ms(self.plan.phases.quiesce_ms)
        self.world.run_until(self.is_calm, self.plan.phases.quiesce_ms + SLACK_MS)

    def is_calm(self) -> bool:
        """Tell whether nobody is still busy: with a snapshot, say, or with a client's write."""
        waits = any(each.is_open for each in self.written)
        return not waits and all(each.is_calm for each in self.all_living())

    # --- disks that are lost -------------------------------------------------------------------

    def _may_lose(self, host: str) -> bool:
        """Tell whether a host may lose its disk, and if so, count it as lost."""
        if host.startswith("n") and (self.is_static or self._unreachable()):
            return False
        key = key_of(host, self.disks[host])
        for voters in self.judges.voter_sets():
            ids = [voter.key for voter in voters.voters]
            gone = [each for each in ids if each in self._lost or each == key]
            if key in ids and len(gone) > (len(voters) - 1) // 2:
                return False
        self._lost[key] = None
        self.disks[host] += 1
        self.judges.lost(key)
        return True

    # --- clients and an administrator ----------------------------------------------------------

    def living(self, host: str) -> MemberT | None:
        """Return the member that runs on a host, if it has begun."""
        process = self.world.hosts[host].process
        return None if process is None else self.members.get(process.name)

    def all_living(self) -> list[MemberT]:
        """Return every member that runs."""
        return [each for host in self.hosts if (each := self.living(host)) is not None]

    def claimants(self) -> list[MemberT]:
        """Return everybody alive who says that it leads."""
        return [each for each in self.all_living() if each.leads is not None]

    def input(self, member: MemberT, call: Callable[..., None], *facts: object) -> Process:
        """Let something reach a process from outside."""
        process = self.world.hosts[member.name.partition(".")[0]].process
        assert process is not None, f"{member.name} is dead"
        process.loop.input(call, *facts)
        return process

    def write(self, key: str, texts: tuple[str, ...], chooser: int, tries: int = TRIES) -> Written:
        """Let a client write values at somebody who leads, as soon as there is somebody."""
        written = Written(texts)
        self.written.append(written)
        self._try_write(written, key, chooser, tries)
        return written

    def _try_write(self, written: Written, key: str, chooser: int, tries: int) -> None:
        claimants = self.claimants()
        if claimants:
            member = claimants[chooser % len(claimants)]

            def end(what: str) -> None:
                written.end = what

            written.process = self.input(member, member.write, key, written.texts, end)
        elif tries:
            again = partial(self._try_write, written, key, chooser, tries - 1)
            self.world.later(RETRY_MS, again)
        else:
            written.end = "refused"

    def perform(self, operation: Operation) -> None:
        """Let people do what a plan says."""
        match operation.what, operation.arguments:
            case "add", (str(host), int(chooser)):
                self._add(host, chooser)
            case "remove", (str(host), int(chooser)):
                self._remove(host, chooser)
            case "move", (str(host),):
                self._move(host)
            case "slow", (str(host), int(delay_ms), int(for_ms)):
                self._slow[host] = delay_ms
                self.world.later(for_ms, partial(self._quicken, host))
            case "mistake", (str(host), int(kind)):
                self._mistake(host, kind)
            case ("hurry" | "resign") as what, (str(host),):
                member = self.living(host)
                if member is not None:
                    self.input(member, getattr(member, what))
            case what, arguments:
                raise AssertionError(f"nobody knows how to {what} with {arguments}")

    def _mistake(self, host: str, kind: int) -> None:
        """Ask in the name of another cluster, for a vote or for records."""
        member = self.living(host)
        if member is None:
            return
        name = member.name

        def end(response: Response, happened: bool) -> None:
            self.judges.mistaken(name, getattr(response, "error_code", 0), happened)

        vote = VoteRequest(cluster_id=STRANGE, topics=[VoteRequest.TopicData()])
        request: Request = vote if kind == 0 else FetchRequest(cluster_id=STRANGE)
        self.input(member, member.mistake, request, 2 if kind == 0 else 17, end)

    def _quicken(self, host: str) -> None:
        self._slow.pop(host, None)

    def _add(self, host: str, chooser: int) -> None:
        """Add a controller with the disk that it has now; ask whoever leads, claimed or not."""
        leaders = self.leaders(self.hosts)
        if self.is_static or not leaders:
            return
        part = self.part_of(host)
        key, endpoint = part.config.key, part.config.endpoints[0]
        request = AddRaftVoterRequest(
            cluster_id=CLUSTER,
            timeout_ms=part.config.request_timeout_ms,
            voter_id=key.id,
            voter_directory_id=key.directory_id,
            listeners=[
                AddRaftVoterRequest.Listener(
                    name=endpoint.listener, host=endpoint.host, port=endpoint.port
                )
            ],
            ack_when_committed=chooser % 2 == 0,
        )
        self._administer(leaders[chooser % len(leaders)], request, "added")

    def _remove(self, host: str, chooser: int) -> None:
        """Remove whoever votes with a host's id, if enough others that have their disks stay."""
        leaders = self.leaders(self.hosts)
        if self.is_static or not leaders or self._unreachable():
            return
        leader = leaders[chooser % len(leaders)]
        voter = leader.quorum.node.voters.current.by_id(id_of(host))
        if voter is None:
            return
        for voters in self.judges.voter_sets():
            left = [each.key for each in voters.voters if each.key != voter.key]
            whole = [key for key in left if key not in self._lost]
            if len(whole) <= len(left) // 2:
                return
        request = RemoveRaftVoterRequest(
            cluster_id=CLUSTER,
            voter_id=voter.key.id,
            voter_directory_id=voter.key.directory_id,
        )
        self._administer(leader, request, "removed")

    def _administer(self, leader: MemberT, request: Request, done: str) -> None:
        def end(response: Response) -> None:
            error = ErrorCode(getattr(response, "error_code", 0))
            self.judges.administered(request, error)
            self.world.note(f"{done}: {error.name}")

        self.input(leader, leader.administer, request, 0, end)

    def _move(self, host: str) -> None:
        """Let a controller listen elsewhere from its next life on; one after the other."""
        claimants = self.claimants()
        if self.is_static or not claimants or self._unreachable():
            return
        voters = claimants[-1].quorum.node.voters.current
        away = self.plan.core or any(voter.key in self._lost for voter in voters.voters)
        if len(voters) < 3 or away:
            # Those that are left would have nobody to turn to: who has the longest log may be the
            # one that does not know the new address, and only it can be elected.
            return
        self.ports[host] += 1
        self.world.kill(host)
        self.world.later(SUPERVISED_MS, partial(self._supervise, host))

    def _unreachable(self) -> bool:
        """Tell whether somebody goes by an address where a voter does not listen any more."""
        sets = self.judges.voter_sets()
        return not all(self.is_found(voter) for voters in sets for voter in voters.voters)

    def is_found(self, voter: Voter) -> bool:
        """Tell whether a voter listens where a set of voters says."""
        ports = {id_of(host): port for host, port in self.ports.items()}
        return all(endpoint.port == ports[voter.key.id] for endpoint in voter.endpoints)

    # --- what others want to know --------------------------------------------------------------

    def leaders(self, hosts: Sequence[str]) -> list[MemberT]:
        """Return those of some hosts that lead, the newest epoch last."""
        found = [each for each in self.all_living() if host_of(each) in hosts]
        leading = [each for each in found if isinstance(each.quorum.node.state, Leader)]
        return sorted(leading, key=lambda each: each.quorum.node.epoch)


def host_of(member: Member) -> str:
    """Return where a process runs."""
    return member.name.partition(".")[0]
