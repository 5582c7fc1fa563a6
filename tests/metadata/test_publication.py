"""Publications: values that say where they come from."""

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY, NOWHERE
from barnabas.metadata.publication import (
    NO_LEADER_YET,
    LogManifest,
    Publication,
    Publisher,
    SnapshotManifest,
)


def test_a_publication_says_whether_it_comes_from_the_log_or_from_a_snapshot() -> None:
    log = LogManifest(NOWHERE, NO_LEADER_YET, batches=1, size_bytes=80)
    kinds = [
        type(Publication(Delta(EMPTY), EMPTY, manifest).manifest)
        for manifest in (log, SnapshotManifest(NOWHERE))
    ]
    assert kinds == [LogManifest, SnapshotManifest]


def test_a_publisher_is_not_vital_unless_it_says_so() -> None:
    assert not Publisher("reader").fatal
    assert Publisher("reader", fatal=True).fatal
