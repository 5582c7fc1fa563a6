"""What a message is: a class with one line per field, good for every version.

::

    class FetchRequest(Request, key=1, versions="0-18", flexible="12+"):
        max_wait_ms: int = field(int32, "0+")
        topics: Sequence[FetchRequest.FetchTopic] = field(array_of("FetchTopic"), "0+")

        class FetchTopic(Struct):
            topic: str = field(string, "0-12", ignorable=True)

A declaration is read twice.  The type checker takes it for a frozen dataclass whose fields are
all keyword-only and all have a default: Kafka gives every field one, so a handler names what it
means and leaves the rest.  The codec takes it for the layout of every version
(``layout.py``), and makes straight-line code of it on first use (``decoding.py``,
``encoding.py``).

Declaring must be cheap, since a process declares hundreds of these before it does anything.  So
nothing here parses a version range, computes a default or compiles an ``__init__`` until somebody
needs it; making a class costs about as much as making any class with ``__slots__``.

Instances are frozen for the type checker only.  A run-time guard would cost more than decoding
does, and sharing (of defaults, for one) relies on nobody writing into a message.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, dataclass_transform

from barnabas.model.ids import ZERO_UUID


class Scalar:
    """A kind of field that always takes the same number of bytes."""

    __slots__ = ("code", "name", "size", "zero")

    def __init__(self, name: str, code: str, size: int, zero: bool | float | bytes) -> None:
        self.name = name
        self.code = code  # in the language of the struct module
        self.size = size
        self.zero = zero


class Blob:
    """A kind of field that says its length: text, bytes, or a view of bytes."""

    __slots__ = ("empty", "name", "zero")

    def __init__(self, name: str, empty: str | bytes, zero: str | bytes | None) -> None:
        self.name = name
        self.empty = empty
        self.zero = zero


class StructOf:
    """A field that is another struct of the same message, by name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class ArrayOf:
    """A field that repeats one kind."""

    __slots__ = ("element",)

    def __init__(self, element: "Scalar | Blob | StructOf") -> None:
        self.element = element


Kind = Scalar | Blob | StructOf | ArrayOf

boolean: Final = Scalar("boolean", "?", 1, False)
int8: Final = Scalar("int8", "b", 1, 0)
int16: Final = Scalar("int16", "h", 2, 0)
uint16: Final = Scalar("uint16", "H", 2, 0)
int32: Final = Scalar("int32", "i", 4, 0)
uint32: Final = Scalar("uint32", "I", 4, 0)
int64: Final = Scalar("int64", "q", 8, 0)
float64: Final = Scalar("float64", "d", 8, 0.0)
uuid: Final = Scalar("uuid", "16s", 16, ZERO_UUID)
string: Final = Blob("string", "", "")
octets: Final = Blob("octets", b"", b"")
"""Bytes that are copied out of the received buffer: small, and kept for long."""
view: Final = Blob("view", b"", b"")
"""Bytes that stay a ``memoryview`` of the received buffer: passed on, not kept."""
batches: Final = Blob("batches", b"", None)
"""Record batches: a view, like ``view``; absent unless given."""


def struct_of(name: str) -> StructOf:
    """Name a struct of the same message as the kind of a field."""
    return StructOf(name)


def array_of(element: Scalar | Blob | str) -> ArrayOf:
    """Repeat a kind; a string names a struct of the same message."""
    return ArrayOf(StructOf(element) if isinstance(element, str) else element)


class Unset:
    """The type of ``UNSET``, which is no default anybody could mean."""

    __slots__ = ()


UNSET: Final = Unset()


class Field:
    """One line of a declaration.  Version ranges stay text until a layout needs them."""

    __slots__ = (
        "default",
        "flexible",
        "ignorable",
        "kind",
        "nullable",
        "tag",
        "tagged",
        "versions",
    )

    def __init__(
        self,
        kind: Kind,
        versions: str,
        default: object,
        nullable: str,
        tag: int,
        tagged: str,
        ignorable: bool,
        flexible: str,
    ) -> None:
        self.kind = kind
        self.versions = versions
        self.default = default
        self.nullable = nullable
        self.tag = tag
        self.tagged = tagged
        self.ignorable = ignorable
        self.flexible = flexible


