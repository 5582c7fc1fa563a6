"""Identities."""

from barnabas.model.ids import ZERO_UUID


def test_no_id_is_sixteen_zeros() -> None:
    assert bytes(16) == ZERO_UUID
