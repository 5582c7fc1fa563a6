"""A decision changes nothing: it says what would have to be true, and what is said then."""

from tests.statelog.topics import Topics, create


def test_a_decision_holds_what_would_make_its_reply_true() -> None:
    topics = Topics(("a",))
    decided = create("b", topics)
    assert (decided.records, decided.reply) == (("b",), "NONE")
    assert topics == Topics(("a",))


def test_a_refusal_has_no_records() -> None:
    assert create("a", Topics(("a",))).records == ()
