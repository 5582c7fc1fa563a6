"""One machine on its way to lead epoch 5, by events alone, and what happens to it."""

from barnabas.model.errors import ErrorCode
from barnabas.raft.config import RaftConfig
from barnabas.raft.effects import Ask, Effect
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    Event,
    Flushed,
    Started,
    TimerFired,
)
from barnabas.raft.messages import Fetch, Standing, Vote, VoteAnswer
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Outline
from barnabas.raft.states import Election
from barnabas.raft.voters import (
    RECONFIGURABLE,
    STATIC,
    Endpoint,
    History,
    ReplicaKey,
    Voter,
    VoterSet,
)
from tests.raft.words import directory

OURS = ReplicaKey(1, directory("a"))
OTHER = ReplicaKey(2, directory("b"))
LOST = ReplicaKey(2, directory("z"))
BROKER = ReplicaKey(7, directory("g"))


def place(port: int) -> Endpoint:
    """Return where a voter is reached."""
    return Endpoint("CONTROLLER", "here", port)


def voter(key: ReplicaKey, port: int) -> Voter:
    """Return a voter of a version that has nothing to say that its log does not."""
    return Voter(key, (place(port),), (STATIC, RECONFIGURABLE))


VOTERS = VoterSet.of([voter(OURS, 1), voter(OTHER, 2)])


class Quorum:
    """A replica on its way to lead epoch 5, and what happens to it."""

    def __init__(self, voters: VoterSet = VOTERS, version: int = RECONFIGURABLE) -> None:
        history = History(voters, version)
        if version == RECONFIGURABLE:
            history.add_version(1, version)
            history.add_voters(2, voters)
        config = RaftConfig(OURS, "the-cluster", (place(1),))
        self.node = RaftNode(config, Election(4), Outline(0, 29, [(4, 0)]), history)
        self.effects: list[Effect] = []
        self.happen(Started(), 6_000)

    def happen(self, event: Event, now_ms: int) -> None:
        """Let something happen."""
        self.effects = self.node.step(event, now_ms)

    def elect(self) -> "Quorum":
        """Let it be elected; its epoch begins at 29, and it has flushed that."""
        self.happen(TimerFired(Alarm.ELECTION), 7_000)
        while asks := [it for it in self.effects if isinstance(it, Ask) and is_vote(it)]:
            standing = Standing(ErrorCode.NONE, self.node.epoch, None, ())
            self.happen(Answered(asks[0].request, VoteAnswer(standing, True)), 7_000)
        self.happen(Flushed(0, 30), 7_000)
        return self

    def fetch(self, replica: ReplicaKey, offset: int, now_ms: int) -> None:
        """Let somebody fetch who has everything below an offset."""
        epoch = 5 if offset > 29 else 4
        self.happen(Asked(1, Fetch(replica, 5, offset, epoch, 0, 0, 1_000)), now_ms)


def is_vote(ask: Ask) -> bool:
    """Tell whether a vote is asked for."""
    return isinstance(ask.question, Vote)


def leader(voters: VoterSet = VOTERS, version: int = RECONFIGURABLE) -> Quorum:
    """Return a leader that has committed something, and is fetched from."""
    quorum = Quorum(voters, version).elect()
    quorum.fetch(OTHER, 30, 7_500)
    quorum.fetch(BROKER, 30, 8_000)
    quorum.happen(AppendAsked(3), 8_500)
    quorum.fetch(BROKER, 31, 9_000)
    quorum.fetch(OTHER, 30, 9_500)
    return quorum
