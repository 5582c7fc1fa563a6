"""Writes the Python that encodes one version of one message.

The result is a list of parts, so that record data (and whatever else is large) goes to the
network without being copied; ``codec.encode`` joins them for those who want one piece.

The rules by which it is fast are those of ``decoding``, backwards: fixed fields wait and are
packed together with the length or the tag count behind them; lengths below 128 are one byte of
that; structs whose tagged fields all hold their defaults end in a zero of that too, and only the
others call a writer of tags.

A value that a version cannot carry is dropped where the schema says ``ignorable`` and is an
``UnsupportedVersionError`` elsewhere: this is how a caller learns that the peer is too old for
what it means to say.
"""

from collections.abc import Callable
from struct import error as StructError  # noqa: N812 -- a class, spelled as one
from typing import Any, Final

from barnabas.model.errors import LocalProtocolError, UnsupportedVersionError
from barnabas.wire.layout import Carried, Layout
from barnabas.wire.primitives import SMALL, Repeated, tag_section, uvarint
from barnabas.wire.source import Source, snake
from barnabas.wire.structs import UNKNOWN, ArrayOf, Blob, Kind, Scalar, StructOf, default_of

Encoder = Callable[[Any, list[Any]], None]
"""(message, parts to extend); raises ``LocalProtocolError``."""

PACK_MANY: Final = {
    code: Repeated(code, "pack") for code in ("?", "b", "h", "H", "i", "I", "q", "d", "16s")
}


def unencodable(message: str, version: int, why: Exception) -> LocalProtocolError:
    """Say which message held a value that has no form on the wire."""
    return LocalProtocolError(f"{message} v{version}: {why}")


def unsupported(message: str, version: int, field: str, value: object) -> UnsupportedVersionError:
    """Say which field a version cannot carry."""
    return UnsupportedVersionError(f"{message} v{version} cannot carry {field}={value!r}")


ALWAYS: Final = {
    "DAMAGE": (StructError, TypeError, AttributeError, ValueError),
    "unencodable": unencodable,
    "unsupported": unsupported,
    "uvarint": uvarint,
    "small": SMALL,
    "tag_section": tag_section,
}
"""What every written encoder may speak of."""


