"""What formatting left in the directories of a node, made comparable: times and drawn ids aside."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from barnabas.model.ids import parse_uuid
from barnabas.node.properties import parse_properties
from barnabas.records.batch import batches, verify
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import records

DRAWN: Final = b"a drawn id      "
assert len(DRAWN) == 16

Content: TypeAlias = "dict[str, str] | list[object] | bytes"


def tree(place: Path, given: frozenset[bytes]) -> dict[str, Content]:
    """Return every file below a place; ``given`` are the directory ids that were not drawn."""
    drawn: dict[bytes, bytes] = {
        raw: DRAWN
        for path in place.rglob("meta.properties")
        if (raw := directory_id(path)) is not None and raw not in given
    }
    return {
        path.relative_to(place).as_posix(): content(path, drawn)
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def directory_id(path: Path) -> bytes | None:
    """Return the id in a ``meta.properties``, if there is one."""
    text = parse_properties(path.read_bytes(), str(path)).get("directory.id")
    return None if text is None else parse_uuid(text)


def content(path: Path, drawn: Mapping[bytes, bytes]) -> Content:
    """Return what a file says."""
    data = path.read_bytes()
    if path.suffix == ".properties":
        lines = parse_properties(data, str(path))
        if directory_id(path) in drawn:
            lines["directory.id"] = "drawn"
        return lines
    if path.suffix != ".checkpoint":
        return data
    told: list[object] = []
    for position, header in batches(data):
        verify(data, position, header)
        # Times differ, and so do checksums, which cover them.
        still = header._replace(crc=0, base_timestamp=0, max_timestamp=0)
        inside: list[object] = []
        for record in records(data, position, header):
            value = bytes(record.value or b"")
            for raw, mask in drawn.items():
                value = value.replace(raw, mask)
            kind = control_type(record) if header.is_control else None
            if kind is ControlType.SNAPSHOT_HEADER:
                # Version, time of the last record, no tags; 0 in bootstrap.checkpoint.
                value = value[:2] + bytes([any(value[2:10])]) + value[10:]
            inside.append((record.offset, bytes(record.key or b""), value, record.headers))
        told.append((still, inside))
    return told
