"""Guards, and the rules: all of them in force, or all but some.

Each specification names its guards in an enumeration whose texts complete "because it must be
that ...".  An action asks the rules for its guards, first to last, and is ``Blocked`` by the first
that does not hold.  A guard that is *lifted* always holds: that is how a guard is shown to matter,
since a port whose properties survive the loss of a guard has not ported that guard.

    blocked = rules.blocked(
        (Guard.LEADS, node.role is Role.LEADER),
        (Guard.OWN_EPOCH, to > node.epoch_start),
    )
    if blocked is not None:
        return blocked
"""

from enum import StrEnum

from barnabas.model.value import value


@value
class Blocked:
    """An action is not enabled, and this is why."""

    guard: StrEnum

    def __str__(self) -> str:
        return f"blocked, because it must be that {self.guard.value}"


@value
class Rules:
    """All guards, less those that are lifted to see what happens."""

    lifted: frozenset[StrEnum] = frozenset()

    def demand(self, guard: StrEnum) -> bool:
        """Tell whether a guard is in force."""
        return guard not in self.lifted

    def blocked(self, *guards: tuple[StrEnum, bool]) -> Blocked | None:
        """Return the first guard in force that does not hold, or None."""
        for guard, holds in guards:
            if not holds and guard not in self.lifted:
                return Blocked(guard)
        return None
