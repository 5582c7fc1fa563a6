"""ACLs: who may do what with which resource, from where; or may not.

Each has an id of its own, by which it is removed.  Types, patterns, operations and permissions are
Kafka's numbers, kept as told: who decides knows what they mean.

Fixed by Kafka's AclsDelta.java and StandardAcl.java.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.metadata.faults import BadRecord
from barnabas.metadata.levels import Form
from barnabas.metadata.table import Table, by_tail, changed, difference
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from barnabas.wire.structs import Message


@value
class Acl:
    """One rule."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@value
class AclsImage:
    """The rules, by id."""

    acls: Mapping[Uuid, Acl]

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule."""
        return not self.acls

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the rules as records."""
        for acl_id, acl in self.acls.items():
            yield form.versioned(
                AccessControlEntryRecord(
                    id=acl_id,
                    resource_type=acl.resource_type,
                    resource_name=acl.resource_name,
                    pattern_type=acl.pattern_type,
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
            )


EMPTY: Final = AclsImage(Table(by_tail))


class AclsDelta:
    """Rules that are new or others; None for one that is gone."""

    def __init__(self, image: AclsImage) -> None:
        self.image = image
        self.acls: dict[Uuid, Acl | None] = {}

    @staticmethod
    def between(image: AclsImage, later: AclsImage) -> "AclsDelta":
        """Return what leads from one image to another."""
        delta = AclsDelta(image)
        delta.acls = difference(image.acls, later.acls)
        return delta

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Add a rule, or remove one."""
        match record:
            case AccessControlEntryRecord():
                self.acls[record.id] = Acl(
                    record.resource_type,
                    record.resource_name,
                    record.pattern_type,
                    record.principal,
                    record.host,
                    record.operation,
                    record.permission_type,
                )
            case RemoveAccessControlEntryRecord(id=acl_id):
                if self.acls.get(acl_id, self.image.acls.get(acl_id)) is None:
                    raise BadRecord(f"ACL {uuid_text(acl_id)} is removed and not there")
                self.acls[acl_id] = None

    def apply(self) -> AclsImage:
        """Return the rules afterwards."""
        return AclsImage(changed(self.image.acls, self.acls))
