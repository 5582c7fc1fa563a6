"""Our image of a cluster of Apache Kafka's is Kafka's, path by path; and so are our snapshots.

A whole cluster lives through everything that its metadata can say (``metadata_story``), while an
observer of ours follows over the network and keeps every image.  Afterwards Kafka tells what it
makes of the same log: its metadata shell at the end of each chapter, and its own classes at each
offset.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.paths import paths
from barnabas.metadata.snapshot import fingerprint, written
from barnabas.records.batch import batches
from tests.compat.kafka_tools import tool
from tests.compat.metadata_story import CHAPTERS, LATECOMER, Story, Told, looked
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
    before: dict[str, str] = {}
    changed: dict[str, set[str]] = {}
    for chapter, offset in story.chapters.items():
        after = leaves(story.observer.images[offset])
        different = before.items() ^ after.items()
        changed[chapter] = {path.split("/")[2] for path, _ in different} - {"provenance"}
        before = after
    for chapter, parts in ABOUT.items():
        assert changed[chapter] >= parts, chapter


ABOUT: Final = {
    "brokers": {"cluster", "features"},
    "topics": {"topics"},
    "traffic": {"topics", "producerIds", "configs"},
    "configs": {"configs"},
    "quotas": {"clientQuotas"},
    "acls": {"acls"},
    "credentials": {"scram"},
    "tokens": {"delegationToken"},
    "upgrade": {"features"},
    "loss_and_return": {"cluster", "topics"},
    "shutdown": {"cluster", "topics"},
    "moves": {"topics"},
    "cordons": {"cluster", "configs"},
    "downgrade": {"features"},
    "failover": {"cluster", "topics"},
    "farewell": {"cluster", "topics"},
}
"""The parts that a chapter changes, at least: brokers may be busy with the one before."""


SAID: Final = (
    *(r"\bfenced=true", "inControlledShutdown=true", r"cordonedDirectories=\[\S", r"\belr=\[2"),
    *(r"addingReplicas=\[2", r"removingReplicas=\[1", "leader=-1", r"isr=\[1\]", r"isr=\[1, 2\]"),
    *(r"4\.0-IV3", r"4\.1-IV1", r"4\.2-IV0", r"4\.3-IV0", "PREFIXED", "DENY", "IDEMPOTENT_WRITE"),
    *("owner=User:bob", "iterations=5000", r"2\.097152E7"),
)
"""What somebody must have said for the comparison to be worth something."""


@pytest.mark.parametrize("said", SAID)
def test_the_story_has_said(kafka: Mapping[int, Tree], said: str) -> None:
    assert any(re.search(said, text) for tree in kafka.values() for text in tree.leaves.values())


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
    assert max(late.images) >= story.chapters["farewell"]
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


def payloads(file: Path) -> dict[int, Told]:
    """Return what ``kafka-dump-log`` prints of each metadata record in a file, by offset."""
    printed = tool("dump-log", "--cluster-metadata-decoder", "--files", str(file))
    assert "is invalid" not in printed
    found = re.findall(r"^\| offset: (\d+) .* payload: (.*)", printed, re.MULTILINE)
    return {int(offset): json.loads(payload) for offset, payload in found}


def dumped(snapshot: Path) -> list[str]:
    """Return the records of a snapshot, all in one order."""
    records = map(in_order, payloads(snapshot).values())
    return sorted(json.dumps(each, sort_keys=True) for each in records)


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


# --- our command ----------------------------------------------------------------------------------


EVERYBODYS: Final = "/image/clientQuotas/user/producer_byte_rate"
"""Kafka's shell cannot show what is for all users that are not named."""


