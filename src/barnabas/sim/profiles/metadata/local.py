"""What an update means to one broker, found out the long way: the twin of ``local_changes`` (M-10).

It compares what every partition was with what it is, by the reference, and knows of no delta.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.metadata.local_changes import LocalChanges
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.metadata.reference import Partition, Reference, spelled

Place = tuple[Uuid, int]


class Due(NamedTuple):
    """What must have changed for a broker."""

    deletes: frozenset[Place]
    leaders: frozenset[Place]
    elected: frozenset[Place]
    followers: frozenset[Place]
    directories: Mapping[Place, Uuid]


def due(reference: Reference, after: int, upto: int, broker_id: int) -> Due:
    """Return what the records behind one offset, up to another, mean to a broker."""
    deletes: dict[Place, None] = {}
    leaders: dict[Place, None] = {}
    elected: dict[Place, None] = {}
    followers: dict[Place, None] = {}
    directories: dict[Place, Uuid] = {}
    keys = {change.key: None for change in reference.changed(after, upto)}
    for key in keys:
        if key[0] != "partition":
            continue
        place = key[1], key[2]
        before: Partition | None = reference.at(key, after)
        now: Partition | None = reference.at(key, upto)
        had = before is not None and broker_id in before.replicas
        if now is None or broker_id not in now.replicas:
            if had:
                deletes[place] = None
            continue
        if now == before:
            continue
        if now.leader != broker_id:
            followers[place] = None
        else:
            leaders[place] = None
            if before is None or before.leader_epoch != now.leader_epoch:
                elected[place] = None
        where = now.directories[now.replicas.index(broker_id)]
        was = before.directories[before.replicas.index(broker_id)] if before and had else None
        if where != was:
            directories[place] = where
    return Due(
        frozenset(deletes), frozenset(leaders), frozenset(elected), frozenset(followers),
        directories,
    )  # fmt: skip


PARTS: Final = ("deletes", "leaders", "elected", "followers", "directories")


def objection(told: LocalChanges, must: Due) -> str:
    """Say how what a broker was told differs from what it must be told; nothing if it does not."""
    found = Due(
        frozenset((each.topic_id, each.partition) for each in told.deletes),
        frozenset((each.topic_id, each.partition) for each in told.leaders),
        frozenset((each.topic_id, each.partition) for each in told.elected),
        frozenset((each.topic_id, each.partition) for each in told.followers),
        {(each.topic_id, each.partition): where for each, where in told.directories.items()},
    )
    for name in PARTS:
        has, due_here = getattr(found, name), getattr(must, name)
        if has != due_here:
            return f"{name} are {places(has)}, must be {places(due_here)}"
    return ""


def places(found: frozenset[Place] | Mapping[Place, Uuid]) -> str:
    """Return places as people read them."""
    return ", ".join(sorted(spelled(place) for place in found)) or "none"
