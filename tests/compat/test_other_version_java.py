"""What one version can say and another cannot is dropped or refused as by Apache Kafka's classes.

A message is filled with what one version says, most of it left at its defaults, and written in
another. A field that the other version lacks is dropped if its schema calls it ignorable or if it
holds its default; else the message cannot be written in that version.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Final

import pytest

from barnabas.model.errors import ProtocolError
from barnabas.wire import codec
from tests.compat.judge import Case, Judge, cases, to_write
from tests.wire.naive import Struct, twin
from tests.wire.naive_bridge import to_message

PAIRS: Final = 40
PLAIN: Final = (0.5, 0.8, 0.95)


@pytest.mark.parametrize("case", [case for case in cases() if len(case.versions) > 1], ids=str)
def test_kafka_and_we_say_in_another_version_the_same_or_nothing(case: Case) -> None:
    for version, other, meant in questions(case):
        outcome, answer = verdicts(case.judge)[to_write(case.name, version, meant, other)]
        assert written(case, version, other, meant) == (answer if outcome == "ok" else None), (
            version,
            other,
            meant,
            answer,
        )


def written(case: Case, version: int, other: int, meant: Struct) -> str | None:
    """Write in another version what a version can say; None if it cannot be done."""
    message = to_message(twin(case.name), version, meant)
    try:
        return codec.encode(message, other).hex()
    except ProtocolError:
        return None


def questions(case: Case) -> Iterator[tuple[int, int, Struct]]:
    """Draw versions, others, and messages of the first; the same ones each time."""
    random = Random(case.name)
    for number in range(PAIRS):
        version, other = random.sample(case.versions, 2)
        plain = PLAIN[number % len(PLAIN)]
        yield version, other, twin(case.name).instance(version, random, plain=plain)


@cache
def verdicts(judge: Judge) -> dict[str, list[str]]:
    """Ask one release everything it is to judge, at once."""
    asked = [
        to_write(case.name, version, meant, other)
        for case in cases()
        if case.judge is judge and len(case.versions) > 1
        for version, other, meant in questions(case)
    ]
    return dict(zip(asked, judge.ask(asked), strict=True))
