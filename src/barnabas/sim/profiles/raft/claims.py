"""What a state machine on the log is told: R-08 as it is handed over, R-26, R-28's content."""

from typing import Final, Protocol

from barnabas.raft.effects import AppendRecords
from barnabas.raft.states import Leader, Resigned
from barnabas.sim.profiles.raft.drive import Keeper
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step
from barnabas.sim.profiles.raft.table import Tables
from barnabas.sim.world import Violation


class HandedOver(Oracle):
    """R-08, M-02, M-03: a listener is handed what is committed, all of it, once and in order.

    After every batch its table is the one that the committed records make.
    """

    def __init__(self, ghost: Ghost, tables: Tables) -> None:
        self._ghost: Final = ghost
        self._tables: Final = tables

    def listened(self, life: Life, keeper: Keeper) -> None:
        """Look at a table after a batch or a snapshot."""
        offset = keeper.offset
        if offset > life.node.high_watermark:
            story = f"{life} hands over {offset}, committed is below {life.node.high_watermark}"
            raise Violation("R-08", story, "handed over too early")
        due = self._tables.at.get(offset)
        if due is None:
            if offset <= self._ghost.committed_end:
                raise Violation("R-08", f"{life}: no batch ends at {offset}", "half a batch")
            return
        found = keeper.states.committed
        if found.digest != due.digest or dict(found.rows) != dict(due.rows):
            story = f"{life} at {offset}: {found}, the committed records make {due}"
            raise Violation("R-08", story, "another table")


class Claimant(Protocol):
    """Whoever writes at the log's leader, and is told when it may."""

    @property
    def offset(self) -> int:
        """Everything below it was handed over."""
        ...

    @property
    def known(self) -> tuple[int | None, int] | None:
        """The leader and epoch that it was told."""
        ...

    @property
    def leads(self) -> int | None:
        """The epoch in which it writes, and has not resigned."""
        ...


class ClaimProtocol(Oracle):
    """R-26, R-25: a listener is told that it leads when it has everything, once, and then appends.

    Everything is every record before its epoch and the epoch's first; until it has resigned it is
    not told again; its records land where that was promised.
    """

    def __init__(self) -> None:
        self._claimed: Final[dict[Life, list[int]]] = {}

    def told(self, life: Life, keeper: Claimant) -> None:
        """Look at what a listener has just been told of who leads."""
        assert keeper.known is not None
        leader_id, epoch = keeper.known
        if leader_id != life.key.id:
            return
        state = life.node.state
        if not isinstance(state, Leader):
            story = f"{life} is {state}, and its listener is told that it leads {epoch}"
            raise Violation("R-25", story, "told to lead without leading")
        if state.epoch != epoch or keeper.offset <= state.start_offset:
            story = f"{life} is {state}, its listener at {keeper.offset} is told it leads {epoch}"
            raise Violation("R-26", story, "told to lead too early")
        claimed = self._claimed.setdefault(life, [])
        if epoch in claimed:
            raise Violation("R-26", f"{life} claims {epoch} twice: {claimed}", "claimed twice")
        if keeper.leads is not None:
            story = f"{life} claims {epoch} and has not resigned {keeper.leads}"
            raise Violation("R-26", story, "claimed without resigning")
        claimed.append(epoch)

    def caught_up(self, life: Life, known: tuple[int | None, int] | None, offset: int) -> None:
        """Look at a listener when all is quiet: it knows who leads, and has everything."""
        node = life.node
        leads = node.leader_id if not isinstance(node.state, Resigned) else None
        if known != (leads, node.epoch) or offset < node.high_watermark:
            story = (
                f"{life} is {node.state} and has committed {node.high_watermark}; a listener at "
                f"{offset} knows {known}"
            )
            raise Violation("R-26", story, "a listener was forgotten")

    def step(self, step: Step) -> None:
        for effect in step.effects:
            match effect:
                case AppendRecords(base, epoch):
                    if epoch not in self._claimed.get(step.life, []):
                        story = f"{step.life} appends in {epoch}, which nobody has claimed"
                        raise Violation("R-26", story, "appended without a claim")
                    if base != step.before.end:
                        story = f"{step.life} appends at {base}, promised was {step.before.end}"
                        raise Violation("R-26", story, "another offset")
                case _:
                    pass
