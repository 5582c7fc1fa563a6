"""ACLs: added and removed by id."""

import pytest

from barnabas.metadata.acls import EMPTY, Acl, AclsDelta, AclsImage
from barnabas.metadata.faults import BadRecord
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)

ONE, TWO = Uuid(bytes([1] * 16)), Uuid(bytes([2] * 16))


def rule(acl_id: Uuid, name: str = "orders") -> AccessControlEntryRecord:
    """Return a rule."""
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=2,
        resource_name=name,
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=4,
        permission_type=3,
    )


def after(
    *records: AccessControlEntryRecord | RemoveAccessControlEntryRecord, image: AclsImage = EMPTY
) -> AclsDelta:
    """Return the delta of some records."""
    delta = AclsDelta(image)
    for record in records:
        delta.replay(record)
    return delta


def test_a_rule_is_added_with_all_that_it_says_and_removed_by_its_id() -> None:
    image = after(rule(ONE), rule(TWO, "clicks")).apply()
    assert image.acls[ONE] == Acl(2, "orders", 3, "User:alice", "*", 4, 3)
    image = after(RemoveAccessControlEntryRecord(id=ONE), image=image).apply()
    assert list(image.acls) == [TWO]
    assert after(RemoveAccessControlEntryRecord(id=TWO), image=image).apply().is_empty


def test_a_rule_that_comes_and_goes_in_one_update_leaves_no_trace_in_the_image() -> None:
    delta = after(rule(ONE), RemoveAccessControlEntryRecord(id=ONE))
    assert delta.apply().is_empty


@pytest.mark.parametrize("image", [EMPTY, after(rule(ONE)).apply()], ids=["never", "already"])
def test_a_rule_that_is_not_there_cannot_be_removed(image: AclsImage) -> None:
    removal = RemoveAccessControlEntryRecord(id=ONE)
    gone = after(removal, image=image) if image.acls else after(image=image)
    with pytest.raises(BadRecord, match="ACL AQEBAQEBAQEBAQEBAQEBAQ is removed and not there"):
        gone.replay(removal)


def test_between_two_images_lies_every_rule_that_is_new_or_gone() -> None:
    one, other = after(rule(ONE)).apply(), after(rule(TWO)).apply()
    delta = AclsDelta.between(one, other)
    assert delta.acls == {ONE: None, TWO: other.acls[TWO]}
    assert delta.apply() == other
