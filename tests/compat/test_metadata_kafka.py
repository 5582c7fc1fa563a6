"""Our image of a cluster of Apache Kafka's is Kafka's, path by path; and so are our snapshots.

A whole cluster lives through everything that its metadata can say (``metadata_story``), while an
observer of ours follows over the network and keeps every image.  Afterwards Kafka tells what it
makes of the same log: its metadata shell at the end of each chapter, and its own classes at each
offset.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.paths import paths
from barnabas.metadata.snapshot import fingerprint, written
from barnabas.records.batch import batches
from tests.compat.kafka_tools import tool
from tests.compat.metadata_story import CHAPTERS, Story
from tests.compat.metadata_tree import PROVENANCE, Leaves, Tree, shell_tree, trees


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    """The cluster after all was told; its processes have ended, and its files are there."""
    with TemporaryDirectory() as place:
        with Story(Path(place)) as told:
            told.tell()
        yield told


@pytest.fixture(scope="module")
def kafka(story: Story) -> Mapping[int, Tree]:
    """What Kafka's classes make of its log, at each offset."""
    return trees([story.log])


def leaves(image: MetadataImage) -> dict[str, str]:
    """Return what our image says, spelled as Kafka does."""
    return dict(paths(image))


def without_provenance(tree: Leaves) -> Leaves:
    """Return a tree without what says where it is from."""
    return {path: text for path, text in tree.items() if path != PROVENANCE}


def cut(log: Path, end_offset: int, place: Path) -> Path:
    """Return a copy of a log that ends before an offset."""
    data = log.read_bytes()
    end = next(
        (position for position, header in batches(data) if header.base_offset >= end_offset),
        len(data),
    )
    directory = place / "__cluster_metadata-0"
    directory.mkdir()
    (directory / log.name).write_bytes(data[:end])
    return directory / log.name


# --- images ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_our_image_is_what_kafkas_shell_prints(story: Story, tmp_path: Path, chapter: str) -> None:
    offset = story.chapters[chapter]
    ours = leaves(story.observer.images[offset])
    assert shell_tree(cut(story.log, offset + 1, tmp_path)) == ours


def test_every_chapter_changes_what_it_is_about(story: Story) -> None:
    """The comparison is worth nothing if nothing happens."""
    before: dict[str, str] = {}
    changed: dict[str, set[str]] = {}
    for chapter, offset in story.chapters.items():
        after = leaves(story.observer.images[offset])
        different = before.items() ^ after.items()
        changed[chapter] = {path.split("/")[2] for path, _ in different} - {"provenance"}
        before = after
    assert changed["brokers"] >= {"cluster", "features"}
    assert changed["topics"] == {"topics"}
    assert changed["traffic"] == {"topics", "producerIds", "configs"}
    assert changed["configs"] == {"configs"}
    assert changed["quotas"] == {"clientQuotas"}
    assert changed["acls"] == {"acls"}
    assert changed["credentials"] == {"scram"}
    assert changed["tokens"] == {"delegationToken"}
    assert "features" in changed["upgrade"]
    for chapter in ("loss_and_return", "shutdown", "failover", "farewell"):
        assert changed[chapter] >= {"cluster", "topics"}, chapter
    assert changed["moves"] == {"topics"}
    assert changed["cordons"] == {"cluster", "configs"}
    assert changed["downgrade"] >= {"features"}


@pytest.mark.parametrize(
    "said",
    [
        *("fenced=true", "inControlledShutdown=true", "cordonedDirectories=[", "elr=[2]"),
        *("addingReplicas=[2]", "removingReplicas=[1]", "leader=-1", "isr=[1]", "isr=[1, 2]"),
        *("Optional[4.0-IV3]", "Optional[4.1-IV1]", "Optional[4.2-IV0]", "Optional[4.3-IV0]"),
        *("patternType=PREFIXED", "permissionType=DENY", "operation=IDEMPOTENT_WRITE"),
        *("tokenRequester=User:admin", "owner=User:bob", "iterations=5000", "2.097152E7"),
    ],
)
def test_the_story_has_said(kafka: Mapping[int, Tree], said: str) -> None:
    """What is never said is not compared either."""
    assert any(said in text for tree in kafka.values() for text in tree.leaves.values())


