"""Identities."""

import pytest

from barnabas.model.ids import ZERO_UUID, Uuid, parse_uuid, uuid_text


def test_no_id_is_sixteen_zeros() -> None:
    assert bytes(16) == ZERO_UUID


def test_an_id_is_written_as_kafka_prints_it_and_read_again() -> None:
    one = Uuid(bytes(15) + b"\1")
    assert uuid_text(one) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ") == one
    odd = Uuid(bytes(range(240, 256)))
    assert parse_uuid(uuid_text(odd)) == odd
    assert not set(uuid_text(odd)) & set("+/=")


@pytest.mark.parametrize(
    "text", ["", "no id", "AAAAAAAAAAAAAAAAAAAAAQAA", "AAAA+A/AAAAAAAAAAAAAAQ"]
)
def test_what_is_no_id_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="id") as refused:
        parse_uuid(text)
    assert repr(text) in str(refused.value)
