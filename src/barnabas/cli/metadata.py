"""``barnabas metadata``: what the cluster was at any offset, what changed, and why.

    barnabas metadata --directory DIR image                       the image, as a tree of paths
    barnabas metadata --directory DIR image --at 812 --path /topics/orders/0
    barnabas metadata --directory DIR diff 812 902                what changed between two offsets
    barnabas metadata --directory DIR explain orders-0            why it is led by whom it is
    barnabas metadata --directory DIR brokers 2                   the lives of a broker
    barnabas metadata --bootstrap-controller host:9093 …          the same of a running quorum

The directory is ours or Apache Kafka's, of a process that is dead or at work, and the quorum, too,
is of either kind.  Paths are those of Kafka's metadata shell, and may hold ``*`` and ``?``;
``/image`` in front may be left out, and ``/topics/NAME`` is short for ``/topics/byName/NAME``.
Secrets are hidden unless ``--secrets`` asks for them.

The answer is on the standard output, what has to be known about it on the standard error; with
``--json`` both are in one object.  The exit code is 1 if there is no answer.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Final, Protocol

from barnabas.cli.metadata_quorum import addresses
from barnabas.cli.metadata_source import Files, in_directory, in_quorum
from barnabas.cli.printing import print_lines
from barnabas.cli.record_contents import Json
from barnabas.host.disk import HostDisk
from barnabas.metadata.changes import directory_text, listed
from barnabas.metadata.differences import Difference, differences
from barnabas.metadata.explain import Change, explain
from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.history import Reach, Unreachable, image_at, images_at, reach
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.metadata.lives import Life, lives
from barnabas.metadata.paths import (
    AS_OPERATOR,
    Directory,
    Node,
    Path,
    View,
    provenance_text,
    time_text,
    tree,
)
from barnabas.metadata.topics import NO_LEADER, RECOVERED, PartitionRegistration
from barnabas.model.errors import CorruptLog, Misconfigured, Refused
from barnabas.model.ids import uuid_text
from barnabas.model.value import value

LOOKS_MAX: Final = 5
"""How often a directory is looked at again that changes under one's eyes."""

NEIGHBOURS_MAX: Final = 8
"""How many names are told where there is none of the one that was asked for."""


class Answer(Protocol):
    """What was found, for people and for programs; nothing of it is read any more."""

    @property
    def notes(self) -> Sequence[str]:
        """What has to be known about it."""
        ...

    def lines(self) -> Iterator[str]:
        """Yield lines for people."""
        ...

    def as_json(self) -> dict[str, Json]:
        """Return the same for programs."""
        ...


