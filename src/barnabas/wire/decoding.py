"""Writes the Python that decodes one version of one message.

The rules by which it is fast, each measured:

- *Neighbours are read together.*  Fields of fixed size, up to and including the first byte of the
  length that follows them or of the tag count that ends their struct, are one ``unpack_from``
  straight into the attributes.
- *The position moves once per variable field.*  What is known in advance is added while reading
  (``pos + 7``), not stored.
- *A lie about a length needs no check where it is told.*  Slices clip; the position goes beyond
  the buffer; the next read, or whoever compares the end, finds out.  Only what allocates or loops
  is checked first (``primitives.long_length``, ``check_count``).
- *What is rare is elsewhere.*  A struct with tags present calls a reader that is itself written
  on first use; the usual zero byte costs one comparison.

Messages without views are decoded from ``bytes`` (copied if need be: slicing and decoding a
``bytes`` is half the price of a ``memoryview``).  Messages with views are decoded from what they
are given: of a ``memoryview`` record data is a view, of ``bytes`` a copy.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct as Packer
from struct import error as StructError  # noqa: N812 -- a class, spelled as one
from typing import Any, Final

from barnabas.model.errors import RemoteProtocolError
from barnabas.wire.layout import VIEWS, Carried, Layout, least_bytes
from barnabas.wire.primitives import (
    BadBytesError,
    Repeated,
    check_count,
    long_length,
    read_tag,
    read_unknown_tags,
    read_uvarint,
)
from barnabas.wire.source import Source, size_of, snake
from barnabas.wire.structs import UNKNOWN, ArrayOf, Blob, Kind, Scalar, StructOf, default_of

Decoder = Callable[[Any, int], tuple[Any, int]]
"""(buffer, position) to (message, position behind it); raises ``RemoteProtocolError``.