def test_our_image_is_kafkas_at_every_offset(story: Story, kafka: Mapping[int, Tree]) -> None:
    assert len(story.observer.images) > 3 * len(CHAPTERS)
    for offset, image in story.observer.images.items():
        theirs, ours = kafka[offset], image.provenance
        assert leaves(image) == theirs.leaves
        assert (ours.epoch, ours.batch_aligned) == (theirs.epoch, theirs.batch_aligned)


def test_whoever_comes_by_a_snapshot_has_the_same_image(
    story: Story, kafka: Mapping[int, Tree]
) -> None:
    late = story.latecomer
    begun = late.loaded[0]
    assert begun > story.chapters["topics"]
    assert min(late.images) == begun
    assert max(late.images) == max(story.observer.images)
    for offset, image in late.images.items():
        assert leaves(image) == kafka[offset].leaves
    both = late.images.keys() & story.observer.images.keys()
    assert both >= {story.chapters["farewell"]}
    for offset in both:
        assert fingerprint(late.images[offset]) == fingerprint(story.observer.images[offset])


def test_kafka_comes_from_its_own_snapshot_to_where_we_are(story: Story) -> None:
    snapshots = story.snapshots(story.first)
    assert len(snapshots) > 1
    for snapshot in snapshots:
        for offset, theirs in trees([snapshot, story.log]).items():
            if offset in story.observer.images:
                assert leaves(story.observer.images[offset]) == theirs.leaves


# --- our snapshots --------------------------------------------------------------------------------


def test_kafka_reads_in_our_nodes_snapshots_what_its_own_log_says(
    story: Story, kafka: Mapping[int, Tree]
) -> None:
    snapshots = story.snapshots(story.ours)
    assert len(snapshots) > 1
    for snapshot in snapshots:
        [(offset, tree)] = trees([snapshot]).items()
        assert tree == kafka[offset]


def test_kafka_goes_on_from_our_nodes_snapshot_with_its_own_log(
    story: Story, kafka: Mapping[int, Tree]
) -> None:
    for snapshot in story.snapshots(story.ours):
        went_on = trees([snapshot, story.log])
        assert len(went_on) > 1
        assert all(kafka[offset] == tree for offset, tree in went_on.items())


def test_kafkas_shell_shows_our_nodes_snapshot(story: Story, kafka: Mapping[int, Tree]) -> None:
    for snapshot in story.snapshots(story.ours):
        offset = int(snapshot.name.partition("-")[0]) - 1
        shown = shell_tree(snapshot)
        assert without_provenance(shown) == without_provenance(kafka[offset].leaves)
        # The shell takes a snapshot for a log, and tells where in the file its last record is.
        assert shown[PROVENANCE] != kafka[offset].leaves[PROVENANCE]


def dumped(snapshot: Path) -> list[str]:
    """Return what ``kafka-dump-log`` prints of each metadata record in a file, in one order."""
    printed = tool("dump-log", "--cluster-metadata-decoder", "--files", str(snapshot))
    assert "is invalid" not in printed
    assert "SnapshotHeader" in printed
    assert "SnapshotFooter" in printed
    payloads = re.findall(r" payload: (.*)", printed)
    return sorted(json.dumps(in_order(json.loads(each)), sort_keys=True) for each in payloads)


def in_order(told: Any) -> Any:  # noqa: ANN401 - as free as JSON
    """Return JSON with lists of objects sorted: Kafka takes them from maps that have no order."""
    match told:
        case dict():
            return {name: in_order(each) for name, each in told.items()}
        case [{}, *_]:
            return sorted(map(in_order, told), key=repr)
        case _:
            return told


def test_kafkas_dump_tool_prints_the_same_records_of_our_snapshot_as_of_kafkas(
    story: Story, tmp_path: Path
) -> None:
    compared = 0
    for theirs in story.snapshots(story.first):
        offset = int(theirs.name.partition("-")[0]) - 1
        if offset in story.observer.images:
            ours = tmp_path / theirs.name
            ours.write_bytes(b"".join(written(story.observer.images[offset])))
            assert dumped(ours) == dumped(theirs)
            compared += 1
    assert compared > 0