def main(words: Sequence[str]) -> int:
    """Answer what was asked; 1 if it cannot be answered."""
    asked = parser().parse_args(words)
    try:
        answer, known = looked(asked)
    except (CorruptLog, Misconfigured, Refused, Unreachable, OSError, ValueError) as why:
        print(f"barnabas metadata: {why}", file=sys.stderr)
        return 1
    if asked.json:
        told = json.dumps({**known.as_json(), **answer.as_json()}, ensure_ascii=False)
        print_lines([told])
        return 0
    for note in known.notes:
        print(f"barnabas metadata: {note}", file=sys.stderr)
    print_lines(answer.lines())
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the commands and options there are."""
    made = argparse.ArgumentParser(
        prog="barnabas metadata",
        description="Look into the metadata of a cluster, at any offset that can be reached.",
    )
    places = made.add_mutually_exclusive_group(required=True)
    places.add_argument(
        "--directory", metavar="DIR", help="of a node's metadata log, or where that lies"
    )
    places.add_argument(
        "--bootstrap-controller", metavar="HOST:PORT,…", help="controllers to begin with"
    )
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument("--secrets", action="store_true", help="show keys and passwords too")
    commands = made.add_subparsers(dest="command", required=True)
    image = commands.add_parser("image", help="what the cluster is, or was at an offset")
    image.add_argument("--at", type=int, metavar="OFFSET", help="the last one unless told")
    image.add_argument(
        "--path", nargs="+", default=[], metavar="PATH", help="only what is here; with * and ?"
    )
    diff = commands.add_parser("diff", help="what changed from one offset to another")
    diff.add_argument("a", type=int, metavar="A", help="an offset")
    diff.add_argument("b", type=int, metavar="B", help="another, before or behind it")
    why = commands.add_parser("explain", help="what changed a partition's leader and ISR, and why")
    why.add_argument("partition", metavar="TOPIC-PARTITION", help="orders-0, for example")
    brokers = commands.add_parser("brokers", help="the lives of brokers")
    brokers.add_argument("id", nargs="?", type=int, metavar="ID", help="only of this one")
    return made


@value
class Known:
    """What has to be known about an answer."""

    reach: Reach
    committed: int
    """Everything below it is known to be committed."""
    notes: Sequence[str]

    def as_json(self) -> dict[str, Json]:
        """Return it for programs."""
        return {
            "firstOffset": self.reach.first,
            "lastOffset": self.reach.last,
            "committedBelow": self.committed,
            "notes": list(self.notes),
        }


def looked(asked: argparse.Namespace) -> tuple[Answer, Known]:
    """Look, and look again where files went away meanwhile; return what was found."""
    for left in reversed(range(LOOKS_MAX)):
        try:
            with files_of(asked) as files:
                answer = answered(asked, files)
                notes = (*files.notes, *answer.notes)
                return answer, Known(reach(files), files.committed, notes)
        except FileNotFoundError as error:
            # Without a name it is no file that went: there is nothing to be looked at.
            if error.filename is None or not left:
                raise
    raise AssertionError("the last look ends one way or the other")


def files_of(asked: argparse.Namespace) -> AbstractContextManager[Files]:
    """Return where the history is."""
    if asked.directory is not None:
        return in_directory(HostDisk(), asked.directory)
    return in_quorum(addresses(asked.bootstrap_controller))


def answered(asked: argparse.Namespace, files: Files) -> Answer:
    """Answer; ``CorruptLog`` names the file in which a record is that cannot be understood."""
    view = View(secrets=asked.secrets, unnamed=AS_OPERATOR.unnamed)
    try:
        match asked.command:
            case "image":
                at = reach(files).last if asked.at is None else asked.at
                return Shown.of(image_at(files, at), at, view, asked.path)
            case "diff":
                before, after = images_at(files, asked.a, asked.b)
                return Changed(
                    before.provenance,
                    after.provenance,
                    (asked.a, asked.b),
                    tuple(differences(before, after, view)),
                )
            case "explain":
                return Explained.of(files, asked.partition)
            case _:
                return Lived.of(files, asked.id)
    except Unfoldable as unfoldable:
        raise CorruptLog(f"{files.reading}: {unfoldable}") from unfoldable


# --- image ---------------------------------------------------------------------------------------


@value
class Shown:
    """An image, or some places in it."""

    place: Provenance
    asked_for: int
    found: tuple[tuple[Path, Node], ...]

    @property
    def notes(self) -> Sequence[str]:
        """That there is no image of the very offset, if so."""
        return inside(self.asked_for, self.place)

    @staticmethod
    def of(image: MetadataImage, asked_for: int, view: View, wanted: Sequence[str]) -> "Shown":
        """Return what is at some paths; everything if none is named."""
        root = tree(image, view)
        found: dict[Path, Node] = {}
        for text in wanted or ["/"]:
            path = spelled_out(text)
            places = dict(matches(root, path))
            if not places:
                raise ValueError(f"{text}: {nothing_there(root, path)}")
            found |= places
        return Shown(image.provenance, asked_for, tuple(found.items()))

    def lines(self) -> Iterator[str]:
        """Yield each place and what is there."""
        for path, node in self.found:
            if isinstance(node, str):
                yield f"{path_text(path)}: {node}"
                continue
            if path:
                yield f"{path_text(path)}:"
            yield from indented(node, 1 if path else 0)

    def as_json(self) -> dict[str, Json]:
        """Return each place and what is there, as objects within objects."""
        return {
            "provenance": place_json(self.place),
            "paths": {path_text(path) or "/": node_json(node) for path, node in self.found},
        }


def spelled_out(text: str) -> Path:
    """Return the path that is meant."""
    path = tuple(name for name in text.split("/") if name)
    if path and path[0] != "image":
        path = ("image", *path)
    if len(path) > len(TOPICS) and path[: len(TOPICS)] == TOPICS and path[2] not in BY:
        path = (*TOPICS, "byName", *path[2:])
    return path


TOPICS: Final = ("image", "topics")
BY: Final = ("byName", "byId")


def matches(node: Node, wanted: Path, at: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Yield the places that a path with ``*`` and ``?`` means."""
    if not wanted:
        yield at, node
        return
    if isinstance(node, str):
        return
    name, *rest = wanted
    if is_pattern(name):
        for each in node.sorted():
            if fnmatchcase(each, name) and (child := node.child(each)) is not None:
                yield from matches(child, tuple(rest), (*at, each))
        return
    # A name may hold slashes itself: that of a user or a group can.
    for size in range(1, len(wanted) + 1):
        name = "/".join(wanted[:size])
        if (child := node.child(name)) is not None:
            yield from matches(child, wanted[size:], (*at, name))


