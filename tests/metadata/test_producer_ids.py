"""Producer ids: the next that nobody was given."""

from barnabas.metadata.levels import Form
from barnabas.metadata.producer_ids import EMPTY, ProducerIdsDelta, ProducerIdsImage
from barnabas.metadata.snapshot import no_loss
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord

BLOCK = ProducerIdsRecord(broker_id=1, broker_epoch=7, next_producer_id=1000)


def test_a_block_that_is_given_moves_the_next_id() -> None:
    delta = ProducerIdsDelta(EMPTY)
    delta.replay(BLOCK)
    assert delta.apply() == ProducerIdsImage(1000)


def test_nothing_is_written_before_the_first_block() -> None:
    assert EMPTY.is_empty
    assert list(EMPTY.records(Form(30, no_loss))) == []


def test_who_was_given_the_last_block_is_not_remembered() -> None:
    [(record, _)] = ProducerIdsImage(1000).records(Form(30, no_loss))
    assert record == ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=1000)


def test_between_two_images_lies_the_later_next_id() -> None:
    delta = ProducerIdsDelta.between(ProducerIdsImage(5), ProducerIdsImage(9))
    assert delta.next_producer_id == 9
    assert delta.apply() == ProducerIdsImage(9)
