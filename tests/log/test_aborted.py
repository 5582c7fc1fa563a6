"""The index of aborted transactions."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.log.aborted import AbortedIndex, AbortedTransaction
from barnabas.model.errors import CorruptLog
from tests.log.storage import PATH, Machine, run

INDEX = f"{PATH}/x.txnindex"


def test_an_entry_is_thirty_four_bytes_as_kafka_writes_them() -> None:
    machine = Machine()
    AbortedIndex(machine.process, INDEX).append(AbortedTransaction(1, 2, 3, 4))
    data = machine.process.open(INDEX, "read").read(0, 100)
    assert data == b"\0\0" + b"".join(number.to_bytes(8) for number in (1, 2, 3, 4))


def test_there_is_no_file_before_the_first_abort() -> None:
    machine = Machine()
    index = AbortedIndex(machine.process, INDEX)
    assert list(index.entries()) == []
    index.truncate(0)
    index.reset()
    run(index.sync())
    index.close()
    assert not index.exists
    assert not machine.process.exists(INDEX)


def test_a_search_ends_where_everything_was_decided() -> None:
    index = AbortedIndex(Machine().process, INDEX)
    first, second = AbortedTransaction(1, 0, 5, 6), AbortedTransaction(2, 7, 9, 10)
    index.append(first)
    index.append(second)
    assert index.collect(0, 6) == ([first], True)
    assert index.collect(0, 8) == ([first, second], True)
    assert index.collect(6, 7) == ([], True)
    assert index.collect(0, 11) == ([first, second], False)


def test_transactions_whose_markers_are_cut_off_go() -> None:
    machine = Machine()
    index = AbortedIndex(machine.process, INDEX)
    index.append(AbortedTransaction(1, 0, 5, 6))
    index.append(AbortedTransaction(2, 7, 9, 10))
    index.truncate(9)
    assert [one.producer_id for one in AbortedIndex(machine.process, INDEX).entries()] == [1]
    index.reset()
    assert list(index.entries()) == []


@given(data=st.binary(min_size=1, max_size=33))
def test_half_an_entry_is_noticed(data: bytes) -> None:
    machine = Machine()
    machine.process.open(INDEX, "create").write(0, [data])
    with pytest.raises(CorruptLog):
        list(AbortedIndex(machine.process, INDEX).entries())


def test_entries_out_of_order_are_noticed() -> None:
    index = AbortedIndex(Machine().process, INDEX)
    index.append(AbortedTransaction(1, 0, 5, 6))
    index.append(AbortedTransaction(2, 0, 5, 6))
    with pytest.raises(CorruptLog):
        list(index.entries())
