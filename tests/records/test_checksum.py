"""CRC-32C, against its published values and a stupid twin."""

from importlib.machinery import PathFinder

from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.checksum import crc32c, load


def slow_crc32c(data: bytes, before: int = 0) -> int:
    """Compute CRC-32C bit by bit (polynomial 0x1EDC6F41, reflected)."""
    register = before ^ 0xFFFFFFFF
    for octet in data:
        register ^= octet
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_the_published_values_of_rfc_3720_come_out() -> None:
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


@given(st.binary(max_size=200), st.integers(0, 200))
def test_a_checksum_goes_on_from_any_cut_and_from_any_kind_of_buffer(data: bytes, cut: int) -> None:
    expected = slow_crc32c(data)
    view = memoryview(bytearray(data))
    assert crc32c(data) == expected
    assert crc32c(view[cut:], crc32c(view[:cut])) == expected


def test_an_extension_that_has_moved_is_found_by_the_ordinary_import() -> None:
    moved = load(lambda name, path: PathFinder.find_spec(name, path) if path is None else None)
    assert moved(b"123456789") == 0xE3069283
    missing = load(lambda _name, _path: None)
    assert missing(b"123456789") == 0xE3069283