A length that reaches beyond the buffer may show only in the position behind the message, so
whoever calls this compares that with the end of the buffer, as ``codec.decode`` does.
"""

TagReader = Callable[[Any, int, int, Any], int]
"""(buffer, position, count, struct) to the position behind the tags."""

UNPACK_MANY: Final = {
    code: Repeated(code, "unpack_from") for code in ("?", "b", "h", "H", "i", "I", "q", "d", "16s")
}


FEW: Final = 16
"""Arrays of scalars below this length have their unpacker in a tuple: replicas, mostly."""


@cache
def unpack_few(code: str) -> tuple[Callable[..., Any], ...]:
    """Return the unpackers of 0, 1, 2 and so on of a scalar."""
    return tuple(UNPACK_MANY[code][count] for count in range(FEW))


SHORT_TEXT: Final = 64
"""Text below this length is unpacked from a view: two thirds of what slicing the view costs."""


@cache
def unpack_text(more: int) -> tuple[Callable[..., Any], ...]:
    """Return the unpackers of text by its length on the wire, which may count one too many."""
    return tuple(Packer(f">{max(length - more, 0)}s").unpack_from for length in range(SHORT_TEXT))


def damaged(message: str, version: int, why: Exception) -> RemoteProtocolError:
    """Say which message the bytes were meant to be."""
    if isinstance(why, BadBytesError | UnicodeDecodeError):
        return RemoteProtocolError(f"{message} v{version}: {why}")
    return RemoteProtocolError(f"{message} v{version}: ends in the middle of a field")


def was_null(field: str) -> BadBytesError:
    """Say that a field was null that must not be."""
    return BadBytesError(f"{field} is null, which this version does not allow")


def early_tag(tag: int) -> BadBytesError:
    """Say that a tag was used before the version that brought it."""
    return BadBytesError(f"tag {tag} belongs to a later version")


def wrong_size(tag: int) -> BadBytesError:
    """Say that the size of a tagged field is not the size of its content."""
    return BadBytesError(f"tag {tag} has another size than its content")


ALWAYS: Final = {
    "new": object.__new__,
    "DAMAGE": (IndexError, ValueError, StructError),
    "damaged": damaged,
    "was_null": was_null,
    "early_tag": early_tag,
    "wrong_size": wrong_size,
    "long_length": long_length,
    "check_count": check_count,
    "read_uvarint": read_uvarint,
    "read_tag": read_tag,
    "read_unknown_tags": read_unknown_tags,
}
"""What every written decoder may speak of."""


class DecoderSource(Source):
    """Writes one decoder, or one reader of tags.

    ``ahead`` is how far the code has read beyond what its variable ``pos`` says; ``run`` holds the
    fixed fields that wait to be read together, each with the target it goes to.
    """

    def __init__(
        self, names: dict[str, Any], views: bool, late_tags: Callable[[Layout], TagReader]
    ) -> None:
        super().__init__({**ALWAYS, **names})
        self.views = views
        self.late_tags = late_tags
        self.ahead = 0
        self.run: list[tuple[str, str]] = []

    def message(self, layout: Layout) -> str:
        """Write ``decode(buf, pos)`` for a whole message."""
        what = f"{layout.struct.__name__!r}, {layout.version}"
        with self.block("def decode(buf, pos):"):
            if not self.views:
                with self.block("if type(buf) is not bytes:"):
                    self.line("buf = buf.tobytes()")
            with self.block("try:"):
                self.struct(layout, "message")
                self.flush()
                self.settle()
            with self.block("except DAMAGE as why:"):
                self.line(f"raise damaged({what}, why) from why")
            self.line("return message, pos")
        return self.text()

    def tags(self, layout: Layout) -> str:
        """Write ``read_tags(buf, pos, count, struct)`` for a struct with tags of its own."""
        with self.block("def read_tags(buf, pos, count, struct):"):
            with self.block("if count > 127:"):
                self.line("count, pos = read_uvarint(buf, pos - 1)")
            self.line("seen = set()")
            self.line("unknown = []")
            with self.block("for _ in range(count):"):
                self.line("tag, pos, end = read_tag(buf, pos, seen)")
                word = "if"
                for carried in layout.tagged:
                    with self.block(f"{word} tag == {carried.tag}:"):
                        self.tagged(carried, f"struct.{carried.name}", layout)
                        self.flush()
                        self.settle()
                        with self.block("if pos != end:"):
                            self.line("raise wrong_size(tag)")
                    word = "elif"
                for tag in layout.later_tags:
                    with self.block(f"{word} tag == {tag}:"):
                        self.line("raise early_tag(tag)")
                    word = "elif"
                with self.block("else:"):
                    self.line("unknown.append((tag, bytes(buf[pos:end])))")
                    self.line("pos = end")
            self.line(f"struct.{UNKNOWN} = tuple(unknown)")
            self.line("return pos")
        return self.text()

    def tagged(self, carried: Carried, target: str, layout: Layout) -> None:
        """Write the reading of a tagged field; a struct that may be null says so by a varint."""
        if isinstance(carried.kind, StructOf) and carried.nullable:
            self.line("present, pos = read_uvarint(buf, pos)")
            with self.block("if present:"):
                self.inner(carried.kind, target, layout)
                self.flush()
                self.settle()
            with self.block("else:"):
                self.line(f"{target} = None")
        else:
            self.field(carried, target, layout)

    def struct(self, layout: Layout, variable: str) -> None:
        """Write the making of a struct, field by field, and its tags."""
        name = layout.struct.__name__
        self.names[name] = layout.struct
        self.line(f"{variable} = new({name})")
        self.content_of_struct(layout, variable)

    def content_of_struct(self, layout: Layout, variable: str) -> None:
        """Write the reading of a struct that has been made."""
        name = layout.struct.__name__
        for absent in layout.absent:
            self.default(layout, absent, variable)
        for carried in layout.tagged:
            self.default(layout, carried.name, variable)
        self.line(f"{variable}.{UNKNOWN} = ()")
        for carried in layout.in_place:
            self.field(carried, f"{variable}.{carried.name}", layout)
        if layout.flexible:
            self.run.append(("B", "tags"))
            self.flush()
            self.settle()
            reader = "read_unknown_tags"
            if layout.tagged or layout.later_tags:
                reader = f"read_tags_of_{name}"
                self.names[reader] = self.late_tags(layout)
            with self.block("if tags:"):
                self.line(f"pos = {reader}(buf, pos, tags, {variable})")

    def default(self, layout: Layout, name: str, variable: str) -> None:
        """Write what a field holds that the bytes do not mention."""
        value = default_of(layout.struct, layout.struct.FIELDS[name])
        constant = self.constant(value, f"{layout.struct.__name__}_{name}")
        self.line(f"{variable}.{name} = {constant}")

    def field(self, carried: Carried, target: str, layout: Layout) -> None:
        """Write the reading of a field in its place."""
        match carried.kind:
            case Scalar(code=code):
                self.run.append((code, target))
            case Blob() as kind:
                self.blob(kind, carried, target)
            case StructOf() as kind if carried.nullable:
                self.run.append(("b", "present"))
                self.flush()
                self.settle()
                with self.block("if present >= 0:"):
                    self.inner(kind, target, layout)
                    self.flush()
                    self.settle()
                with self.block("else:"):
                    self.line(f"{target} = None")
            case StructOf() as kind:
                self.inner(kind, target, layout)
            case ArrayOf(element=element):
                self.array(element, carried, target, layout)

    def inner(self, kind: StructOf, target: str, layout: Layout) -> None:
        """Write a struct inside a struct."""
        variable = snake(kind.name)
        self.struct(layout.inner(kind), variable)
        self.line(f"{target} = {variable}")

    def length(
        self, carried: Carried, small: bool, large: bool = False, variable: str = "length"
    ) -> int:
        """Write the reading of a length; return by how much it is larger than what it counts.

        Record data is seldom below 128 bytes, so lengths of two and three bytes are read inline.
        """
        if carried.compact:
            self.run.append(("B", variable))
            self.flush()
            with self.block(f"if {variable} > 127:"):
                if large:
                    self.two_or_three_bytes(variable)
                else:
                    self.line(f"{variable}, pos = long_length(buf, pos, {self.ahead})")
            return 1
        self.run.append(("h" if small else "i", variable))
        self.flush()
        return 0

    def two_or_three_bytes(self, variable: str) -> None:
        """Write the reading of the rest of a length whose first byte says that there is more."""
        self.line(f"second = buf[{self.at()}]")
        with self.block("if second < 128:"):
            self.line(f"{variable} += (second << 7) - 128")
            self.line("pos += 1")
        with self.block("else:"):
            self.line(f"third = buf[{self.at()} + 1]")
            with self.block("if third < 128:"):
                self.line(f"{variable} += (third << 14) + (second << 7) - 16512")
                self.line("pos += 2")
            with self.block("else:"):
                self.line(f"{variable}, pos = long_length(buf, pos, {self.ahead})")

    def blob(self, kind: Blob, carried: Carried, target: str) -> None:
        """Write the reading of text or bytes; what is empty, as much is, costs no slice."""
        more = self.length(carried, small=kind.name == "string", large=kind.name in VIEWS)
        before = self.ahead
        with self.block(f"if length > {more}:"):
            self.content(kind, target, more)
        with self.block(f"elif length == {more}:"):
            self.line(f"{target} = {kind.empty!r}")
            if before:
                self.line(f"pos += {before}")
        with self.block("else:"):
            if carried.nullable:
                self.line(f"{target} = None")
                if before:
                    self.line(f"pos += {before}")
            else:
                self.line(f"raise was_null({carried.name!r})")

    def content(self, kind: Blob, target: str, more: int) -> None:
        """Write the slice that is the content of text or bytes."""
        reach = self.ahead - more
        self.line("stop = pos + length" + (f" + {reach}" if reach > 0 else " - 1" * -reach))
        piece = f"buf[{self.at()}:stop]"
        match kind.name, self.views:
            case "string", True:
                self.names["short_text"] = unpack_text(more)
                with self.block(f"if length < {SHORT_TEXT}:"):
                    self.line(f"{target} = short_text[length](buf, {self.at()})[0].decode()")
                with self.block("else:"):
                    self.line(f'{target} = str({piece}, "utf-8")')
            case "string", False:
                self.line(f"{target} = {piece}.decode()")
            case "octets", True:
                self.line(f"{target} = bytes({piece})")
            case _:
                self.line(f"{target} = {piece}")
        self.line("pos = stop")
        self.ahead = 0

    def array(self, element: Kind, carried: Carried, target: str, layout: Layout) -> None:
        """Write the reading of an array; an empty or absent one is the rare branch."""
        count = f"count{self.depth}"
        more = self.length(carried, small=False, variable=count)
        if not more:
            with self.block(f"if {count} > 127:"):
                self.line(f"check_count(buf, {self.at()}, {count})")
        self.settle()
        with self.block(f"if {count} > {more}:"):
            if isinstance(element, Scalar):
                self.scalars(element, target, count, more)
            else:
                self.elements(element, carried, target, layout, count, more)
        with self.block(f"elif {count} == {more}:"):
            self.line(f"{target} = ()" if isinstance(element, Scalar) else f"{target} = []")
        with self.block("else:"):
            if carried.nullable:
                self.line(f"{target} = None")
            else:
                self.line(f"raise was_null({carried.name!r})")

    def scalars(self, element: Scalar, target: str, count: str, more: int) -> None:
        """Write the reading of all elements at once; few of them by an unpacker at hand."""
        many, few = f"many_{element.name}", f"few_{element.name}"
        self.names[many] = UNPACK_MANY[element.code]
        self.names[few] = unpack_few(element.code)
        if more:
            self.line(f"{count} -= 1")
        unpack = f"({few} if {count} < {FEW} else {many})[{count}]"
        self.line(f"{target} = {unpack}(buf, pos)")
        self.line(f"pos += {element.size} * {count}" if element.size > 1 else f"pos += {count}")

    def elements(
        self,
        element: Blob | StructOf | ArrayOf,
        carried: Carried,
        target: str,
        layout: Layout,
        count: str,
        more: int,
    ) -> None:
        """Write the reading of elements one by one.

        The first is in the list from the start: most arrays have one element, and appending to an
        empty list costs an allocation more.
        """
        items = f"items{self.depth}"
        match element:
            case StructOf(name=name):
                inside = layout.inner(element)
                # What bounds an array by its frame (``check_count``).
                assert least_bytes(inside) > 0, f"{name} can be empty"
                variable = snake(name)
                self.names[name] = inside.struct
                self.line(f"{target} = {items} = [{variable} := new({name})]")
                with self.block("while True:"):
                    self.content_of_struct(inside, variable)
                    self.flush()
                    self.settle()
                    with self.block(f"if {count} == {more + 1}:"):
                        self.line("break")
                    self.line(f"{count} -= 1")
                    self.line(f"{items}.append({variable} := new({name}))")
            case Blob():
                plain = Carried(carried.name, carried.declared, layout.version, carried.compact, -1)
                plain.nullable = False
                self.line(f"{target} = {items} = []")
                with self.block(f"while {count} > {more}:"):
                    self.line(f"{count} -= 1")
                    self.blob(element, plain, "item")
                    self.settle()
                    self.line(f"{items}.append(item)")
            case ArrayOf():
                raise AssertionError("Kafka has no arrays of arrays")

    def at(self) -> str:
        """Return where the next byte is."""
        return f"pos + {self.ahead}" if self.ahead else "pos"

    def settle(self) -> None:
        """Write what ``pos`` does not say yet, where code from two ways meets."""
        if self.ahead:
            self.line(f"pos += {self.ahead}")
            self.ahead = 0

    def flush(self) -> None:
        """Write the reading of the fixed fields that wait."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        targets = [target for _, target in self.run]
        self.run = []
        if codes == "B":
            self.line(f"{targets[0]} = buf[{self.at()}]")
        else:
            unpack = self.packer(codes, "unpack_from")
            left = ", ".join(targets) + ("," if len(targets) == 1 else "")
            self.line(f"{left} = {unpack}(buf, {self.at()})")
        self.ahead += size_of(codes)
