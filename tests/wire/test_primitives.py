"""Varints, lengths, and tags that nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import LocalProtocolError
from barnabas.wire.primitives import (
    BadBytesError,
    Repeated,
    check_count,
    long_length,
    read_tag,
    read_unknown_tags,
    read_uvarint,
    tag_section,
    uvarint,
)


@given(st.integers(0, 2**32 - 1))
def test_varints_read_as_they_were_written(value: int) -> None:
    assert read_uvarint(b"\xff" + uvarint(value) + b"\xff", 1) == (value, 1 + len(uvarint(value)))


@pytest.mark.parametrize(
    ("value", "wire"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_varints_are_these_bytes(value: int, wire: str) -> None:
    assert uvarint(value).hex() == wire


def test_a_varint_may_be_longer_than_it_needs_to_be_but_not_longer_than_five_bytes() -> None:
    assert read_uvarint(b"\x80\x00", 0) == (0, 2)
    assert read_uvarint(b"\x81\x80\x80\x80\x00", 0) == (1, 5)
    with pytest.raises(BadBytesError, match="longer than five bytes"):
        read_uvarint(b"\x80\x80\x80\x80\x80\x00", 0)
    with pytest.raises(BadBytesError, match="wider than 32 bits"):
        read_uvarint(b"\xff\xff\xff\xff\x1f", 0)
    with pytest.raises(IndexError):
        read_uvarint(b"\x80", 0)


def test_a_long_length_is_compared_with_what_is_left() -> None:
    wire = b"...\x81\x01" + bytes(128)  # the length is that of 128 bytes, plus one
    assert long_length(wire, 0, 4) == (129, 1)
    with pytest.raises(BadBytesError, match="length 128 where 127 bytes are left"):
        long_length(wire[:-1], 0, 4)


def test_an_array_cannot_have_more_elements_than_there_are_bytes() -> None:
    check_count(bytes(10), 4, 6)
    with pytest.raises(BadBytesError, match="array of 7 where 6 bytes are left"):
        check_count(bytes(10), 4, 7)


class Holder:
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()


def test_unknown_tags_are_kept_in_the_order_they_came() -> None:
    holder = Holder()
    wire = b"\x02" + b"\x05\x02ab" + b"\x03\x00" + b"!"
    assert read_unknown_tags(wire, 1, 2, holder) == len(wire) - 1
    assert holder.unknown_tagged_fields == ((5, b"ab"), (3, b""))


def test_many_unknown_tags_have_a_long_count() -> None:
    tags = tuple((number, b"") for number in range(1000, 1200))
    holder = Holder()
    wire = tag_section(tags)
    assert read_unknown_tags(wire, 1, wire[0], holder) == len(wire)
    assert holder.unknown_tagged_fields == tags


def test_a_tag_comes_once_and_within_its_bytes() -> None:
    seen: set[int] = set()
    assert read_tag(b"\x05\x02ab", 0, seen) == (5, 2, 4)
    with pytest.raises(BadBytesError, match="tag 5 comes twice"):
        read_tag(b"\x05\x02ab", 0, seen)
    with pytest.raises(BadBytesError, match="tag 6 of 3 bytes where 2 are left"):
        read_tag(b"\x06\x03ab", 0, seen)


def test_tags_are_written_in_their_order_and_once() -> None:
    assert tag_section([(5, b"x"), (3, b"")]).hex() == "020300050178"
    with pytest.raises(LocalProtocolError, match="two tagged fields have the tag 5"):
        tag_section([(5, b"x"), (5, b"y")])


def test_repeated_packs_and_unpacks_any_number_at_once_and_keeps_only_small_ones() -> None:
    pack, unpack = Repeated("h", "pack"), Repeated("h", "unpack_from")
    assert pack[3](1, 2, 3) == b"\0\1\0\2\0\3"
    assert unpack[2](b"\0\1\0\2\0\3", 2) == (2, 3)
    assert Repeated("16s", "unpack_from")[2](bytes(32), 0) == (bytes(16), bytes(16))
    assert len(unpack[1000](bytes(2000), 0)) == 1000
    assert set(unpack) == {2}
