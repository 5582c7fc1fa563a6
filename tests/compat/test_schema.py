"""The schema files say what Kafka's own definitions say, field by field, for every version."""

from collections.abc import Iterator

import pytest

from tests.compat.judge import RELEASES, Case, cases
from tests.wire.naive import Field, names, twin


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_facts_are_those_of_kafka(case: Case) -> None:
    ours, theirs = twin(case.name), case.judge.schemas[case.name]
    newest = case.judge.release == RELEASES[0]
    for version in case.versions:
        assert (version in ours.flexible) == (version in theirs.flexible)
        wire = list(facts(ours.fields, version, newest))
        assert wire == list(facts(theirs.fields, version, newest))
    assert (ours.type, ours.api_key) == (theirs.type, theirs.api_key)
    if newest:
        assert ours.served == theirs.versions


def test_every_version_of_every_message_is_judged() -> None:
    judged = {(case.name, version) for case in cases() for version in case.versions}
    assert judged == {(name, version) for name in names() for version in twin(name).versions.all()}


def facts(fields: tuple[Field, ...], version: int, newest: bool) -> Iterator[tuple[object, ...]]:
    """Tell all that one version says, in order."""
    for field in fields:
        if version in field.versions:
            yield (
                field.name,
                field.type,
                field.is_array,
                version in field.nullable,
                version in field.tagged and field.tag,
                (field.default or "").lower(),
                field.never_flexible,
                # Kafka widened this for a few old fields when it gave them a successor.
                newest and field.ignorable,
            )
            yield from facts(field.fields, version, newest)
            yield ("end",)