class EncoderSource(Source):
    """Writes one encoder, or one writer of tags.

    ``run`` holds the fixed fields that wait to be packed together, each with its expression.
    """

    def __init__(self, names: dict[str, Any], late_tags: Callable[[Layout], Encoder]) -> None:
        super().__init__({**ALWAYS, **names})
        self.late_tags = late_tags
        self.run: list[tuple[str, str]] = []

    def message(self, layout: Layout) -> str:
        """Write ``encode(message, parts)`` for a whole message."""
        with self.block("def encode(message, parts):"):
            self.line("add = parts.append")
            with self.block("try:"):
                self.struct(layout, "message")
                self.flush()
                if self.lines[-1].endswith("try:"):
                    self.line("pass")
            with self.block("except DAMAGE as why:"):
                self.line(
                    f"raise unencodable({layout.struct.__name__!r}, {layout.version}, why) from why"
                )
        return self.text()

    def tags(self, layout: Layout) -> str:
        """Write ``write_tags(struct, parts)`` for a struct of which some tag is present."""
        with self.block("def write_tags(struct, parts):"):
            self.line("tags = []")
            for carried in layout.tagged:
                with self.block(f"if {self.differs(layout, carried.name, 'struct')}:"):
                    self.line("pieces = []")
                    self.line("add = pieces.append")
                    self.tagged(carried, f"struct.{carried.name}", layout)
                    self.flush()
                    self.line(f'tags.append(({carried.tag}, b"".join(pieces)))')
            self.line(f"tags += struct.{UNKNOWN}")
            self.line("parts.append(tag_section(tags))")
        return self.text()

    def tagged(self, carried: Carried, value: str, layout: Layout) -> None:
        """Write the content of a tagged field; a struct that may be null says so by a varint."""
        if isinstance(carried.kind, StructOf) and carried.nullable:
            with self.block(f"if {value} is None:"):
                self.run.append(("B", "0"))
                self.flush()
            with self.block("else:"):
                self.run.append(("B", "1"))
                self.inner(carried.kind, value, layout)
                self.flush()
        else:
            self.field(carried, value, layout)

    def differs(self, layout: Layout, name: str, variable: str) -> str:
        """Return a condition that holds when a field has another value than its default.

        A null is another value than an empty one: to ask for no topics is not to ask for all.
        """
        declared = layout.struct.FIELDS[name]
        default = default_of(layout.struct, declared)
        value = f"{variable}.{name}"
        if default is None:
            return f"{value} is not None"
        if default in ((), "", b""):
            nullable = declared.nullable != "none"
            return f"({value} is None or {value})" if nullable else value
        if default is False:
            return value
        if default is True:
            return f"not {value}"
        constant = self.constant(default, f"{layout.struct.__name__}_{name}")
        if isinstance(declared.kind, StructOf):
            return f"({value} is not {constant} and {value} != {constant})"
        return f"{value} != {constant}"

    def struct(self, layout: Layout, variable: str) -> None:
        """Write a struct: what it must not say, its fields, its tags."""
        name = layout.struct.__name__
        for absent in layout.absent:
            if not layout.struct.FIELDS[absent].ignorable:
                with self.block(f"if {self.differs(layout, absent, variable)}:"):
                    self.line(
                        f"raise unsupported({layout.struct.MESSAGE.__name__!r}, {layout.version}, "
                        f"{absent!r}, {variable}.{absent})"
                    )
        for carried in layout.in_place:
            self.field(carried, f"{variable}.{carried.name}", layout)
        if layout.flexible:
            present = [f"{variable}.{UNKNOWN}"]
            present += (self.differs(layout, carried.name, variable) for carried in layout.tagged)
            with self.block(f"if {' or '.join(present)}:"):
                waiting = list(self.run)
                self.flush()
                if layout.tagged:
                    writer = f"write_tags_of_{name}"
                    self.names[writer] = self.late_tags(layout)
                    self.line(f"{writer}({variable}, parts)")
                else:
                    self.line(f"add(tag_section({variable}.{UNKNOWN}))")
            with self.block("else:"):
                self.run = [*waiting, ("B", "0")]
                self.flush()

    def field(self, carried: Carried, value: str, layout: Layout) -> None:
        """Write a field in its place."""
        match carried.kind:
            case Scalar(code=code):
                self.run.append((code, value))
            case Blob() as kind:
                self.blob(kind, carried, value)
            case StructOf() as kind if carried.nullable:
                with self.block(f"if {value} is None:"):
                    waiting = list(self.run)
                    self.run.append(("b", "-1"))
                    self.flush()
                with self.block("else:"):
                    self.run = [*waiting, ("b", "1")]
                    self.inner(kind, value, layout)
                    self.flush()
            case StructOf() as kind:
                self.inner(kind, value, layout)
            case ArrayOf(element=element):
                self.array(element, carried, value, layout)

    def inner(self, kind: StructOf, value: str, layout: Layout) -> None:
        """Write a struct inside a struct."""
        variable = snake(kind.name)
        self.line(f"{variable} = {value}")
        self.struct(layout.inner(kind), variable)

    def length(self, carried: Carried, small: bool, variable: str = "length") -> None:
        """Write a length that the code has in a variable (as the wire has it: null included)."""
        if not carried.compact:
            self.run.append(("h" if small else "i", variable))
            self.flush()
            return
        if not self.run:
            self.line(f"add(small[{variable}] if {variable} < 128 else uvarint({variable}))")
            return
        waiting = list(self.run)
        with self.block(f"if {variable} < 128:"):
            self.run.append(("B", variable))
            self.flush()
        with self.block("else:"):
            self.run = waiting
            self.flush()
            self.line(f"add(uvarint({variable}))")

    def blob(self, kind: Blob, carried: Carried, value: str) -> None:
        """Write text or bytes."""
        text = kind.name == "string"
        more = " + 1" if carried.compact else ""
        null = 0 if carried.compact else -1
        if carried.nullable:
            self.line(f"content = {value}")
            with self.block("if content is None:"):
                self.line(f'content = b""; length = {null}')
            with self.block("else:"):
                if text:
                    self.line("content = content.encode()")
                self.line(f"length = len(content){more}")
        else:
            self.line(f"content = {value}.encode()" if text else f"content = {value}")
            self.line(f"length = len(content){more}")
        self.length(carried, small=text)
        self.line("add(content)")

    def array(self, element: Kind, carried: Carried, value: str, layout: Layout) -> None:
        """Write an array."""
        items, count = f"items{self.depth}", f"count{self.depth}"
        more = " + 1" if carried.compact else ""
        self.line(f"{items} = {value}")
        if carried.nullable:
            with self.block(f"if {items} is None:"):
                self.line(f"{items} = (); {count} = {0 if carried.compact else -1}")
            with self.block("else:"):
                self.line(f"{count} = len({items}){more}")
        else:
            self.line(f"{count} = len({items}){more}")
        self.length(carried, small=False, variable=count)
        match element:
            case Scalar(code=code, name=name):
                self.names[f"many_{name}"] = PACK_MANY[code]
                self.line(f"if {items}: add(many_{name}[len({items})](*{items}))")
            case StructOf():
                variable = snake(element.name)
                with self.block(f"for {variable} in {items}:"):
                    self.struct(layout.inner(element), variable)
                    self.flush()
            case Blob():
                plain = Carried(carried.name, carried.declared, layout.version, carried.compact, -1)
                plain.nullable = False
                with self.block(f"for item in {items}:"):
                    self.blob(element, plain, "item")
            case ArrayOf():
                raise AssertionError("Kafka has no arrays of arrays")

    def flush(self) -> None:
        """Write the packing of the fixed fields that wait."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        values = [value for _, value in self.run]
        self.run = []
        pack = self.packer(codes, "pack")
        if all(value.lstrip("-").isdigit() for value in values):
            self.line(f"add({self.names[pack](*map(int, values))!r})")
        else:
            self.line(f"add({pack}({', '.join(values)}))")
