"""What many runs together must have seen."""

from barnabas.sim.profiles.control import marks


def test_everything_that_is_marked_must_be_seen_and_is_named_once() -> None:
    named = {
        name: text for name, text in vars(marks).items() if name.isupper() and name != "MUST_SEE"
    }
    assert sorted(named.values()) == sorted(marks.MUST_SEE)
    assert len(set(named.values())) == len(named)
