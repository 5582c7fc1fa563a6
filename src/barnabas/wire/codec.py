"""Messages to bytes and back: the door to the compiled codec.

::

    request = codec.decode(FetchRequest, 12, frame)
    answer = codec.encode(response, 12)

The code that does it is written from the declaration (``structs``), for one version and one
direction, when that pair is first used; ``decoding`` and ``encoding`` write it.  To see it::

    python -m barnabas.wire.codec FetchRequest 12

A traceback shows its lines too: the functions carry a loader that writes the source again.
"""

import sys
from collections.abc import Sequence
from typing import Any, TypeGuard, TypeVar

from barnabas.model.errors import LocalProtocolError, RemoteProtocolError
from barnabas.wire.decoding import Decoder, DecoderSource
from barnabas.wire.encoding import Encoder, EncoderSource
from barnabas.wire.layout import Layout, valid_versions
from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import Message, Struct, StructType

M = TypeVar("M", bound=Message)


def decode(message: type[M], version: int, buffer: Buffer) -> M:
    """Read a message that fills the buffer; bytes left over are the peer's error too."""
    try:
        read = message.decoders[version]
    except KeyError:
        read = decoder(message, version)
    decoded, end = read(buffer, 0)
    if end != len(buffer):
        raise RemoteProtocolError(
            f"{message.__name__} v{version}: ends after {end} of {len(buffer)} bytes"
        )
    answer: M = decoded
    return answer


def encode(message: Message, version: int) -> bytes:
    """Write a message in one piece."""
    try:
        write = message.encoders[version]
    except KeyError:
        write = encoder(type(message), version)
    parts: list[Any] = []
    write(message, parts)
    return b"".join(parts)


def encode_parts(message: Message, version: int) -> list[Any]:
    """Write a message as parts to be sent one after the other; record data is not copied.

    A ``records`` field may hold anything with a length, such as a slice of a file; it comes out
    as it went in.
    """
    parts: list[Any] = []
    encoder(type(message), version)(message, parts)
    return parts


def decoder(message: type[Message], version: int) -> Decoder:
    """Return the function that reads this version from (buffer, position)."""
    try:
        return message.decoders[version]
    except KeyError:
        check_version(message, version)
        made: Decoder = Written(message, version, "decode").function()
        message.decoders[version] = made
        return made


def encoder(message: type[Message], version: int) -> Encoder:
    """Return the function that writes this version of (message, list of parts)."""
    try:
        return message.encoders[version]
    except KeyError:
        check_version(message, version)
        made: Encoder = Written(message, version, "encode").function()
        message.encoders[version] = made
        return made


def versions(message: type[Message]) -> range:
    """Say which versions of a message the codec speaks: all there have ever been."""
    return valid_versions(message)


def check_version(message: type[Message], version: int) -> None:
    """Refuse a version that never was."""
    known = valid_versions(message)
    if version not in known:
        raise LocalProtocolError(
            f"{message.__name__} has no version {version}; it has {known.start} to {known.stop - 1}"
        )


class Written:
    """One function of the compiled codec: what it is for, its source, and the function.

    It is also the ``__loader__`` of the function's globals, which is how ``traceback`` finds the
    lines without anybody keeping them.
    """

    def __init__(self, struct: type[Struct], version: int, part: str) -> None:
        self.struct = struct
        self.version = version
        self.part = part
        self.name = f"{__package__}.written.{struct.__qualname__}.v{version}.{part}"

    def write(self) -> tuple[str, dict[str, Any]]:
        """Write the source; return it with the globals it needs."""
        layout = Layout(self.struct, self.version)
        names: dict[str, Any] = {"__name__": self.name, "__loader__": self}
        match self.part:
            case "decode":
                views = layout.has_views()
                decode = DecoderSource(names, views, lambda at: late(at, "read_tags"))
                return decode.message(layout), decode.names
            case "read_tags":
                views = Layout(self.struct.MESSAGE, self.version).has_views()
                decode = DecoderSource(names, views, lambda at: late(at, "read_tags"))
                return decode.tags(layout), decode.names
            case "encode":
                encode = EncoderSource(names, lambda at: late(at, "write_tags"))
                return encode.message(layout), encode.names
            case "write_tags":
                encode = EncoderSource(names, lambda at: late(at, "write_tags"))
                return encode.tags(layout), encode.names
            case part:
                raise AssertionError(f"no function is called {part}")

    def function(self) -> Any:  # noqa: ANN401 -- one of four signatures, typed where it is used
        """Compile the source and return the function it defines."""
        text, names = self.write()
        exec(compile(text, self.name, "exec"), names)
        return names[self.part]

    def text(self) -> str:
        """Write the source for somebody to read."""
        return self.write()[0]

    def get_source(self, _name: str) -> str:
        """Write the source again for whoever shows a traceback."""
        return self.text()


def late(layout: Layout, part: str) -> Any:  # noqa: ANN401 -- a tag reader or a tag writer
    """Return a function that is written when it is first called."""
    made = None

    def call(*args: object) -> Any:  # noqa: ANN401 -- whatever the real one returns
        nonlocal made
        if made is None:
            made = Written(layout.struct, layout.version, part).function()
        return made(*args)

    return call


def main(arguments: Sequence[str]) -> None:
    """Print the code for a message and a version: both directions, and the tags'."""
    from barnabas.wire.messages import message_class  # noqa: PLC0415 -- only this command needs it

    name, version = arguments
    message = message_class(name)
    structs: list[type[Struct]] = [message]
    structs += (part for part in vars(message).values() if is_struct(part) and part is not message)
    functions: list[tuple[type[Struct], str]] = [(message, part) for part in ("decode", "encode")]
    functions += (
        (struct, part)
        for struct in structs
        if Layout(struct, int(version)).tagged
        for part in ("read_tags", "write_tags")
    )
    for struct, part in functions:
        sys.stdout.write(f"# {struct.__qualname__}\n{Written(struct, int(version), part).text()}\n")


def is_struct(thing: object) -> TypeGuard[type[Struct]]:
    """Say whether something in a class is a struct declared there."""
    return isinstance(thing, StructType)


if __name__ == "__main__":
    main(sys.argv[1:])
