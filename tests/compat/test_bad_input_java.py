"""What Apache Kafka's classes refuse we refuse, and what they take we take for the same.

Good messages are broken as the fuzzer breaks them, and then read by both. There are four ways to
differ, each on purpose:

- Text that is no UTF-8 is refused here; Java reads U+FFFD for what it cannot read.
- A varint from 2**31 is too large here; Java takes it for a negative number, and then for a null
  or for no tags at all.
- A tag must be as long as it says; Kafka believes the content of those it knows.
- Kafka reads tags that nobody knows in any order, but then cannot write them again. The judge
  writes all that it reads.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Final

import pytest

from barnabas.model.errors import ProtocolError
from barnabas.wire import codec
from barnabas.wire.messages import message_class
from barnabas.wire.structs import Message
from tests.compat.judge import Case, Judge, cases, to_read
from tests.fuzz.mutation import mutate
from tests.wire.naive import twin
from tests.wire.naive_bridge import from_message

BROKEN = 40

NEGATIVE: Final = re.compile(rb"[\x80-\xff]{4}[\x08-\x7f]")
"""An unsigned varint from 2**31, if it is one."""
LYING_TAG: Final = ": tag "
CANNOT_WRITE: Final = ("Invalid raw tag field list", "as an undefined tag")


@pytest.mark.parametrize("case", cases(), ids=str)
def test_kafka_and_we_refuse_the_same(case: Case) -> None:
    for version, data in inputs(case):
        outcome, *words = verdicts(case.judge)[case.name, version, data]
        known = (version, data.hex(), words)
        match outcome, read(case.name, version, data):
            case "ok", ProtocolError() as refusal:
                replaced = "\ufffd" in words[0]
                assert replaced or NEGATIVE.search(data) or LYING_TAG in str(refusal), known
            case "error", Message():
                assert any(excuse in words[0] for excuse in CANNOT_WRITE), known
            case "ok", Message() as message:
                plain = from_message(twin(case.name), version, message)
                printed = json.loads(twin(case.name).printed(plain))
                assert same(printed, json.loads(words[0])), known
            case refused_by_both:
                assert refused_by_both[0] == "error"


def read(name: str, version: int, data: bytes) -> Message | ProtocolError:
    """Read a message, or say why not."""
    try:
        return codec.decode(message_class(name), version, data)
    except ProtocolError as refusal:
        return refusal


def inputs(case: Case) -> Iterator[tuple[int, bytes]]:
    """Break messages of a case; the same ones each time."""
    for version in case.versions:
        random = Random(f"{case.name} {version}")
        for number in range(BROKEN):
            unknown = number % 2 == 1
            one, other = (twin(case.name).instance(version, random, unknown=unknown) for _ in "12")
            write = twin(case.name).encode
            yield version, mutate(write(version, one), write(version, other), random)


@cache
def verdicts(judge: Judge) -> dict[tuple[str, int, bytes], list[str]]:
    """Ask one release everything it is to judge, at once."""
    asked = [
        (case.name, version, data)
        for case in cases()
        if case.judge is judge
        for version, data in inputs(case)
    ]
    answers = judge.ask([to_read(*question) for question in asked])
    return dict(zip(asked, answers, strict=True))


def same(ours: object, theirs: object) -> bool:
    """Compare what JSON says, in which 1 and 1.0 and true must not be taken for each other."""
    return json.dumps(ours) == json.dumps(theirs)