def flat(told: Told) -> dict[str, str]:
    """Return the leaves of an image that our command told."""

    def within(node: Any, path: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - as free as JSON
        if isinstance(node, str):
            yield path, node
            return
        for name, child in node.items():
            yield from within(child, f"{path}/{name}")

    return dict(within(told["paths"]["/"], ""))


def agrees(told: Told, theirs: Leaves) -> None:
    """See that our command tells what Kafka does, and what Kafka cannot show."""
    ours = flat(told)
    assert ours.pop(EVERYBODYS, "1.23456789012E11") == "1.23456789012E11"
    assert ours == theirs


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_our_command_shows_the_image_from_kafkas_directory_alone(
    story: Story, kafka: Mapping[int, Tree], chapter: str
) -> None:
    offset = story.chapters[chapter]
    told = looked("--directory", str(story.first.logs), "image", "--at", str(offset))
    agrees(told, kafka[offset].leaves)
    assert (EVERYBODYS in flat(told)) == (offset >= story.chapters["quotas"])


def test_our_command_shows_the_image_from_our_own_directories(
    story: Story, kafka: Mapping[int, Tree]
) -> None:
    for directory in (story.ours.logs, story.place / f"observer-{LATECOMER}"):
        told = looked("--directory", str(directory), "image")
        offset = told["provenance"]["offset"]
        assert offset > story.chapters["failover"]
        agrees(told, kafka[offset].leaves)


@pytest.mark.parametrize("source", ["quorum", "directory"])
def test_our_command_shows_the_image_of_a_cluster_at_work(
    story: Story, kafka: Mapping[int, Tree], source: str
) -> None:
    told = story.told_alive[source]
    offset = told["provenance"]["offset"]
    assert offset >= story.chapters["farewell"]
    agrees(told, kafka[offset].leaves)


def test_our_command_tells_what_each_chapter_has_changed(
    story: Story, kafka: Mapping[int, Tree]
) -> None:
    for before, after in pairwise(story.chapters.values()):
        words = ("diff", str(before), str(after))
        told = looked("--directory", str(story.first.logs), *words)["differences"]
        ours = {each["path"]: (each["before"], each["after"]) for each in told}
        ours.pop(EVERYBODYS, None)
        one, other = compared(kafka[before].leaves), compared(kafka[after].leaves)
        paths_of_both = one.keys() | other.keys()
        assert ours == {
            path: (one.get(path), other.get(path))
            for path in paths_of_both
            if one.get(path) != other.get(path)
        }


def compared(tree: Leaves) -> Leaves:
    """Leave out what a difference does not show: where it is from, and topics a second time."""
    return {
        path: text
        for path, text in tree.items()
        if path != PROVENANCE and not path.startswith("/image/topics/byId/")
    }


@pytest.mark.parametrize("partition", ["orders-0", "orders-1", "clicks-0", "__consumer_offsets-1"])
def test_our_command_explains_every_record_of_a_partition(
    story: Story, kafka: Mapping[int, Tree], partition: str
) -> None:
    topic, _, index = partition.rpartition("-")
    log = payloads(story.log)
    named = {"TOPIC_RECORD": "topicId", "REMOVE_TOPIC_RECORD": "topicId"}
    ids = {
        each["data"]["topicId"]
        for each in log.values()
        if each["type"] in named and each["data"].get("name") == topic
    }
    about = {
        offset
        for offset, each in log.items()
        if each["data"].get("topicId") in ids
        and (each["type"] == "REMOVE_TOPIC_RECORD" or each["data"].get("partitionId") == int(index))
    }
    told = looked("--directory", str(story.first.logs), "explain", partition)
    cleared = {offset for offset, each in log.items() if each["type"] == "CLEAR_ELR_RECORD"}
    offsets = [change["offset"] for change in told["changes"]]
    assert offsets == sorted(offsets)
    assert set(offsets) - cleared == about
    # Where it led to is what Kafka has.
    theirs = kafka[story.chapters["farewell"]].leaves[f"/image/topics/byName/{topic}/{index}"]
    now = told["now"]
    assert f"leader={now['leader']}, " in theirs
    assert f"leaderEpoch={now['leaderEpoch']}, partitionEpoch={now['partitionEpoch']})" in theirs
    assert f"isr={now['isr']}, " in theirs


def test_our_command_tells_the_lives_of_brokers(story: Story) -> None:
    registered = [
        (each["data"]["brokerId"], each["data"]["brokerEpoch"])
        for each in payloads(story.log).values()
        if each["type"] == "REGISTER_BROKER_RECORD"
    ]
    told = looked("--directory", str(story.first.logs), "brokers")["lives"]
    assert sorted((life["broker"], life["brokerEpoch"]) for life in told) == sorted(registered)
    second = [life["standing"] for life in told if life["broker"] == 2]
    assert second == ["replaced"] * (len(second) - 1) + ["unregistered"]
    happened = {event["what"] for life in told for event in life["events"]}
    assert happened >= {"registered", "unfenced", "fenced", "replaced", "unregistered", "cordoned"}
