"""Quorums of Kafka's controllers and ours, in which the kinds take turns to lead.

Topics are created through a broker of Kafka's all the while.  Whoever led when one was
acknowledged, it exists afterwards, and every controller holds the same image: its own snapshot, and
its own log.
"""

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from barnabas.cli.metadata_source import in_directory
from barnabas.host.disk import HostDisk
from barnabas.metadata.history import image_at
from barnabas.metadata.paths import AS_KAFKA, leaves, tree
from barnabas.metadata.paths import Path as Place
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.compat.asker import ask
from tests.compat.clusters import Cluster
from tests.compat.controllers import SNAPSHOTS, eventually
from tests.compat.kafka_node import Node
from tests.compat.our_node import OurNode

BROKERS: Final = 2

# Who loses a leader last is elected, for it asks those who do not refuse any more.
SOON: Final = {"controller.quorum.fetch.timeout.ms": "1000"}
LATE: Final = {"controller.quorum.fetch.timeout.ms": "3000"}

TURNS: Final = 6


class Creating:
    """Creates one topic after the other through a broker, and remembers what was acknowledged."""

    def __init__(self, broker: Node) -> None:
        self._broker: Final = broker
        self._done: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._create, name="creating", daemon=True)
        self.acknowledged: Final[list[str]] = []
        self.surprises: Final[list[str]] = []

    def __enter__(self) -> "Creating":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def more(self, count: int) -> None:
        """Return when so many more are acknowledged."""
        enough = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= enough or None, f"{count} more topics")

    def _create(self) -> None:
        for number in itertools.count():
            if self._done.is_set():
                return
            topic = CreateTopicsRequest.CreatableTopic(
                name=f"topic-{number}", num_partitions=2, replication_factor=BROKERS
            )
            try:
                told = ask(
                    self._broker.bootstrap, CreateTopicsRequest(topics=[topic], timeout_ms=2_000)
                )
            except OSError:
                # Nobody has told what became of it.
                continue
            assert isinstance(told, CreateTopicsResponse)
            (result,) = told.topics
            code = ErrorCode(result.error_code)
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                # It is there already where the broker had to ask once more to hear of it.
                self.acknowledged.append(topic.name)
            elif code not in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER):
                self.surprises.append(f"{topic.name}: {code.name} {result.error_message}")


@contextmanager
def mixed(
    place: Path, kinds: Sequence[type[Node]], own_settings: Mapping[type[Node], Mapping[str, str]]
) -> Iterator[Cluster]:
    """A cluster whose controllers are of different kinds."""
    own = {kind: {**SNAPSHOTS, **settings} for kind, settings in own_settings.items()}
    with Cluster(place, kinds, BROKERS, own_settings=own) as cluster:
        yield cluster


def image(node: Node, offset: int) -> dict[Place, str]:
    """Return what a controller's own files say of the cluster at an offset."""
    with in_directory(HostDisk(), str(node.metadata)) as files:
        found = dict(leaves(tree(image_at(files, offset), AS_KAFKA)))
    # When the last record was written is known of a log and not of a snapshot.
    return {path: text for path, text in found.items() if "provenance" not in path}


@pytest.mark.parametrize(
    ("kinds", "own_settings"),
    [
        ((Node, Node, OurNode), {OurNode: LATE, Node: SOON}),
        ((OurNode, OurNode, Node), {OurNode: SOON, Node: LATE}),
    ],
    ids=["two of Kafka's and one of ours", "two of ours and one of Kafka's"],
)
def test_the_kinds_take_turns_to_lead_and_every_acknowledged_topic_is_there(
    tmp_path: Path,
    kinds: Sequence[type[Node]],
    own_settings: Mapping[type[Node], Mapping[str, str]],
) -> None:
    with mixed(tmp_path, kinds, own_settings) as cluster:
        controllers = cluster.controllers
        led = [type(controllers.leader())]
        with Creating(cluster.brokers[11]) as creating:
            for turn in range(TURNS):
                creating.more(5)
                leader, epoch = controllers.leader(), controllers.state().leader_epoch
                if turn % 2:
                    leader.stop()
                else:
                    leader.kill()
                successor = controllers.new_leader(epoch)
                led.append(type(successor))
                creating.more(5)
                leader.start()
                controllers.caught_up(leader)
        assert not creating.surprises
        moves = set(itertools.pairwise(led))
        assert (Node, OurNode) in moves
        assert (OurNode, Node) in moves

        end_offset = controllers.quiet_state(still_s=2).high_watermark
        images = {str(node): image(node, end_offset - 1) for node in controllers.voters}
        first, *others = images.values()
        assert all(other == first for other in others)
        topics = {path[3] for path in first if path[:3] == ("image", "topics", "byName")}
        assert set(creating.acknowledged) <= topics
        listed = cluster.kafka("topics", "--list").split()
        assert set(creating.acknowledged) <= set(listed)
        assert cluster.fenced() == {11: False, 12: False}
