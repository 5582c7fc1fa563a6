"""``barnabas wire``: look at the protocol.

    barnabas wire apis [--json]                      every API and its versions
    barnabas wire layout NAME [--version N]          the fields of a message
    barnabas wire decode NAME --version N [FILE]     a message from hex digits, as JSON
    barnabas wire decode request [FILE]              a whole request frame, header and all

``decode`` reads hex digits, spaces allowed, from the file or from standard input.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas.model.errors import ProtocolError
from barnabas.wire import codec
from barnabas.wire.apis import APIS, request_class
from barnabas.wire.frames import FRAME_BYTES_MAX, REQUEST_BYTES_MIN, read_request_header, split
from barnabas.wire.layout import Layout, valid_versions
from barnabas.wire.messages import message_class
from barnabas.wire.rendering import plain
from barnabas.wire.structs import ArrayOf, Kind, Message, StructOf


def main(words: Sequence[str]) -> int:
    """Show what was asked of the protocol."""
    parser = argparse.ArgumentParser(prog="barnabas wire", description="Look at the protocol.")
    commands = parser.add_subparsers(dest="command", required=True)
    apis = commands.add_parser("apis", help="every API and its versions")
    apis.add_argument("--json", action="store_true", help="one JSON object a line")
    layout = commands.add_parser("layout", help="the fields of a message")
    layout.add_argument("name", help="as Kafka calls it: FetchRequest, PartitionRecord …")
    layout.add_argument("--version", type=int, help="default: the newest")
    decode = commands.add_parser("decode", help="hex digits to JSON")
    decode.add_argument("name", help="a message, or 'request' for a whole frame")
    decode.add_argument("file", nargs="?", type=Path, help="default: standard input")
    decode.add_argument("--version", type=int, help="default: the newest")
    asked = parser.parse_args(words)
    try:
        match asked.command:
            case "apis":
                lines = list(api_lines(asked.json))
            case "layout":
                lines = list(layout_lines(*named(asked.name, asked.version)))
            case _:
                data = octets(asked.file)
                lines = [json.dumps(decoded(asked.name, asked.version, data), indent=2)]
    except (ProtocolError, LookupError, ValueError, OSError) as why:
        print(f"barnabas wire: {why}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def named(name: str, version: int | None) -> tuple[type[Message], int]:
    """Find a message and settle its version."""
    try:
        message = message_class(name)
    except KeyError:
        raise LookupError(f"there is no message {name!r}; they are named as in Kafka") from None
    versions = valid_versions(message)
    chosen = versions[-1] if version is None else version
    if chosen not in versions:
        raise LookupError(f"{name} has versions {versions[0]} to {versions[-1]}, not {chosen}")
    return message, chosen


def api_lines(as_json: bool) -> Iterator[str]:
    """Yield a line for each API."""
    if not as_json:
        yield f"{'key':>3}  {'API':<32} {'versions':<9} {'understood':<11} listeners"
    for key, api in sorted(APIS.items()):
        understood = valid_versions(request_class(api.key))
        row = {
            "key": key,
            "api": api.name,
            "versions": span(api.versions),
            "understood": span(understood),
            "listeners": sorted(api.listeners),
        }
        if as_json:
            yield json.dumps(row)
        else:
            yield (
                f"{key:>3}  {api.name:<32} {row['versions']:<9} {row['understood']:<11} "
                f"{', '.join(sorted(api.listeners))}"
            )


def span(versions: range) -> str:
    """Return a range of versions as people write it."""
    if not versions:
        return "-"
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def layout_lines(message: type[Message], version: int) -> Iterator[str]:
    """Yield the fields of a message at one version, inner structs indented."""
    yield f"{message.__name__} version {version}"
    yield from struct_lines(Layout(message, version), "  ")


def struct_lines(layout: Layout, indent: str) -> Iterator[str]:
    """Yield the fields of one struct."""
    for carried in (*layout.in_place, *layout.tagged):
        tag = f" (tag {carried.tag})" if carried.tag >= 0 else ""
        null = " or null" if carried.nullable else ""
        yield f"{indent}{carried.name}: {kind_name(carried.kind)}{null}{tag}"
        inner = carried.kind.element if isinstance(carried.kind, ArrayOf) else carried.kind
        if isinstance(inner, StructOf):
            yield from struct_lines(layout.inner(inner), indent + "  ")


def kind_name(kind: Kind) -> str:
    """Return what a field holds, in words."""
    return f"array of {kind.element.name}" if isinstance(kind, ArrayOf) else kind.name


def octets(file: Path | None) -> bytes:
    """Read hex digits."""
    text = sys.stdin.read() if file is None else file.read_text()
    return bytes.fromhex("".join(text.split()))


def decoded(name: str, version: int | None, data: bytes) -> dict[str, object]:
    """Decode a message, or a request with its header, into what JSON can say."""
    if name != "request":
        message, chosen = named(name, version)
        return {"version": chosen, **plain(codec.decode(message, chosen, data), chosen)}
    frames, _, wanted, error = split(memoryview(data), FRAME_BYTES_MAX, REQUEST_BYTES_MIN)
    if error is not None:
        raise error
    if not frames:
        raise ValueError(f"a frame of {wanted} bytes was begun, {len(data)} are here")
    api, sent, correlation_id, client_id, body = read_request_header(frames[0])
    request = codec.decode(request_class(api.key), sent, frames[0][body:])
    return {
        "api": api.name,
        "version": sent,
        "correlation_id": correlation_id,
        "client_id": client_id,
        "body": plain(request, sent),
    }
