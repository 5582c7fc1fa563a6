"""Faults: what they say."""

from barnabas.metadata.faults import DAMAGED, BadRecord, Fault, Unfoldable


def test_a_fault_says_where_what_why_and_the_way_out() -> None:
    fault = Fault("the log, offset 7", "TopicRecord", "it is odd", "look again")
    assert str(fault) == "the log, offset 7: TopicRecord: it is odd; look again"
    assert str(Unfoldable(fault)) == str(fault)
    assert fault.fatal


def test_a_fault_without_a_way_out_does_not_pretend_to_have_one() -> None:
    assert str(Fault("offset 7", "publisher x", "tired")) == "offset 7: publisher x: tired"


def test_a_bad_record_points_to_the_other_nodes_unless_it_knows_better() -> None:
    assert BadRecord("odd").way_out == DAMAGED
    assert BadRecord("odd", "wait").way_out == "wait"
