"""Source code in the making."""

import pytest

from barnabas.wire.source import Source, size_of, snake


def test_lines_are_indented_by_their_blocks() -> None:
    source = Source({})
    with source.block("if a:"):
        source.line("b")
        with source.block("while c:"):
            source.line("d")
    source.line("e")
    assert source.text() == "if a:\n    b\n    while c:\n        d\ne\n"


@pytest.mark.parametrize("literal", [None, True, -1, "it's", ()])
def test_what_has_a_literal_is_written_as_one(literal: object) -> None:
    source = Source({})
    assert source.constant(literal, "NAME") == repr(literal)
    assert not source.names


def test_what_has_no_literal_is_a_global() -> None:
    source, thing = Source({}), [1]
    assert source.constant(thing, "NAME") == "NAME"
    assert source.names == {"NAME": thing}


def test_a_packer_is_made_once_and_named_by_what_it_does() -> None:
    source = Source({})
    assert source.packer("hi?", "pack") == source.packer("hi?", "pack") == "pack_hio"
    assert source.names["pack_hio"](1, 2, True) == b"\0\1\0\0\0\2\1"
    assert size_of("hi?") == 7


def test_a_class_is_spelt_as_a_variable() -> None:
    assert snake("FetchTopic") == "fetch_topic"