def is_pattern(name: str) -> bool:
    """Tell whether a name may mean several."""
    return "*" in name or "?" in name


def nothing_there(root: Directory, path: Path) -> str:
    """Say how far a path leads."""
    for size in range(len(path) - 1, -1, -1):
        places = dict(matches(root, path[:size]))
        for at, node in places.items():
            if isinstance(node, str):
                return f"nothing is below {path_text(at)}"
            names = node.sorted()
            some = ", ".join(names[:NEIGHBOURS_MAX]) or "nothing"
            more = f" and {len(names) - NEIGHBOURS_MAX} more" if len(names) > NEIGHBOURS_MAX else ""
            return f"there is no such path; in {path_text(at) or '/'} there is {some}{more}"
    raise AssertionError("the root is always there")


def indented(node: Directory, depth: int) -> Iterator[str]:
    """Yield a tree as Kafka's metadata shell prints it."""
    for name in node.sorted():
        child = node.child(name)
        yield f"{'  ' * depth}{name}:"
        match child:
            case str():
                yield f"{'  ' * (depth + 1)}{child}"
            case Directory():
                yield from indented(child, depth + 1)
            case None:
                pass


def node_json(node: Node) -> Json:
    """Return a tree as objects within objects."""
    if isinstance(node, str):
        return node
    children = ((name, node.child(name)) for name in node.sorted())
    return {name: node_json(child) for name, child in children if child is not None}


def path_text(path: Path) -> str:
    """Spell a path."""
    return "".join(f"/{name}" for name in path)


# --- diff ----------------------------------------------------------------------------------------


@value
class Changed:
    """What lies between two images."""

    before: Provenance
    after: Provenance
    asked_for: tuple[int, int]
    found: tuple[Difference, ...]

    @property
    def notes(self) -> Sequence[str]:
        """That there is no image of one of the very offsets, if so."""
        before, after = self.asked_for
        return (*inside(before, self.before), *inside(after, self.after))

    def lines(self) -> Iterator[str]:
        """Yield what came, went, and is otherwise, part by part."""
        yield f"--- {provenance_text(self.before)}"
        yield f"+++ {provenance_text(self.after)}"
        for part, found in groupby(self.found, key=lambda each: each.path[1]):
            yield f"{part}:"
            for each in found:
                path = path_text(each.path)
                if each.before is None:
                    yield f"  + {path}: {each.after}"
                elif each.after is None:
                    yield f"  - {path}: {each.before}"
                else:
                    yield f"  ~ {path}: {otherwise(each.before, each.after)}"
        if not self.found:
            yield "nothing changed"

    def as_json(self) -> dict[str, Json]:
        """Return it for programs."""
        return {
            "before": place_json(self.before),
            "after": place_json(self.after),
            "differences": [
                {"path": path_text(each.path), "before": each.before, "after": each.after}
                for each in self.found
            ],
        }


