"""Identities."""

import pytest

from barnabas.model.ids import ZERO_UUID, Uuid, is_reserved_directory, parse_uuid, uuid_text


def test_no_id_is_sixteen_zeros() -> None:
    assert bytes(16) == ZERO_UUID


def test_an_id_is_written_as_kafka_prints_it_and_read_again() -> None:
    one = Uuid(bytes(15) + b"\1")
    assert uuid_text(one) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ") == one
    assert parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ==") == one
    odd = Uuid(bytes(range(240, 256)))
    assert parse_uuid(uuid_text(odd)) == odd
    assert not set(uuid_text(odd)) & set("+/=")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "decoded as 0 bytes, which is not equal to the expected 16 bytes"),
        ("abc", "`abc` decoded as 2 bytes"),
        ("no id", "`no id` is no base64"),
        ("AAAAAAAAAAAAAAAAAAAAAQAA", "decoded as 18 bytes"),
        ("AAAA+A/AAAAAAAAAAAAAAQ", "`AAAA+A/AAAAAAAAAAAAAAQ` is no base64"),
        ("a" * 25, "with prefix `aaaaaaaaaaaaaaaaaaaaaaaa` is too long"),
    ],
)
def test_what_is_no_id_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="Input string ") as refused:
        parse_uuid(text)
    assert why in str(refused.value)


def test_a_hundred_ids_are_no_directorys() -> None:
    assert is_reserved_directory(Uuid(bytes(15) + b"\x63"))
    assert not is_reserved_directory(Uuid(bytes(15) + b"\x64"))
