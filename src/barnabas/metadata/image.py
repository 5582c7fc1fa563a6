"""The image: what the cluster is, as of one offset of the metadata log.

    provenance ── features ── cluster ── topics ── configs ── client quotas
               └─ producer ids ── ACLs ── SCRAM ── delegation tokens

An image never changes.  Whoever takes one and keeps it reads one state of the cluster for as long
as they like, without a lock, and whoever wants the news takes the next (M-04).  Two images share
all that the records between them have not touched.

Fixed by Kafka's MetadataImage.java and MetadataProvenance.java.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.metadata import (
    acls,
    cluster,
    configs,
    features,
    producer_ids,
    quotas,
    scram,
    tokens,
    topics,
)
from barnabas.metadata.levels import Form
from barnabas.model.value import value
from barnabas.wire.structs import Message


@value
class Provenance:
    """Where in the log an image ends."""

    offset: int
    """Of the last record in it; -1 before the first."""
    epoch: int
    """Of the leader that wrote that record."""
    append_ms: int
    """When it was written, by that leader's clock."""
    batch_aligned: bool
    """Whether that record is the last of its batch.  Only there may a snapshot end."""

    @property
    def end_offset(self) -> int:
        """The offset behind the last record, which with the epoch names a snapshot."""
        return self.offset + 1

    @property
    def snapshot_name(self) -> str:
        """What the file of a snapshot that ends here is called."""
        return f"{self.end_offset:020}-{self.epoch:010}.checkpoint"


NOWHERE: Final = Provenance(-1, -1, -1, batch_aligned=False)


@value
class MetadataImage:
    """The state of the cluster at one offset."""

    provenance: Provenance
    features: features.FeaturesImage
    cluster: cluster.ClusterImage
    topics: topics.TopicsImage
    configs: configs.ConfigsImage
    client_quotas: quotas.ClientQuotasImage
    producer_ids: producer_ids.ProducerIdsImage
    acls: acls.AclsImage
    scram: scram.ScramImage
    delegation_tokens: tokens.DelegationTokensImage

    @property
    def offset(self) -> int:
        """The offset of the last record in it."""
        return self.provenance.offset

    @property
    def is_empty(self) -> bool:
        """Whether no record has left a trace in it."""
        return all(
            part.is_empty
            for part in (
                self.features,
                self.cluster,
                self.topics,
                self.configs,
                self.client_quotas,
                self.producer_ids,
                self.acls,
                self.scram,
                self.delegation_tokens,
            )
        )

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the records that make this image, with their versions: features first (M-11).

        The order depends on the content alone, so two nodes write the same bytes.
        """
        yield from self.features.records(form)
        yield from self.cluster.records(form)
        yield from self.topics.records(form)
        yield from self.configs.records(form)
        yield from self.client_quotas.records(form)
        yield from self.producer_ids.records(form)
        yield from self.acls.records(form)
        yield from self.scram.records(form)
        yield from self.delegation_tokens.records(form)


EMPTY: Final = MetadataImage(
    NOWHERE,
    features.EMPTY,
    cluster.EMPTY,
    topics.EMPTY,
    configs.EMPTY,
    quotas.EMPTY,
    producer_ids.EMPTY,
    acls.EMPTY,
    scram.EMPTY,
    tokens.EMPTY,
)
