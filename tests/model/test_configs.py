"""What texts of configs mean, by Java's rules, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.configs import (
    AnyCase,
    Between,
    Config,
    GzipLevel,
    Kind,
    NotEmpty,
    NotNull,
    OneOf,
    Parsed,
    Rule,
    Words,
    java_double,
    table,
    written,
)
from barnabas.model.errors import ErrorCode, Refused


def config(kind: Kind, rule: Rule | None = None, default: str | None = None) -> Config:
    """Return a config."""
    return Config("it", kind, default, rule, "What it does.")


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        (Kind.BOOLEAN, " TRUE\n", True),
        (Kind.BOOLEAN, "false", False),
        (Kind.STRING, " a b ", "a b"),
        (Kind.INT, "+7", 7),
        (Kind.INT, "-2147483648", -(1 << 31)),
        (Kind.SHORT, "32767", 32767),
        (Kind.LONG, "9223372036854775807", (1 << 63) - 1),
        (Kind.DOUBLE, "1e3", 1000.0),
        (Kind.DOUBLE, ".5f", 0.5),
        (Kind.DOUBLE, "0x1.8p1", 3.0),
        (Kind.DOUBLE, "-Infinity", -math.inf),
        (Kind.LIST, " a , b,c ", ("a", "b", "c")),
        (Kind.LIST, "", ()),
        (Kind.LIST, "a,", ("a", "")),
        (Kind.CLASS, " org.Example ", "org.Example"),
        (Kind.PASSWORD, " secret ", "secret"),
    ],
)
def test_texts_mean_what_they_mean_to_java(kind: Kind, text: str, found: Parsed) -> None:
    assert config(kind).parsed(text) == found


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.BOOLEAN, "yes"),
        (Kind.INT, "2147483648"),
        (Kind.INT, "1_000"),
        (Kind.INT, "\u00a01"),
        (Kind.SHORT, "32768"),
        (Kind.LONG, "9223372036854775808"),
        (Kind.LONG, ""),
        (Kind.DOUBLE, "inf"),
        (Kind.DOUBLE, "nan"),
        (Kind.DOUBLE, "1_0.0"),
        (Kind.DOUBLE, ""),
    ],
)
def test_what_java_cannot_read_is_refused_with_its_name_and_text(kind: Kind, text: str) -> None:
    with pytest.raises(Refused) as caught:
        config(kind).parsed(text)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert caught.value.why.startswith(f"Invalid value {text} for configuration it: ")


@pytest.mark.parametrize(
    ("rule", "kind", "good", "bad", "shown"),
    [
        (Between(1), Kind.INT, "1", "0", "[1,...]"),
        (Between(0, 0.5), Kind.DOUBLE, "0.5", "0.6", "[0,...,0.5]"),
        (Between(0, 5), Kind.DOUBLE, "NaN", "-0.1", "[0,...,5]"),
        (OneOf(("a", "b")), Kind.STRING, "a", "A", "[a, b]"),
        (AnyCase(("UP", "DOWN")), Kind.STRING, "up", "us", "(case insensitive) [UP, DOWN]"),
        (Words(), Kind.LIST, "a,b", "a,,b", ""),
        (Words(may_be_empty=False), Kind.LIST, "a", "", ""),
        (Words(("a", "b")), Kind.LIST, "", "c", "[a, b]"),
        (NotEmpty(), Kind.STRING, "a", " ", "non-empty string"),
        (GzipLevel(), Kind.INT, "-1", "0", "[1,...,9] or -1"),
        (GzipLevel(), Kind.INT, "9", "10", "[1,...,9] or -1"),
    ],
)
def test_a_rule_tells_what_is_allowed(
    rule: Rule, kind: Kind, good: str, bad: str, shown: str
) -> None:
    config(kind, rule).parsed(good)
    with pytest.raises(Refused) as caught:
        config(kind, rule).parsed(bad)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert str(rule) == shown


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Between(0), Kind.INT),
        (GzipLevel(), Kind.INT),
        (NotNull(), Kind.STRING),
        (Words(), Kind.LIST),
        (AnyCase(("A",)), Kind.STRING),
        (OneOf(("a",)), Kind.STRING),
    ],
)
def test_nothing_is_refused_where_something_has_to_be(rule: Rule, kind: Kind) -> None:
    with pytest.raises(Refused):
        config(kind, rule).parsed(None)


def test_nothing_is_allowed_where_it_may_be() -> None:
    assert config(Kind.LIST, Words(may_be_null=True)).parsed(None) is None
    assert config(Kind.STRING, NotEmpty()).parsed(None) is None


def test_a_list_says_nothing_twice() -> None:
    assert config(Kind.LIST, Words()).parsed("b,a,b") == ("b", "a")
    assert config(Kind.LIST).parsed("b,a,b") == ("b", "a", "b")


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, None),
        (True, "true"),
        (7, "7"),
        ("a", "a"),
        (("a", "b"), "a,b"),
        ((), ""),
        (0.5, "0.5"),
        (1e10, "1.0E10"),
        (-12345678.9, "-1.23456789E7"),
        (0.0001, "1.0E-4"),
        (0.001, "0.001"),
        (9_999_999.0, "9999999.0"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (0.0, "0.0"),
    ],
)
def test_values_are_written_as_java_writes_them(found: Parsed, text: str | None) -> None:
    assert written(found) == text


@given(st.floats(allow_nan=False))
def test_what_is_written_of_a_number_means_the_same(number: float) -> None:
    assert config(Kind.DOUBLE).parsed(java_double(number)) == number


def test_a_config_knows_its_number_its_flag_and_its_secret() -> None:
    assert config(Kind.INT, default="3").number({}) == 3
    assert config(Kind.INT, default="3").number({"it": "4"}) == 4
    assert config(Kind.BOOLEAN, default="false").flag({"it": "True"})
    assert not config(Kind.BOOLEAN, default="false").flag({})
    assert config(Kind.PASSWORD).is_sensitive
    assert not config(Kind.STRING).is_sensitive
    assert set(table([config(Kind.INT)])) == {"it"}
