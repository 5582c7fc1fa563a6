"""Writes the Python that decodes one version of one message.

The rules by which it is fast, each measured:

- *Neighbours are read together.*  Fields of fixed size, up to and including the first byte of the
  length that follows them or of the tag count that ends their struct, are one ``unpack_from``
  straight into the attributes.
- *What may be null mostly is null or empty.*  So what stands behind it is read along with its
  length, and read again if the field did take bytes (``Along``).
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


def length_code(carried: Carried) -> str:
    """Return the code of a length; of a compact one, the code of its first byte."""
    if carried.compact:
        return "B"
    return "h" if isinstance(carried.kind, Blob) and carried.kind.name == "string" else "i"


def mostly_empty(kind: Kind) -> bool:
    """Say whether a field that may be null mostly is null or empty; record data is not."""
    return isinstance(kind, ArrayOf) or (isinstance(kind, Blob) and kind.name not in VIEWS)


class Along:
    """What is read together with the length of a field, as if the field took no bytes itself."""

    def __init__(self) -> None:
        self.run: list[tuple[str, str]] = []
        self.fields = 0
        """How many fields of the struct that is the whole of."""
        self.length = ""
        """The variable that holds the length of the field after those, if one follows."""
        self.tags = False
        """Whether it ends with the count of the struct's tags."""

    @property
    def width(self) -> int:
        """How many bytes it takes."""
        return size_of("".join(code for code, _ in self.run))


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
        step, along = 0, Along()
        while step < len(layout.in_place):
            carried = layout.in_place[step]
            known = along.length
            along = Along()
            if carried.nullable and not known and mostly_empty(carried.kind):
                along = self.along(layout, step + 1, variable)
            self.field(carried, f"{variable}.{carried.name}", layout, known, along)
            step += 1 + along.fields
        if layout.flexible:
            if not along.tags:
                self.run.append(("B", "tags"))
                self.flush()
                self.settle()
            reader = "read_unknown_tags"
            if layout.tagged or layout.later_tags:
                reader = f"read_tags_of_{name}"
                self.names[reader] = self.late_tags(layout)
            with self.block("if tags:"):
                self.line(f"pos = {reader}(buf, pos, tags, {variable})")

    def along(self, layout: Layout, step: int, variable: str) -> Along:
        """Find what stands behind a field that takes no bytes beyond its length.

        It is there in any case: if the field does take bytes, as many more are in the buffer.
        """
        along = Along()
        for carried in layout.in_place[step:]:
            kind = carried.kind
            if isinstance(kind, Scalar):
                along.run.append((kind.code, f"{variable}.{carried.name}"))
                along.fields += 1
                continue
            if not isinstance(kind, StructOf) or carried.nullable:
                first = "b" if isinstance(kind, StructOf) else length_code(carried)
                along.length = f"following{self.depth}"
                along.run.append((first, along.length))
            return along
        if layout.flexible:
            along.run.append(("B", "tags"))
            along.tags = True
        return along

    def again(self, along: Along) -> None:
        """Write the reading of what was read along in the wrong place."""
        self.run = list(along.run)
        self.flush()
        self.settle()

    def default(self, layout: Layout, name: str, variable: str) -> None:
        """Write what a field holds that the bytes do not mention."""
        value = default_of(layout.struct, layout.struct.FIELDS[name])
        constant = self.constant(value, f"{layout.struct.__name__}_{name}")
        self.line(f"{variable}.{name} = {constant}")

    def field(
        self,
        carried: Carried,
        target: str,
        layout: Layout,
        known: str = "",
        along: Along | None = None,
    ) -> None:
        """Write the reading of a field in its place.

        ``known`` is the variable that holds its length already, if one does; ``along`` is what to
        read together with its length.
        """
        along = along or Along()
        match carried.kind:
            case Scalar(code=code):
                self.run.append((code, target))
            case Blob() as kind:
                self.blob(kind, carried, target, known, along)
            case StructOf() as kind if carried.nullable:
                if not known:
                    self.run.append(("b", "present"))
                    self.flush()
                    self.settle()
                with self.block(f"if {known or 'present'} >= 0:"):
                    self.inner(kind, target, layout)
                    self.flush()
                    self.settle()
                with self.block("else:"):
                    self.line(f"{target} = None")
            case StructOf() as kind:
                self.inner(kind, target, layout)
            case ArrayOf(element=element):
                self.array(element, carried, target, layout, known, along)

    def inner(self, kind: StructOf, target: str, layout: Layout) -> None:
        """Write a struct inside a struct."""
        variable = snake(kind.name)
        self.struct(layout.inner(kind), variable)
        self.line(f"{target} = {variable}")

    def length(self, carried: Carried, variable: str, along: Along) -> None:
        """Write the reading of a length, and of what is read along with it."""
        self.run.append((length_code(carried), variable))
        self.run += along.run
        self.flush()
        self.ahead -= along.width

    def two_or_three_bytes(self, variable: str) -> None:
        """Write the reading of the rest of a length whose first byte says that there is more."""
        self.line(f"second = buf[{self.at()}]")
        with self.block("if second < 128:"):
            self.line(f"{variable} += (second << 7) - 128")
            self.line("pos += 1")
        with self.block("else:"):
            self.line(f"third = buf[{self.at(1)}]")
            with self.block("if third < 128:"):
                self.line(f"{variable} += (third << 14) + (second << 7) - 16512")
                self.line("pos += 2")
            with self.block("else:"):
                self.line(f"{variable}, pos = long_length(buf, pos, {self.ahead})")

    def blob(self, kind: Blob, carried: Carried, target: str, known: str, along: Along) -> None:
        """Write the reading of text or bytes; what is empty, as much is, costs no slice.

        Record data is seldom below 128 bytes, so its lengths of two and three bytes are read
        inline.
        """
        length = known or "length"
        if not known:
            self.length(carried, length, along)
        if carried.compact:
            with self.block(f"if {length} > 127:"):
                if kind.name in VIEWS:
                    self.two_or_three_bytes(length)
                else:
                    self.line(f"{length}, pos = long_length(buf, pos, {self.ahead})")
        more = 1 if carried.compact else 0
        taken = self.ahead + along.width
        with self.block(f"if {length} > {more}:"):
            self.content(kind, target, length, more)
            self.again(along)
        with self.block(f"elif {length} == {more}:"):
            self.line(f"{target} = {kind.empty!r}")
            self.skip(taken)
        with self.block("else:"):
            self.null(carried, target, taken)

    def null(self, carried: Carried, target: str, taken: int) -> None:
        """Write what a null means."""
        if carried.nullable:
            self.line(f"{target} = None")
            self.skip(taken)
        else:
            self.line(f"raise was_null({carried.name!r})")

    def content(self, kind: Blob, target: str, length: str, more: int) -> None:
        """Write the slice that is the content of text or bytes."""
        reach = self.ahead - more
        self.line(f"stop = pos + {length}" + (f" + {reach}" if reach > 0 else " - 1" * -reach))
        piece = f"buf[{self.at()}:stop]"
        match kind.name, self.views:
            case "string", True:
                self.names["short_text"] = unpack_text(more)
                with self.block(f"if {length} < {SHORT_TEXT}:"):
                    self.line(f"{target} = short_text[{length}](buf, {self.at()})[0].decode()")
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

    def array(
        self,
        element: Kind,
        carried: Carried,
        target: str,
        layout: Layout,
        known: str,
        along: Along,
    ) -> None:
        """Write the reading of an array."""
        count = known or f"count{self.depth}"
        if not known:
            self.length(carried, count, along)
        with self.block(f"if {count} > 127:"):
            if carried.compact:
                self.line(f"{count}, pos = long_length(buf, pos, {self.ahead})")
            else:
                self.line(f"check_count(buf, {self.at()}, {count})")
        self.settle()
        more = 1 if carried.compact else 0
        with self.block(f"if {count} > {more}:"):
            if isinstance(element, Scalar):
                self.scalars(element, target, count, more)
            else:
                self.elements(element, carried, target, layout, count, more)
            self.again(along)
        with self.block(f"elif {count} == {more}:"):
            self.line(f"{target} = ()" if isinstance(element, Scalar) else f"{target} = []")
            self.skip(along.width)
        with self.block("else:"):
            self.null(carried, target, along.width)

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
                plain.kind = element
                plain.nullable = False
                self.line(f"{target} = {items} = []")
                with self.block(f"while {count} > {more}:"):
                    self.line(f"{count} -= 1")
                    self.blob(element, plain, "item", "", Along())
                    self.line(f"{items}.append(item)")
            case ArrayOf():
                raise AssertionError("Kafka has no arrays of arrays")

    def at(self, further: int = 0) -> str:
        """Return where the next byte is, or one further on."""
        ahead = self.ahead + further
        return f"pos + {ahead}" if ahead else "pos"

    def settle(self) -> None:
        """Write what ``pos`` does not say yet, where code from two ways meets."""
        self.skip(self.ahead)
        self.ahead = 0

    def skip(self, count: int) -> None:
        """Write a step over bytes that have been looked at."""
        if count:
            self.line(f"pos += {count}")

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
