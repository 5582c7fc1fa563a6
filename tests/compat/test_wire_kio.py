"""Our bytes are those of kio, the fastest Kafka codec on PyPI, for all that kio knows.

kio has one dataclass per message and version, whose fields stand in the order of the schema. A
random message of the naive twin is fitted to what kio can hold (only error codes it has a name
for, only instants that Python has), made into kio's dataclasses and into ours, and then written and
read by both. kio drops tagged fields that it does not know, so there are none here.
"""

import dataclasses
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, cast, get_args
from uuid import UUID

import pytest
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.protocol import Entity

from barnabas.wire import codec
from barnabas.wire.messages import message_class
from tests.wire import naive
from tests.wire.naive import Field, Value
from tests.wire.naive_bridge import from_message, to_message

INSTANCES = 20

Fitted = tuple[Value, object]
"""The same value twice: as the twin has it, and as kio has it."""

ERRORS: Final = list(ErrorCode)
MOST_MS: Final = 2**41
"""Up to the year 2039: kio counts in datetimes and durations, by way of seconds in floats."""
EPOCH: Final = datetime.fromtimestamp(0, UTC)


def entities() -> dict[str, type[Entity]]:
    """Find every class that kio has for a message, by message and version."""
    found = {}
    for name, versions in schema_name_map.items():
        for version, kinds in versions.items():
            for kind in kinds:
                entity = load_entity_schema(name, version, kind)
                found[f"{entity.__name__}-{version}"] = entity
    return found


@pytest.mark.parametrize("entity", entities().values(), ids=entities().keys())
def test_kio_and_we_write_and_read_the_same(entity: type[Entity]) -> None:
    twin, version = naive.twin(entity.__name__), int(entity.__version__)
    for number in range(INSTANCES):
        drawn = twin.instance(version, Random(f"{twin.name} {version} {number}"))
        fitted, theirs = fit_struct(twin.fields, version, entity, drawn)
        written = io.BytesIO()
        entity_writer(entity)(written, theirs)

        ours = to_message(twin, version, fitted)
        assert bytes(codec.encode(ours, version)) == written.getvalue(), fitted

        read = codec.decode(message_class(twin.name), version, written.getvalue())
        assert read == ours
        assert from_message(twin, version, read) == fitted
        assert entity_reader(entity)(written.getvalue(), 0) == (theirs, len(written.getvalue()))


def fit_struct(
    fields: tuple[Field, ...],
    version: int,
    entity: type[Entity],
    drawn: naive.Struct,
) -> tuple[naive.Struct, Entity]:
    """Make kio's dataclass of a struct, and the struct that it says."""
    fitted: naive.Struct = {}
    values = {}
    carried = [field for field in fields if version in field.versions]
    for field, attribute in zip(carried, dataclasses.fields(entity), strict=True):
        value = drawn.get(field.key, naive.default_of(field, version))
        plain, values[attribute.name] = fit(field, version, attribute, value)
        if field.key in drawn:
            fitted[field.key] = plain
    return fitted, entity(**values)


def fit(field: Field, version: int, attribute: "dataclasses.Field[object]", drawn: Value) -> Fitted:
    """Fit one field."""

    def one(value: Value) -> Fitted:
        if isinstance(value, dict):
            return fit_struct(field.fields, version, struct_class(attribute.type), value)
        return SCALARS.get(attribute.metadata["kafka_type"], as_it_is)(value)

    if drawn is None:
        return None, None
    if isinstance(drawn, list):
        both = [one(value) for value in drawn]
        return [plain for plain, _ in both], tuple(theirs for _, theirs in both)
    return one(drawn)


def struct_class(annotation: object) -> type[Entity]:
    """Find the dataclass in `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    if dataclasses.is_dataclass(annotation):
        return cast(type[Entity], annotation)
    return next(found for part in get_args(annotation) if (found := struct_class(part)))


def as_it_is(value: Value) -> Fitted:
    return value, value


def error_code(value: Value) -> Fitted:
    code = ERRORS[cast(int, value) % len(ERRORS)]
    return int(code), code


def duration(value: Value) -> Fitted:
    length_ms = max(-MOST_MS, min(cast(int, value), MOST_MS))
    return length_ms, timedelta(milliseconds=length_ms)


def instant(value: Value) -> Fitted:
    after_ms = abs(cast(int, value)) % MOST_MS
    return after_ms, EPOCH + timedelta(milliseconds=after_ms)


def identity(value: Value) -> Fitted:
    known = cast(UUID, value)
    return known, known if known.int else None


SCALARS: Final[dict[str, Callable[[Value], Fitted]]] = {
    "error_code": error_code,
    "timedelta_i32": duration,
    "timedelta_i64": duration,
    "datetime_i64": instant,
    "uuid": identity,
}
