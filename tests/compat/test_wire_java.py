"""Our bytes are those of Apache Kafka's own classes: every message, every version, both ways.

For random messages, drawn from seeds: what Kafka's class writes is what we write; Kafka reads it,
prints what was meant, and writes it again unchanged; we read what Kafka wrote. Some messages carry
tagged fields that nobody knows, which Kafka can read and must not lose, though its JSON cannot
say them. The naive twin of our codec is judged along the way.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest

from barnabas.wire import codec
from barnabas.wire.messages import message_class
from tests.compat.judge import Case, Judge, cases, to_read, to_write
from tests.wire import naive
from tests.wire.naive_bridge import from_message, to_message

PLAIN = 20
WITH_UNKNOWN_TAGS = 10


@dataclass(frozen=True)
class Question:
    """One random message of one version, as the twin writes it."""

    name: str
    version: int
    number: int

    @property
    def message(self) -> naive.Struct:
        """Draw the message; the same one each time."""
        random = Random(f"{self.name} {self.version} {self.number}")
        return naive.twin(self.name).instance(self.version, random, unknown=self.has_unknown_tags)

    @property
    def has_unknown_tags(self) -> bool:
        return self.number >= PLAIN

    def lines(self) -> list[str]:
        """Put it to Kafka: to read the bytes, and to write them if its JSON can say them."""
        data = naive.twin(self.name).encode(self.version, self.message)
        read = to_read(self.name, self.version, data)
        if self.has_unknown_tags:
            return [read]
        return [read, to_write(self.name, self.version, self.message)]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_kafka_and_we_write_and_read_the_same(case: Case) -> None:
    twin = naive.twin(case.name)
    for question in questions(case):
        version, meant = question.version, question.message
        message = to_message(twin, version, meant)
        ours = bytes(codec.encode(message, version))

        (printed, again), *written = verdicts(case.judge)[question]
        assert ours.hex() == again, (version, meant)
        assert [[ours.hex()]] * len(written) == written, (version, meant)
        assert json.loads(printed) == json.loads(twin.printed(meant)), version

        read = codec.decode(message_class(case.name), version, bytes.fromhex(again))
        assert read == message, version
        assert from_message(twin, version, read) == meant, version


def questions(case: Case) -> Iterator[Question]:
    """Draw the messages of a case."""
    for version in case.versions:
        for number in range(PLAIN + WITH_UNKNOWN_TAGS):
            yield Question(case.name, version, number)


@cache
def verdicts(judge: Judge) -> dict[Question, list[list[str]]]:
    """Ask one release everything it is to judge, at once; starting Java is what takes long."""
    asked = [
        (question, line)
        for case in cases()
        if case.judge is judge
        for question in questions(case)
        for line in question.lines()
    ]
    found: dict[Question, list[list[str]]] = {}
    for (question, line), answer in zip(asked, judge.ask([line for _, line in asked]), strict=True):
        outcome, *words = answer
        assert outcome == "ok", f"{line}\n{words}"
        found.setdefault(question, []).append(words)
    return found
