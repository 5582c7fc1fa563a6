"""Apache Kafka's own fold of the metadata log, beside ours.

Random histories of every record and level, cut in any way, go through Kafka's batch loader; each
image that it publishes is written as records, which our naive twin folds again, and has to be what
the history says: at the same offsets, with the same alignment.  Where Kafka is known to differ
(docs/decisions, on the metadata image) the histories leave the cause out, and one example each
shows that Kafka still does it.
"""

import subprocess
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from barnabas.metadata.fold import BatchFold
from barnabas.metadata.image import EMPTY
from barnabas.metadata.publication import NO_LEADER_YET, Publication
from barnabas.model.ids import Uuid
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.metadata_records import decode_record
from tests.compat.maven import class_path
from tests.metadata.histories import History, history
from tests.metadata.naive import Plain, fold, nothing, plain
from tests.metadata.test_fold import ABORT, BEGIN, END, LEVEL, A, B, batch

PROJECT: Final = Path(__file__).parent / "java-metadata"

HISTORIES: Final = 200
DIFFERS: Final = ("abort", "remove_topic", "unscram", "odd_config")


class Told(NamedTuple):
    """An image that Kafka published: where it ends, and what it holds."""

    offset: int
    epoch: int
    aligned: bool
    state: Plain


def kafka(commits: list[list[OpenedBatch]]) -> list[list[list[Told]]]:
    """Put logs to Kafka, each as batches committed one by one; return what each log published."""
    questions: list[str] = []
    for commit in commits:
        questions.append("begin")
        for each in commit:
            values = ",".join(value.hex() for value in each.values)
            questions += (f"batch {each.base_offset} {each.epoch} {each.append_ms} {values}",)
        questions.append("flush")
    java = subprocess.run(
        ["java", "-cp", class_path(PROJECT), "barnabas.Image"],
        input="\n".join(questions) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    answers = java.stdout.split("\n")
    assert len(answers) == len(questions) + 1, java.stderr
    logs: list[list[list[Told]]] = []
    for question, answer in zip(questions, answers, strict=False):
        if question == "begin":
            logs.append([])
        logs[-1].append([told(each) for each in answer.split("\t") if each])
    return logs


def told(text: str) -> Told:
    """Read a publication."""
    assert not text.startswith("fault"), text
    offset, epoch, aligned, *records = text.split(" ")
    state = nothing()
    for value in "".join(records).split(","):
        if value:
            state = fold(state, decode_record(bytes.fromhex(value))[0])
    return Told(int(offset), int(epoch), aligned == "true", state)


def published(log: list[list[Told]]) -> list[Told]:
    """Return what one log published, in order."""
    return [each for answer in log for each in answer]


def ours(batches: list[OpenedBatch]) -> list[Told]:
    """Return what we publish of batches that were committed together."""
    folded, publications = BatchFold(EMPTY), list[Publication]()
    for each in batches:
        publications += folded.load(each, NO_LEADER_YET)
    publications += folded.flush(NO_LEADER_YET)
    return [
        Told(p.image.offset, p.image.provenance.epoch, p.image.provenance.batch_aligned, state)
        for p, state in ((p, plain(p.image)) for p in publications)
    ]


def test_kafka_publishes_the_same_images_at_the_same_offsets() -> None:
    logs: list[History] = [history(seed, without=DIFFERS) for seed in range(HISTORIES)]
    cuts = [
        log.cut(*Random(seed).sample(range(len(log)), Random(seed).randint(0, len(log) // 2)))
        for seed, log in enumerate(logs)
    ]
    answers = kafka(cuts)
    compared = 0
    for batches, answer in zip(cuts, answers, strict=True):
        theirs = published(answer)
        assert theirs == ours(batches)
        compared += len(theirs)
    assert compared > 2 * HISTORIES


def last_of(*batches: OpenedBatch) -> tuple[Plain, Plain]:
    """Return the last state that Kafka publishes of some batches, and that we do."""
    [log] = kafka([list(batches)])
    return published(log)[-1].state, ours(list(batches))[-1].state


def test_kafka_brings_aborted_records_back_if_more_follow_them() -> None:
    theirs, mine = last_of(batch(0, LEVEL), batch(1, BEGIN, A, ABORT), batch(4, B))
    assert theirs["configs"] == {(4, ""): {"a": "set", "b": "set"}}
    assert mine["configs"] == {(4, ""): {"b": "set"}}


def test_kafka_leaves_configs_of_a_topic_that_came_and_went_in_one_update() -> None:
    topic = Uuid(bytes([1] * 16))
    set_it = ConfigRecord(resource_type=2, resource_name="orders", name="a", value="1")
    theirs, mine = last_of(
        batch(0, LEVEL, TopicRecord(name="orders", topic_id=topic), set_it),
        batch(3, RemoveTopicRecord(topic_id=topic)),
    )
    assert theirs["configs"] == {(2, "orders"): {"a": "1"}}
    assert mine["configs"] == {}


def test_kafka_loses_a_credential_set_after_the_last_of_its_mechanism_was_removed() -> None:
    # Its ScramDelta drops the map of the mechanism when it is empty, and goes on putting into it.
    # Java's hash map yields "bob" before "alice", in whatever order they came.
    alice, bob = (UserScramCredentialRecord(name=n, mechanism=1) for n in ("alice", "bob"))
    removal = RemoveUserScramCredentialRecord(name="bob", mechanism=1)
    theirs, mine = last_of(batch(0, LEVEL, bob), batch(2, BEGIN, removal, alice, END))
    assert mine["scram"].keys() == {(1, "alice")}
    assert theirs["scram"].keys() == set()


def test_kafka_gives_an_image_the_epoch_of_the_batch_behind_it() -> None:
    batches = [batch(0, LEVEL, A, epoch=3), batch(2, BEGIN, B, END, epoch=4)]
    [log] = kafka([batches])
    assert [(each.offset, each.epoch) for each in published(log)] == [(1, 4), (4, 4)]
    assert [(each.offset, each.epoch) for each in ours(batches)] == [(1, 3), (4, 4)]
