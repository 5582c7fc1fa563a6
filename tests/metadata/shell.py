"""A shell as small as can be: performs the loader's effects, in order, on fakes.

The fakes are as inconvenient as publishers can be.  Each checks what everybody may rely upon: that
a delta begins at the image it was given last, and leads to the one that comes with it.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from barnabas.metadata.faults import Fault
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.loader import (
    Close,
    Committed,
    Effect,
    Event,
    Faulted,
    HighWatermark,
    Install,
    MetadataLoader,
    Publish,
    PublisherFailed,
    SnapshotRead,
    TellLeader,
)
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher
from barnabas.metadata.snapshot import fingerprint, folded, read, written
from barnabas.records.opened import OpenedBatch


class Fake:
    """A publisher that believes nothing."""

    def __init__(self, name: str, raises_at: Iterable[int] = (), fatal: bool = False) -> None:
        self.publisher = Publisher(name, fatal)
        self.raises_at = frozenset(raises_at)
        self.image = EMPTY
        self.told: list[Publication] = []
        self.leaders: list[LeaderAndEpoch] = []
        self.closed = False

    @property
    def offsets(self) -> list[int]:
        """The offsets of the images it was given."""
        return [publication.image.offset for publication in self.told]

    def update(self, publication: Publication, introduction: bool) -> None:
        """Take the next image, or raise."""
        assert not self.closed
        assert introduction == (not self.told)
        assert publication.delta.image is (EMPTY if introduction else self.image)
        assert publication.image.offset > self.image.offset
        again = publication.delta.apply(publication.image.provenance)
        assert again == publication.image
        assert fingerprint(again) == fingerprint(publication.image)
        self.told.append(publication)
        self.image = publication.image
        if publication.image.offset in self.raises_at:
            raise ValueError(f"not {publication.image.offset}")


class Shell:
    """A loader with somebody to perform what it says."""

    def __init__(self, *fakes: Fake) -> None:
        self.loader = MetadataLoader()
        self.fakes: dict[str, Fake] = {}
        self.done: list[Effect] = []
        self.install(*fakes)

    @property
    def image(self) -> MetadataImage:
        """Where the loader is."""
        return self.loader.image

    @property
    def faults(self) -> list[Fault]:
        """What went wrong so far."""
        return [effect.fault for effect in self.done if isinstance(effect, Faulted)]

    def install(self, *fakes: Fake) -> None:
        """Install publishers."""
        self.fakes |= {fake.publisher.name: fake for fake in fakes}
        self.step(Install(tuple(fake.publisher for fake in fakes)))

    def step(self, event: Event) -> None:
        """Do what the loader says about an event, and then about what came of that."""
        events = deque([event])
        while events:
            for effect in self.loader.step(events.popleft()):
                self.done.append(effect)
                if failed := self.perform(effect):
                    events.append(failed)

    def perform(self, effect: Effect) -> PublisherFailed | None:
        """Do one thing; return what went wrong."""
        match effect:
            case Publish(name, publication, introduction):
                try:
                    self.fakes[name].update(publication, introduction)
                except ValueError as error:
                    return PublisherFailed(effect, str(error))
            case TellLeader(name, leader):
                self.fakes[name].leaders.append(leader)
            case Close(name):
                self.fakes[name].closed = True
            case _:
                pass
        return None

    def commit(self, batches: Sequence[OpenedBatch], high_watermark: int | None = None) -> None:
        """Hand over batches as the quorum does: first how far it is."""
        known = batches[-1].end_offset if high_watermark is None else high_watermark
        if known > (self.loader.high_watermark or 0):
            self.step(HighWatermark(known))
        self.step(Committed(batches))

    def load(self, image: MetadataImage, high_watermark: int | None = None) -> None:
        """Hand over an image as a snapshot, through its bytes."""
        stored = read(b"".join(written(image)), image.provenance.snapshot_name)
        end = image.provenance.end_offset
        self.step(HighWatermark(max(high_watermark or end, self.loader.high_watermark or 0)))
        at = image.provenance
        provenance = Provenance(at.offset, at.epoch, stored.append_ms, batch_aligned=True)
        self.step(SnapshotRead(folded(stored.batches, provenance)))
