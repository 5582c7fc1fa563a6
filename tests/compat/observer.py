"""An observer of ours on any quorum, in this process: follows its log, and keeps every image.

    observer = Observer(place, node_id, cluster_id, bootstrap)
    observer.start()
    observer.caught_up(end_offset)
    observer.images[offset]
    observer.stop()

It is what a node of ours is as well, a member of the quorum that nobody counts (``node.member``)
with the metadata shell as its listener, and it lives in a thread of its own, so that tests may do
one thing after the other meanwhile.
"""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from barnabas.host.world import live
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher, SnapshotManifest
from barnabas.metadata.shell import MetadataShell
from barnabas.model.ids import Uuid
from barnabas.node.member import open_member
from barnabas.raft.config import RaftConfig
from barnabas.raft.voters import ReplicaKey
from barnabas.runtime.runtime import Runtime
from tests.compat.asker import address_of

STOP_MS: Final = 1_000
PATIENCE_S: Final = 30.0


class Album:
    """A subscriber that keeps whatever it was told."""

    def __init__(self) -> None:
        self.publisher: Final = Publisher("album", fatal=True)
        self.images: Final[dict[int, MetadataImage]] = {}
        """Every image by its offset."""
        self.loaded: Final[list[int]] = []
        """The offsets of those that came from a snapshot."""
        self.news: Final = threading.Condition()

    async def update(self, publication: Publication) -> None:
        """Take the next image."""
        with self.news:
            image = publication.image
            self.images[image.offset] = image
            if isinstance(publication.manifest, SnapshotManifest):
                self.loaded.append(image.offset)
            self.news.notify_all()

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Whoever leads, the log is the same."""

    async def close(self) -> None:
        """Keep what there is."""


class Observer:
    """A node that only looks."""

    def __init__(
        self, place: Path, node_id: int, cluster_id: str, bootstrap: Sequence[str]
    ) -> None:
        self._place: Final = place
        self._album: Final = Album()
        self._config: Final = RaftConfig(
            key=ReplicaKey(node_id, Uuid(b"an observer %4d" % node_id)),
            cluster_id=cluster_id,
            bootstrap=tuple(map(address_of, bootstrap)),
            can_vote=False,
        )
        self._stopping: Final = threading.Event()
        self._failures: Final[list[BaseException]] = []
        self._thread: Final = threading.Thread(target=self._work, name=f"observer {node_id}")

    @property
    def images(self) -> dict[int, MetadataImage]:
        """The images that were published, by their offsets."""
        return self._album.images

    @property
    def loaded(self) -> list[int]:
        """The offsets of the images that came from snapshots, the first one of all included."""
        return self._album.loaded

    def start(self) -> None:
        """Begin to follow, knowing nothing."""
        self._place.mkdir(parents=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer; raise what has gone wrong."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._failures:
            raise self._failures[0]

    def caught_up(self, end_offset: int) -> MetadataImage:
        """Return the first image that has everything below an offset."""
        news = self._album.news
        with news:
            there = news.wait_for(
                lambda: self._failures or max(self.images, default=-1) >= end_offset - 1,
                PATIENCE_S,
            )
            assert not self._failures, self._failures
            assert there, f"the observer is at {max(self.images, default=-1)}, not {end_offset - 1}"
            return self.images[min(at for at in self.images if at >= end_offset - 1)]

    def _work(self) -> None:
        try:
            asyncio.run(live(self._thread.name, self._main))
        except BaseException as error:  # noqa: BLE001 -- the top of a thread: raised by whoever waits
            with self._album.news:
                self._failures.append(error)
                self._album.news.notify_all()

    async def _main(self, runtime: Runtime) -> None:
        member = await open_member(runtime, self._config, str(self._place), [])
        metadata = MetadataShell(runtime, lambda: member.quorum.high_watermark, "observer")
        await metadata.install(self._album)
        member.quorum.listen(metadata)
        await asyncio.to_thread(self._stopping.wait)
        await member.close(STOP_MS)
        await metadata.stop()