def field(
    kind: Kind,
    versions: str,
    *,
    default: object = UNSET,
    nullable: str = "none",
    tag: int = -1,
    tagged: str = "none",
    ignorable: bool = False,
    flexible: str = "",
) -> Any:  # noqa: ANN401 -- the annotation beside it says the type; this only says the wire
    """Declare how the attribute to the left travels.

    ``ignorable`` is Kafka's: a value that a version cannot carry is dropped without complaint.
    ``flexible`` overrides the message's own range, for the one field that needs it.
    """
    return Field(kind, versions, default, nullable, tag, tagged, ignorable, flexible)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class StructType(type):
    """Makes slots of the fields and tells nested structs which message they belong to."""

    FIELDS: dict[str, Field]
    MESSAGE: type["Message"]

    def __new__(
        metacls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **facts: object,
    ) -> "StructType":
        fields = {name: value for name, value in namespace.items() if type(value) is Field}
        for name_of_field in fields:
            del namespace[name_of_field]
        # The base class has the one attribute that every struct has beside its fields.
        namespace["__slots__"] = tuple(fields) if bases else (UNKNOWN,)
        namespace["FIELDS"] = fields
        if not bases:
            del namespace[UNKNOWN]
        return super().__new__(metacls, name, bases, namespace, **facts)


UNKNOWN: Final = "unknown_tagged_fields"


class Struct(metaclass=StructType):
    """A part of a message: slots, keyword arguments, equality by what it holds."""

    FIELDS: ClassVar[dict[str, Field]]
    MESSAGE: ClassVar[type["Message"]]
    DEFAULT: ClassVar["Struct | None"] = None
    """Made when first needed (``default_instance``), one for each class."""

    unknown_tagged_fields: Sequence[tuple[int, bytes]] = ()
    """Tags that this version of us does not know: kept, and sent on in the order of their tags."""

    def __init__(self, **values: object) -> None:
        # The first instance of a class pays for compiling its constructor; the call below then
        # goes to the new one, which also complains of names that are no fields.
        cls = type(self)
        cls.__init__ = compile_init(cls)  # type: ignore[method-assign]  # -- that is the trick
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            alike(getattr(self, name), getattr(other, name)) for name in (*self.FIELDS, UNKNOWN)
        )

    __hash__ = None  # type: ignore[assignment]  # -- arrays may be lists

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.said())
        return f"{type(self).__qualname__}({said})"

    def said(self) -> Iterator[tuple[str, object]]:
        """Yield the fields that hold something else than their default."""
        defaults = defaults_of(type(self))
        for name in (*self.FIELDS, UNKNOWN):
            value = getattr(self, name)
            if not alike(value, defaults.get(name, ())):
                yield name, value


class Message(Struct):
    """A struct that stands alone: a request, a response, a header, a record, a key or a value."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[str] = "none"
    FLEXIBLE: ClassVar[str] = "none"

    decoders: ClassVar[dict[int, Callable[..., Any]]]
    """Compiled on first use by ``codec``: a cache of what the declaration already says."""
    encoders: ClassVar[dict[int, Callable[..., Any]]]

    def __init_subclass__(
        cls, *, versions: str = "none", flexible: str = "none", key: int = -1
    ) -> None:
        cls.API_KEY = key
        cls.VERSIONS = versions
        cls.FLEXIBLE = flexible
        cls.decoders = {}
        cls.encoders = {}
        cls.MESSAGE = cls
        for part in vars(cls).values():
            if isinstance(part, StructType):
                part.MESSAGE = cls


class Request(Message):
    """What a client asks."""


class Response(Message):
    """What a server answers."""


def alike(one: object, other: object) -> bool:
    """Compare two field values; a list equals a tuple of the same things."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


def default_of(struct: type[Struct], declared: Field) -> object:
    """Work out what a field holds when nobody said: the schema's default, else the kind's zero."""
    if declared.default is not UNSET:
        return declared.default
    match declared.kind:
        case ArrayOf():
            return ()
        case StructOf(name=name):
            return default_instance(getattr(struct.MESSAGE, name))
        case Scalar(zero=zero) | Blob(zero=zero):
            return zero


def default_instance(struct: type[Struct]) -> Struct:
    """Return the one instance that stands for "nothing said", so that ``is`` can recognise it."""
    if struct.DEFAULT is None:
        struct.DEFAULT = struct()
    return struct.DEFAULT


def defaults_of(struct: type[Struct]) -> dict[str, object]:
    """Work out the default of every field."""
    return {name: default_of(struct, declared) for name, declared in struct.FIELDS.items()}


def compile_init(struct: type[Struct]) -> Callable[..., None]:
    """Write the constructor that the type checker already believes in."""
    defaults = {**defaults_of(struct), UNKNOWN: ()}
    takes = ", ".join(f"{name}=defaults[{name!r}]" for name in defaults)
    body = "\n    ".join(f"self.{name} = {name}" for name in defaults)
    made: dict[str, Any] = {"defaults": defaults}
    exec(f"def __init__(self, *, {takes}):\n    {body}\n", made)
    init: Callable[..., None] = made["__init__"]
    return init
