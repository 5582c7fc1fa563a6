r"""Properties files, as Java reads and writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import Misconfigured
from barnabas.node.properties import parse_properties, properties_text, whole_number

NO_SURROGATES = st.characters(exclude_categories=["Cs"])


def parsed(text: str) -> dict[str, str]:
    return parse_properties(text.encode("latin-1"), "here")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a  b c", {"a": "b c"}),
        ("  a\t=\t b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a==b", {"a": "=b"}),
        ("# a=b\n  ! c=d\n\n \t\ne=f", {"e": "f"}),
        ("a=#b", {"a": "#b"}),
        ("a=b,\\\n   c,\\\r\n\td\ne=f", {"a": "b,c,d", "e": "f"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n# no comment\nc=d", {"a": "b# no comment", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("a=\\t\\n\\r\\f\\q\\u00e9\\u20AC", {"a": "\t\n\r\fq\u00e9\u20ac"}),
        ("a=\xe9", {"a": "\xe9"}),
        ("a=b\ra=c", {"a": "c"}),
        ("", {}),
    ],
)
def test_lines_mean_what_they_mean_to_java(text: str, found: dict[str, str]) -> None:
    assert parsed(text) == found


def test_a_broken_escape_is_named() -> None:
    with pytest.raises(Misconfigured, match=r"^here: .*four hexadecimal digits"):
        parsed("a=\\u12")


def test_what_is_written_is_ascii_with_as_many_escapes_as_needed() -> None:
    lines = {"a b": " c d", "e=f": "g=h", "\xe9": "\U0001f600", "x": "1\n2"}
    assert properties_text(lines) == (
        b"#\na\\ b=\\ c d\ne\\=f=g\\=h\n\\u00E9=\\uD83D\\uDE00\nx=1\\n2\n"
    )


@given(st.dictionaries(st.text(NO_SURROGATES), st.text(NO_SURROGATES), max_size=5))
def test_what_was_written_is_read(lines: dict[str, str]) -> None:
    # Characters that take two units in Java come back as the two.
    assert parse_properties(properties_text(lines), "here") == {
        split(name): split(text) for name, text in lines.items()
    }


def split(text: str) -> str:
    """Return a text as Java holds it: in units of 16 bits."""
    raw = text.encode("utf-16-be")
    return "".join(chr(raw[i] << 8 | raw[i + 1]) for i in range(0, len(raw), 2))


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1_0", "0x1", "٣", "1.0", "2147483648", "--1"])
def test_what_java_reads_as_no_number_is_none(text: str) -> None:
    assert whole_number(text) is None


def test_numbers_are_those_of_java() -> None:
    assert [whole_number(text) for text in ("0", "+7", "-7", "007", "2147483647")] == [
        0,
        7,
        -7,
        7,
        2147483647,
    ]
    assert whole_number("32768", bits=16) is None
    assert whole_number("2147483648", bits=64) == 2147483648