def otherwise(before: str, after: str) -> str:
    """Return what of a text is otherwise: of a registration, only the fields that are."""
    old, new = fields(before), fields(after)
    if len(old) < 2 or old.keys() != new.keys():
        return f"{before} → {after}"
    return ", ".join(f"{name} {old[name]} → {new[name]}" for name in old if old[name] != new[name])


def fields(text: str) -> dict[str, str]:
    """Read ``Kind(name=text, …)``; empty if it is something else."""
    kind, bracket, inside = text.partition("(")
    if not bracket or not inside.endswith(")") or not kind.isalpha():
        return {}
    found, depth, begin = list[str](), 0, 0
    for at, character in enumerate(inside[:-1]):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            found.append(inside[begin:at])
            begin = at + 1
    pairs = [each.strip().partition("=") for each in [*found, inside[begin:-1]]]
    return {name: told for name, _, told in pairs}


# --- explain -------------------------------------------------------------------------------------


@value
class Explained:
    """What became of a partition."""

    partition: str
    reach: Reach
    changes: tuple[Change, ...]
    notes: Sequence[str] = ()

    @staticmethod
    def of(files: Files, partition: str) -> "Explained":
        """Follow a partition; ``ValueError`` if there never was one of that name."""
        topic, _, number = partition.rpartition("-")
        if not topic or not number.isdecimal():
            raise ValueError(f"{partition!r} is no partition: name a topic and a number, orders-0")
        found = tuple(explain(files, topic, int(number)))
        if not found:
            raise ValueError(f"there was no partition {partition} from offset {reach(files)}")
        return Explained(partition, reach(files), found)

    def lines(self) -> Iterator[str]:
        """Yield each record that changed it, what caused it and what it did."""
        yield f"{self.partition}, from offset {self.reach}"
        for change in self.changes:
            yield ""
            yield (
                f"offset {change.offset}  epoch {change.epoch}  {time_text(change.append_ms)}  "
                f"{change.what}"
            )
            for cause in change.causes:
                place = "" if cause.offset in (None, change.offset) else f" (offset {cause.offset})"
                yield f"    because {cause.words}{place}"
            if change.others:
                plural = "" if change.others == 1 else "s"
                yield f"    with {change.others:,} change{plural} of other partitions"
            yield from (f"    {effect.words}" for effect in change.effects)
            yield from (f"    {line}" for line in numbers(change))
        last = self.changes[-1]
        yield ""
        yield "now: " + ("there is none" if last.after is None else standing(last.after))

    def as_json(self) -> dict[str, Json]:
        """Return it for programs."""
        last = self.changes[-1].after
        return {
            "partition": self.partition,
            "changes": [change_json(change) for change in self.changes],
            "now": None if last is None else partition_json(last),
        }


def numbers(change: Change) -> Iterator[str]:
    """Yield what a partition is told to be, or how its epochs went on."""
    before, after = change.before, change.after
    if after is None:
        return
    if before is None:
        yield standing(after)
        return
    yield (
        f"leader epoch {step(before.leader_epoch, after.leader_epoch)}, "
        f"partition epoch {step(before.partition_epoch, after.partition_epoch)}"
    )


def step(before: int, after: int) -> str:
    """Spell a number and what became of it."""
    return str(after) if before == after else f"{before} → {after}"


