"""What lies between two images, path by path: what came, what went, what is otherwise.

    image A ─┐
             ├─▶ Delta.between ─▶ the places that it touches ─▶ what each shows before and after
    image B ─┘

The delta knows where the two differ without looking at what they share, so that a change among a
million partitions costs no walk through a million.  What is shown is what is shown of an image
(``paths``); topics are named by their names alone, since they would be told twice otherwise.
"""

from collections.abc import Iterator

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.paths import (
    MECHANISMS,
    Node,
    Path,
    View,
    at_path,
    entity_text,
    leaves,
    resource_text,
    tree,
)
from barnabas.model.ids import uuid_text
from barnabas.model.value import value


@value
class Difference:
    """A path at which two images show something else; None where one shows nothing."""

    path: Path
    before: str | None
    after: str | None


def differences(before: MetadataImage, after: MetadataImage, view: View) -> Iterator[Difference]:
    """Yield what is otherwise, part by part, in the order of paths within each."""
    old, new = tree(before, view), tree(after, view)
    delta = Delta.between(before, after)
    for part, places in touched(delta):
        texts: dict[Path, list[str | None]] = {}
        for place in sorted(places):
            path = ("image", part, *place)
            for at, root in enumerate((old, new)):
                for leaf, text in leaves_at(root, path):
                    texts.setdefault(leaf, [None, None])[at] = text
        for leaf, (was, now) in texts.items():
            if was != now:
                yield Difference(leaf, was, now)


def leaves_at(root: Node, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what is shown at a place and below it; nothing if there is no such place."""
    found = at_path(root, path)
    if found is not None:
        yield from leaves(found, path)


def touched(delta: Delta) -> Iterator[tuple[str, set[Path]]]:
    """Yield each part that is otherwise, by its name in paths, and the places in it."""
    yield "features", {()} if delta.features else set()
    if delta.cluster:
        yield (
            "cluster",
            {
                *(("brokers", str(each)) for each in delta.cluster.brokers),
                *(("controllers", str(each)) for each in delta.cluster.controllers),
            },
        )
    if delta.topics:
        # What has another id is another topic, and every line of it is told.
        renamed = {("byName", name) for name in delta.topics.names}
        yield (
            "topics",
            renamed
            | {
                ("byName", topic.name, str(index))
                for topic in delta.topics.topics.values()
                if topic.name not in delta.topics.names
                for index in topic.changes
            },
        )
    if delta.configs:
        yield "configs", {(resource_text(each),) for each in delta.configs.resources}
    if delta.client_quotas:
        yield "clientQuotas", {(entity_text(each),) for each in delta.client_quotas.entities}
    if delta.producer_ids:
        yield "producerIds", {()}
    if delta.acls:
        yield "acls", {("byId", uuid_text(each)) for each in delta.acls.acls}
    if delta.scram:
        named = {number: name for name, number in MECHANISMS.items()}
        yield (
            "scram",
            {
                (named[each.mechanism], each.name)
                for each in delta.scram.credentials
                if each.mechanism in named
            },
        )
    if delta.delegation_tokens:
        yield "delegationToken", {(each,) for each in delta.delegation_tokens.tokens}
