"""One quorum of the ``raft`` profile: the stage, and on it a replicated table and its clients."""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.records.opened import OpenedBatch
from barnabas.runtime.runtime import Runtime
from barnabas.sim.plan import Operation, Plan
from barnabas.sim.process import Process
from barnabas.sim.profiles.raft.drive import Controller, Keeper, PoisonedError, live
from barnabas.sim.profiles.raft.judges import TableJudges
from barnabas.sim.profiles.raft.mutants import plant
from barnabas.sim.profiles.raft.stage import Stage
from barnabas.sim.world import World


class RaftScene(Stage[Controller]):
    """A quorum with a table on its log, and those who use it."""

    def __init__(self, world: World, plan: Plan) -> None:
        plant(plan.mutant)
        super().__init__(world, plan)
        self._poisoned: Final[dict[str, None]] = {}
        self._judges: Final = TableJudges(
            world,
            self.first_voters(),
            plan.knob("snapshot_bytes", 4_096),
            # The specification knows every replica by its directory.
            traces=plan.knob("traces", 1) == 1 and not self.is_static,
        )
        self.start()

    @property
    def judges(self) -> TableJudges:
        """The oracles."""
        return self._judges

    @property
    def committed_values(self) -> Mapping[str, int]:
        """What the table ever held, and since when."""
        return self._judges.tables.values

    async def live(self, host: str, runtime: Runtime) -> None:
        """Be a replica of the table."""
        await live(runtime, self.part_of(host), self)

    # --- what processes say: ``drive.Audience`` ------------------------------------------------

    def born(self, name: str, controller: Controller) -> None:
        """Learn of a process that is about to begin."""
        self.meet(name, controller)

    def listened(self, name: str, keeper: Keeper, what: str) -> None:
        """Let the oracles hear what a listener was told."""
        self._judges.listened(name, keeper, what)

    def is_poisoned(self, name: str, committed: OpenedBatch) -> bool:
        """Tell whether a replay fails; the same record can be replayed by the next life."""
        return self._poisoned.pop(name.partition(".")[0], "no") is None

    # --- what people do ------------------------------------------------------------------------

    def perform(self, operation: Operation) -> None:
        """Write, spoil a record, or do what people do to any quorum."""
        match operation.what, operation.arguments:
            case "write", (str(key), int(size), int(count), int(chooser)):
                number = len(self.written)
                pad = "." * size
                texts = tuple(f"{number}:{at}:{pad}" for at in range(count))
                self.write(key, texts, chooser)
            case "poison", (str(host),):
                self._poisoned[host] = None
            case _:
                super().perform(operation)

    # --- ``Stage`` -----------------------------------------------------------------------------

    def healed(self, hosts: Sequence[str]) -> None:
        """Spoil nothing any more, and hold the hosts to their promises."""
        self._poisoned.clear()
        super().healed(hosts)

    def forgives(self, process: Process, error: BaseException | None) -> bool:
        """Forgive a record that could not be replayed, too."""
        return isinstance(error, PoisonedError) or super().forgives(process, error)

    def quiet(self, members: Sequence[Controller]) -> None:
        """Look at the tables, and at who keeps them."""
        self._judges.quiet(members)
