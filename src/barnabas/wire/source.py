"""Source code in the making: lines, indentation, and the constants the lines speak of."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct as Packer
from typing import Any


class Source:
    """A function being written; its globals hold every object the code needs by name."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.names = names
        self.depth = 0

    def line(self, text: str) -> None:
        """Add a line at the present indentation."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line and indent what is written inside."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def constant(self, value: object, name: str) -> str:
        """Return how the code says a value: as a literal, or as a global of this name."""
        if value is None or isinstance(value, bool | int | str) or value == ():
            return repr(value)
        self.names[name] = value
        return name

    def packer(self, codes: str, action: str) -> str:
        """Return the name of a ready ``pack`` or ``unpack_from`` for these codes."""
        name = f"{action}_{codes.replace('?', 'o')}"
        if name not in self.names:
            self.names[name] = getattr(Packer(">" + codes), action)
        return name

    def text(self) -> str:
        """Return what was written."""
        return "\n".join(self.lines) + "\n"


def size_of(codes: str) -> int:
    """Say how many bytes these codes take."""
    return Packer(">" + codes).size


def snake(name: str) -> str:
    """Spell a class as a variable: ``FetchTopic`` becomes ``fetch_topic``."""
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)[1:]
