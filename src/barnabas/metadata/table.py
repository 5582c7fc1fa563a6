"""A map that is never written to, of which a changed copy costs a thousandth of the whole.

    Table ──▶ list of 1,024 shards ──▶ dict, dict, dict …
                    │ copied if anything changes   │ copied if one of its entries changes

An image must stay what it is while the next one is made, and one change among a million entries
must not copy a million of anything.  Of the ways to have both that were measured (a tree of hashes,
persistent vectors, columns of numbers), plain dicts in shards were nearly as fast as the fastest,
took half the memory, left the garbage collector least to look at, and need no package.

``changed`` and ``difference`` are each other's inverse: the first makes a map from a map and what
became of some of its entries, the second says what became of the entries between two maps.  A value
of None means that the entry is gone.  Small maps, such as that of brokers, are plain dicts; both
functions take either.

The order of iteration does not depend on how a table came to be: shard by shard, and sorted within.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast
from zlib import crc32

K = TypeVar("K")
V = TypeVar("V")

SHARDS: Final = 1024
NOTHING: Final[dict[Any, Any]] = {}
"""What every empty shard is."""


def by_tail(key: bytes) -> int:
    """Place a key by its last bits: those of a random id are random."""
    return (key[-2] << 8 | key[-1]) % SHARDS


def by_last_byte(key: bytes) -> int:
    """Place a key in one of 256 shards, by its last byte: for tables of which there are many."""
    return key[-1]


def by_text(key: str) -> int:
    """Place a key by its checksum, which is the same in every process."""
    return crc32(key.encode()) % SHARDS


class Table(Mapping[K, V]):
    """An immutable map."""

    __slots__ = ("_count", "_order", "_place", "_shards")

    def __init__(
        self,
        place: Callable[[K], int],
        order: Callable[[K], Any] | None = None,
        shards: int = SHARDS,
    ) -> None:
        self._place = place
        self._order = order
        self._shards: list[dict[K, V]] = [NOTHING] * shards
        self._count = 0

    def __getitem__(self, key: K) -> V:
        return self._shards[self._place(key)][key]

    def get(self, key: K, default: Any = None) -> Any:  # noqa: ANN401 -- as Mapping has it
        """Return what is there, or the default."""
        return self._shards[self._place(key)].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._shards[self._place(cast(K, key))]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        for shard in self._shards:
            if shard:
                yield from sorted(shard, key=self._order) if len(shard) > 1 else shard  # type: ignore[type-var, arg-type]  # -- whoever places keys can also sort them

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Table):
            return self._shards == other._shards
        return dict(self.items()) == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # -- what it holds may not be hashable

    def __repr__(self) -> str:
        return f"Table({dict(self)!r})"

    def changed(self, changes: Mapping[K, V | None]) -> "Table[K, V]":
        """Return a table with some entries put, replaced or removed."""
        if not changes:
            return self
        made: Table[K, V] = Table.__new__(Table)
        made._place, made._order = self._place, self._order
        before, shards, count = self._shards, self._shards.copy(), self._count
        for key, value in changes.items():
            place = self._place(key)
            shard = shards[place]
            if shard is before[place]:
                shard = shards[place] = shard.copy()
            if value is not None:
                count += key not in shard
                shard[key] = value
            elif key in shard:
                count -= 1
                del shard[key]
        made._shards, made._count = shards, count
        return made

    def difference(self, later: "Table[K, V]") -> dict[K, V | None]:
        """Return what became of the entries that a later table has otherwise, or not at all."""
        changes: dict[K, V | None] = {}
        for before, after in zip(self._shards, later._shards, strict=True):
            if before is not after:
                changes |= difference(before, after)
        return changes


def changed(before: Mapping[K, V], changes: Mapping[K, V | None]) -> Mapping[K, V]:
    """Return a map with some entries put, replaced or removed."""
    if isinstance(before, Table):
        return before.changed(changes)
    if not changes:
        return before
    if not before:
        return {key: value for key, value in changes.items() if value is not None}
    after = dict(before)
    for key, value in changes.items():
        if value is not None:
            after[key] = value
        else:
            after.pop(key, None)
    return after


def difference(before: Mapping[K, V], after: Mapping[K, V]) -> dict[K, V | None]:
    """Return what became of the entries that are not the same any more."""
    if isinstance(before, Table) and isinstance(after, Table):
        return before.difference(after)
    changes: dict[K, V | None] = {key: None for key in before if key not in after}
    changes |= {key: value for key, value in after.items() if before.get(key) != value}
    return changes
