"""Which fields of a struct a version carries, and how: the declaration, seen from one version.

This is the one place that knows Kafka's rules of evolution; the two writers of code
(``decoding.py``, ``encoding.py``) see only their result:

- a field travels in its place if the version is among its ``versions`` and not among its
  ``tagged`` ones; as a tag, behind the rest, if it is among both; else not at all;
- a flexible version writes lengths as unsigned varints of length + 1 and ends every struct with
  its tags; an older one writes int16 or int32 lengths, and -1 for null (KIP-482);
- a version may be below what ``nullable`` allows, and then null has no form.
"""

from collections.abc import Iterator
from functools import cache

from barnabas.wire.structs import ArrayOf, Blob, Field, Kind, Message, Scalar, Struct, StructOf

LAST = 32767
"""Versions are int16 on the wire; ``3+`` means 3 to this."""


def parse_versions(text: str) -> range:
    """Read a version range as Kafka writes it: ``none``, ``4``, ``0-3`` or ``12+``."""
    if text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), LAST + 1)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def valid_versions(message: type[Message]) -> range:
    """Say which versions of a message there have ever been."""
    return parse_versions(message.VERSIONS)


def is_flexible(message: type[Message], version: int) -> bool:
    """Say whether a version has tagged fields and compact lengths."""
    return version in parse_versions(message.FLEXIBLE)


class Carried:
    """A field as one version carries it."""

    __slots__ = ("compact", "declared", "kind", "name", "nullable", "tag")

    def __init__(self, name: str, declared: Field, version: int, compact: bool, tag: int) -> None:
        self.name = name
        self.declared = declared
        self.kind = declared.kind
        self.nullable = version in parse_versions(declared.nullable)
        self.compact = (
            version in parse_versions(declared.flexible) if declared.flexible else compact
        )
        self.tag = tag


class Layout:
    """A struct at one version."""

    __slots__ = ("absent", "flexible", "in_place", "later_tags", "struct", "tagged", "version")

    def __init__(self, struct: type[Struct], version: int) -> None:
        self.struct = struct
        self.version = version
        self.flexible = is_flexible(struct.MESSAGE, version)
        self.in_place: list[Carried] = []
        self.tagged: list[Carried] = []
        self.absent: list[str] = []
        self.later_tags: list[int] = []
        """Tags of this struct that this version must not use: Kafka refuses them."""
        for name, declared in struct.FIELDS.items():
            if version not in parse_versions(declared.versions):
                self.absent.append(name)
                if declared.tag >= 0:
                    self.later_tags.append(declared.tag)
            elif version in parse_versions(declared.tagged):
                self.tagged.append(Carried(name, declared, version, self.flexible, declared.tag))
            else:
                self.in_place.append(Carried(name, declared, version, self.flexible, -1))
        self.tagged.sort(key=lambda carried: carried.tag)

    def inner(self, kind: StructOf) -> "Layout":
        """Look up a struct of the same message, at the same version."""
        return Layout(getattr(self.struct.MESSAGE, kind.name), self.version)

    def all_kinds(self) -> Iterator[Kind]:
        """Yield the kind of everything in this struct and below."""
        for carried in (*self.in_place, *self.tagged):
            kind = carried.kind.element if isinstance(carried.kind, ArrayOf) else carried.kind
            yield kind
            if isinstance(kind, StructOf):
                yield from self.inner(kind).all_kinds()

    def has_views(self) -> bool:
        """Say whether decoding leaves views of the received buffer."""
        return any(isinstance(kind, Blob) and kind.name in VIEWS for kind in self.all_kinds())


VIEWS = frozenset({"view", "batches"})


@cache
def may_be_large(message: type[Message]) -> bool:
    """Say whether a message may hold record data, so that its parts are worth keeping apart."""
    newest = Layout(message, valid_versions(message).stop - 1)
    return newest.has_views()


def least_bytes(layout: Layout) -> int:
    """Work out the smallest size of a struct: what bounds an array of them by its frame."""

    def least(carried: Carried) -> int:
        match carried.kind:
            case Scalar(size=size):
                return size
            case StructOf() as kind:
                return 1 if carried.nullable else least_bytes(layout.inner(kind))
            case Blob(name="string"):
                return 1 if carried.compact else 2
            case Blob() | ArrayOf():
                return 1 if carried.compact else 4

    return sum(map(least, layout.in_place)) + (1 if layout.flexible else 0)
