"""What publishers are told, and what a publisher is.

A publisher is a part of the node that has to know what the cluster is: the replicas, the
coordinators, whoever authorises.  It is told in the order of the log, with nothing left out: the
delta, the image it leads to, and a manifest that says where both come from.
"""

from typing import TypeAlias

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.model.value import value


@value
class LeaderAndEpoch:
    """Who leads the quorum, if anybody is known to."""

    leader_id: int | None
    epoch: int


NO_LEADER_YET = LeaderAndEpoch(None, 0)


@value
class LogManifest:
    """The delta is made of committed batches."""

    provenance: Provenance
    leader: LeaderAndEpoch
    batches: int
    size_bytes: int
    """Of the batches that ended since the last publication."""


@value
class SnapshotManifest:
    """The delta is the difference to a snapshot; or for a newcomer, to nothing."""

    provenance: Provenance
    size_bytes: int = 0
    """Of the log behind the last snapshot that was read: a newcomer was told nothing of it."""


Manifest: TypeAlias = LogManifest | SnapshotManifest


@value
class Publication:
    """One step from image to image: ``delta.image`` and the delta make ``image`` (M-04)."""

    delta: Delta
    image: MetadataImage
    manifest: Manifest


@value
class Publisher:
    """Somebody who has to know.  If it fails, and that is fatal, the node stops."""

    name: str
    fatal: bool = False
