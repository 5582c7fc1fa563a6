"""Client quotas: how much a user, a client or an address may use (KIP-546).

A quota is set for an entity, which is one or two of ``user``, ``client-id`` and ``ip`` with a name
each, or without one for everybody who has no quota of their own.

Fixed by Kafka's ClientQuotasDelta.java.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from barnabas.metadata.levels import Form
from barnabas.metadata.table import Table, by_text, changed, difference
from barnabas.model.value import value
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.structs import Message

Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Types and names, sorted by type."""


def entity(parts: Mapping[str, str | None]) -> Entity:
    """Return the entity of types and names."""
    return tuple(sorted(parts.items(), key=lambda part: part[0]))


def place(entity: Entity) -> int:
    """Place an entity by its names."""
    return by_text("/".join(name or "" for _, name in entity))


def order(entity: Entity) -> list[tuple[str, bool, str]]:
    """Sort entities; the one without a name comes first."""
    return [(kind, name is not None, name or "") for kind, name in entity]


NO_QUOTAS: Final[Mapping[str, float]] = {}


@value
class ClientQuotasImage:
    """The quotas of each entity, by name; no entity is without one."""

    entities: Mapping[Entity, Mapping[str, float]]

    @property
    def is_empty(self) -> bool:
        """Whether there is no quota."""
        return not self.entities

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the quotas as records."""
        for entity, quotas in self.entities.items():
            parts = [
                ClientQuotaRecord.EntityData(entity_type=kind, entity_name=name)
                for kind, name in entity
            ]
            for key, limit in sorted(quotas.items()):
                yield form.versioned(ClientQuotaRecord(entity=parts, key=key, value=limit))


EMPTY: Final = ClientQuotasImage(Table(place, order))


class ClientQuotasDelta:
    """All quotas of each entity of which any is another; None where none is left."""

    def __init__(self, image: ClientQuotasImage) -> None:
        self.image = image
        self.entities: dict[Entity, Mapping[str, float] | None] = {}

    @staticmethod
    def between(image: ClientQuotasImage, later: ClientQuotasImage) -> "ClientQuotasDelta":
        """Return what leads from one image to another."""
        delta = ClientQuotasDelta(image)
        delta.entities = difference(image.entities, later.entities)
        return delta

    def replay(self, record: ClientQuotaRecord) -> None:
        """Set a quota, or take it back."""
        whose = entity({part.entity_type: part.entity_name for part in record.entity})
        if whose in self.entities:
            before = self.entities[whose] or NO_QUOTAS
        else:
            before = self.image.entities.get(whose, NO_QUOTAS)
        limit = None if record.remove else record.value
        self.entities[whose] = changed(before, {record.key: limit}) or None

    def apply(self) -> ClientQuotasImage:
        """Return the quotas afterwards."""
        return ClientQuotasImage(changed(self.image.entities, self.entities))
