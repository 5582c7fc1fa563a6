"""Draws messages from their declarations: any value that a version can carry."""

from functools import cache
from typing import cast

from hypothesis import strategies as st

from barnabas.wire.layout import Carried, Layout
from barnabas.wire.structs import (
    UNKNOWN,
    ArrayOf,
    Blob,
    Kind,
    Message,
    Scalar,
    Struct,
    StructOf,
    default_of,
)

FIRST_UNKNOWN_TAG = 1000
"""No struct of Kafka's has a tag so large, so these are unknown to all of them."""


@cache
def messages(message: type[Message], version: int) -> st.SearchStrategy[Message]:
    """Draw a message that this version can carry."""
    return cast(st.SearchStrategy[Message], structs(message, version))


@cache
def structs(struct: type[Struct], version: int) -> st.SearchStrategy[Struct]:
    """Draw a struct that this version can carry."""
    layout = Layout(struct, version)
    fields = {
        carried.name: field(carried, layout) for carried in (*layout.in_place, *layout.tagged)
    }
    if layout.flexible:
        fields[UNKNOWN] = st.one_of(st.just(()), unknown_tags)
    return st.fixed_dictionaries(fields).map(lambda values: struct(**values))


unknown_tags: st.SearchStrategy[object] = st.dictionaries(
    st.integers(FIRST_UNKNOWN_TAG, 2**31 - 2), st.binary(max_size=200), max_size=2
).map(lambda tags: tuple(sorted(tags.items())))


def field(carried: Carried, layout: Layout) -> st.SearchStrategy[object]:
    """Draw the value of a field, often its default."""
    drawn = of_kind(carried.kind, layout)
    if carried.nullable:
        drawn = st.none() | drawn
    return (
        st.just(default_of(layout.struct, carried.declared)) | drawn if carried.tag >= 0 else drawn
    )


def of_kind(kind: Kind, layout: Layout) -> st.SearchStrategy[object]:
    """Draw a value of a kind."""
    match kind:
        case Scalar(name="boolean"):
            return st.booleans()
        case Scalar(name="float64"):
            return st.floats(allow_nan=False)
        case Scalar(name="uuid"):
            return st.binary(min_size=16, max_size=16)
        case Scalar(code=code, size=size):
            bits = size * 8
            if code.isupper():
                return st.integers(0, 2**bits - 1)
            return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        case Blob(name="string"):
            return st.text(max_size=200)
        case Blob():
            # Around the lengths that take one byte more.
            return st.binary(max_size=300) | st.sampled_from((16_382, 16_383, 16_384)).map(bytes)
        case StructOf(name=name):
            return structs(getattr(layout.struct.MESSAGE, name), layout.version)
        case ArrayOf(element=element):
            return st.lists(of_kind(element, layout), max_size=3)