def standing(partition: PartitionRegistration) -> str:
    """Spell what a partition is."""
    leader = "no leader" if partition.leader == NO_LEADER else f"leader {partition.leader}"
    unusual = (
        ("adding", partition.adding_replicas),
        ("removing", partition.removing_replicas),
        ("eligible leaders", partition.elr),
        ("last known leaders", partition.last_known_elr),
    )
    told = [
        leader,
        f"ISR {listed(partition.isr) or 'empty'}",
        f"replicas {listed(partition.replicas)}",
        *(f"{what} {listed(who)}" for what, who in unusual if who),
        *(["recovering"] if partition.leader_recovery_state != RECOVERED else []),
        f"leader epoch {partition.leader_epoch}",
        f"partition epoch {partition.partition_epoch}",
    ]
    return ", ".join(told)


def change_json(change: Change) -> Json:
    """Return a change for programs."""
    before, after = change.before, change.after
    return {
        "what": change.what,
        "offset": change.offset,
        "epoch": change.epoch,
        "timestamp": change.append_ms,
        "topicId": uuid_text(change.topic_id),
        "causes": [
            {
                "what": cause.what,
                "words": cause.words,
                "broker": cause.broker,
                "offset": cause.offset,
            }
            for cause in change.causes
        ],
        "otherPartitions": change.others,
        "effects": [
            {"what": effect.what, "words": effect.words, "brokers": list(effect.brokers)}
            for effect in change.effects
        ],
        "before": None if before is None else partition_json(before),
        "after": None if after is None else partition_json(after),
    }


def partition_json(partition: PartitionRegistration) -> Json:
    """Return a partition for programs, in Kafka's names."""
    return {
        "replicas": list(partition.replicas),
        "directories": [directory_text(place) for place in partition.directories],
        "isr": list(partition.isr),
        "removingReplicas": list(partition.removing_replicas),
        "addingReplicas": list(partition.adding_replicas),
        "elr": list(partition.elr),
        "lastKnownElr": list(partition.last_known_elr),
        "leader": partition.leader,
        "leaderRecoveryState": partition.leader_recovery_state,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.partition_epoch,
    }


# --- brokers -------------------------------------------------------------------------------------


@value
class Lived:
    """The lives of brokers."""

    found: tuple[Life, ...]
    notes: Sequence[str] = ()

    @staticmethod
    def of(files: Files, broker: int | None) -> "Lived":
        """Follow the brokers; ``ValueError`` if there never was one of that id."""
        found = tuple(each for each in lives(files) if broker in (None, each.registration.id))
        if not found and broker is not None:
            raise ValueError(f"there was no broker {broker} from offset {reach(files)}")
        return Lived(found)

    def lines(self) -> Iterator[str]:
        """Yield each life and what was said of it."""
        for life in self.found:
            yield (
                f"broker {life.registration.id}, epoch {life.registration.epoch}: {life.standing}"
            )
            width = len(str(life.events[-1].offset))
            for event in life.events:
                place = f"offset {event.offset:<{width}}  {time_text(event.append_ms)}"
                yield f"    {place}  {event.words}"
        if not self.found:
            yield "no broker has ever registered"

    def as_json(self) -> dict[str, Json]:
        """Return it for programs."""
        return {
            "lives": [
                {
                    "broker": life.registration.id,
                    "brokerEpoch": life.registration.epoch,
                    "incarnationId": uuid_text(life.registration.incarnation_id),
                    "standing": life.standing,
                    "events": [
                        {
                            "what": event.what,
                            "words": event.words,
                            "offset": event.offset,
                            "epoch": event.epoch,
                            "timestamp": event.append_ms,
                        }
                        for event in life.events
                    ],
                }
                for life in self.found
            ]
        }


# --- what all of them say ------------------------------------------------------------------------


def inside(offset: int, place: Provenance) -> Sequence[str]:
    """Say which image stands for an offset at which there is none."""
    if place.offset == offset:
        return ()
    return (
        f"offset {offset} is inside of a batch or a transaction, which is seen whole or not at "
        f"all: what is told is the image at {place.offset}",
    )


def place_json(place: Provenance) -> Json:
    """Return where an image ends, for programs."""
    return {"offset": place.offset, "epoch": place.epoch, "timestamp": place.append_ms}
