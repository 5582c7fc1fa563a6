"""Configs: what a name stands for, and what may be set for it, by Kafka's rules and words.

    "  1000 " ── parsed ──▶ 1000 ── rule ──▶ allowed ── written ──▶ "1000"

A config has a name, a kind, a default, a rule that its value has to keep, and a line that says what
it does.  Values are text wherever they are stored or sent; what they mean is asked when somebody
needs it.  Those of topics, brokers, groups and client metrics are four tables, each beside what it
means for several of its values to go together:

``topic_configs``    of topics; most fall back to a config of the broker
``broker_configs``   of brokers and controllers; some may change while the node runs
``group_configs``    of groups
``metrics_configs``  of subscriptions to the metrics of clients

Two things are not Kafka's.  A name of a Java class is taken as any text: nothing could load it.
And regular expressions are Python's, which differ from Java's in rarities.

Fixed by Kafka's ConfigDef.java.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Final, Protocol, TypeAlias

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.value import value

Parsed: TypeAlias = bool | int | float | str | tuple[str, ...] | None
"""What a text means; lists are tuples, passwords and classes text."""


class Kind(IntEnum):
    """What values of a config are, by the numbers in which DescribeConfigs tells."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Update(Enum):
    """When a config of a broker may change."""

    READ_ONLY = "read-only"
    """Only by a restart."""
    PER_BROKER = "per-broker"
    """At any time, for one broker after the other."""
    CLUSTER_WIDE = "cluster-wide"
    """At any time, for one broker or for all."""


class Rule(Protocol):
    """What a value has to be beyond its kind; its text is what people are told."""

    def check(self, name: str, found: Parsed) -> None:
        """Refuse a value that is not allowed."""


@value
class Config:
    """One config."""

    name: str
    kind: Kind
    default: str | None
    """As it is written; None for none.  ``required`` tells those that have to be given."""
    rule: Rule | None
    doc: str
    update: Update = Update.READ_ONLY
    internal: bool = False
    """Whether it is shown only where it is set."""
    required: bool = False

    @property
    def is_sensitive(self) -> bool:
        """Whether nobody is shown its value."""
        return self.kind is Kind.PASSWORD

    def parsed(self, text: str | None) -> Parsed:
        """Return what a text means; ``Refused`` if it is not allowed."""
        found = None if text is None else PARSERS[self.kind](self.name, text)
        if isinstance(found, tuple) and isinstance(self.rule, Words):
            # Kafka drops what a list says twice.
            found = tuple(dict.fromkeys(found))
        if self.rule is not None:
            self.rule.check(self.name, found)
        return found

    def number(self, texts: Mapping[str, str | None]) -> int:
        """Return the whole number that is set, or the default."""
        found = self.parsed(texts.get(self.name, self.default))
        assert isinstance(found, int), f"{self.name} is {found!r}, no whole number"
        return found

    def flag(self, texts: Mapping[str, str | None]) -> bool:
        """Return whether it is set to true, or is by default."""
        return self.parsed(texts.get(self.name, self.default)) is True


def table(configs: Iterable[Config]) -> Mapping[str, Config]:
    """Return configs by their names."""
    return {config.name: config for config in configs}


def invalid(name: str, found: Parsed, why: str) -> Refused:
    """Return the refusal of a value."""
    shown = java_text(found)
    return Refused(
        ErrorCode.INVALID_CONFIG, f"Invalid value {shown} for configuration {name}: {why}"
    )


# --- What texts mean -----------------------------------------------------------------------------

# What Java's String.trim takes away.
BLANKS: Final = "".join(map(chr, range(33)))
COMMA: Final = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
# Digits of any script, as in Java.
WHOLE: Final = re.compile(r"[+-]?\d+")
DECIMAL: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
# From here up and down, Java writes numbers with an exponent.
PLAIN_MIN, PLAIN_MAX = 1e-3, 1e7


def parsed_flag(name: str, text: str) -> bool:
    """Return true or false."""
    said = text.strip(BLANKS).lower()
    if said not in ("true", "false"):
        raise invalid(name, text, "Expected value to be either true or false")
    return said == "true"


def parsed_text(name: str, text: str) -> str:
    """Return a text without blanks around it."""
    return text.strip(BLANKS)


def parsed_whole(name: str, text: str, kind: Kind, bits: int) -> int:
    """Return a whole number of so many bits."""
    trimmed = text.strip(BLANKS)
    if WHOLE.fullmatch(trimmed) is not None:
        number = int(trimmed)
        if -(1 << bits - 1) <= number < 1 << bits - 1:
            return number
    raise invalid(name, text, f"Not a number of type {kind.name}")


def parsed_int(name: str, text: str) -> int:
    """Return a number of 32 bits."""
    return parsed_whole(name, text, Kind.INT, 32)


def parsed_short(name: str, text: str) -> int:
    """Return a number of 16 bits."""
    return parsed_whole(name, text, Kind.SHORT, 16)


def parsed_long(name: str, text: str) -> int:
    """Return a number of 64 bits."""
    return parsed_whole(name, text, Kind.LONG, 64)


def parsed_double(name: str, text: str) -> float:
    """Return a number, as Java spells them."""
    trimmed = text.strip(BLANKS)
    if DECIMAL.fullmatch(trimmed) is not None:
        return float(trimmed if trimmed[-1] in "yN" else trimmed.rstrip("fFdD"))
    if HEXADECIMAL.fullmatch(trimmed) is not None:
        return float.fromhex(re.sub("[fFdD]$", "", trimmed))
    raise invalid(name, text, f"Not a number of type {Kind.DOUBLE.name}")


def parsed_list(name: str, text: str) -> tuple[str, ...]:
    """Return what stands between commas."""
    trimmed = text.strip(BLANKS)
    return tuple(COMMA.split(trimmed)) if trimmed else ()


PARSERS: Final[Mapping[Kind, Callable[[str, str], Parsed]]] = {
    Kind.BOOLEAN: parsed_flag,
    Kind.STRING: parsed_text,
    Kind.INT: parsed_int,
    Kind.SHORT: parsed_short,
    Kind.LONG: parsed_long,
    Kind.DOUBLE: parsed_double,
    Kind.LIST: parsed_list,
    Kind.CLASS: parsed_text,
    Kind.PASSWORD: parsed_text,
}


def written(found: Parsed) -> str | None:
    """Return a value as text, as Kafka writes it."""
    match found:
        case None:
            return None
        case bool():
            return "true" if found else "false"
        case float():
            return java_double(found)
        case tuple():
            return ",".join(found)
        case _:
            return str(found)


def java_double(number: float) -> str:
    """Return a number as Java writes it: ``0.5``, ``1.0E10``, ``Infinity``."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or PLAIN_MIN <= abs(number) < PLAIN_MAX:
        return repr(number)
    parts = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, parts.digits))
    sign = "-" if parts.sign else ""
    exponent = len(digits) - 1 + int(parts.exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def java_text(found: Parsed) -> str:
    """Return a value as Java shows it to people."""
    match found:
        case None:
            return "null"
        case tuple():
            return f"[{', '.join(found)}]"
        case _:
            return written(found) or ""


# --- What values are allowed ---------------------------------------------------------------------


@value
class Between:
    """A number within bounds, which are allowed themselves; None is no bound."""

    least: float
    most: float | None = None

    def check(self, name: str, found: Parsed) -> None:
        """Refuse what is out of bounds."""
        if found is None:
            raise invalid(name, None, "Value must be non-null")
        assert isinstance(found, int | float), f"{name} is {found!r}, no number"
        if found < self.least:
            raise invalid(name, found, f"Value must be at least {self.least}")
        if self.most is not None and found > self.most:
            raise invalid(name, found, f"Value must be no more than {self.most}")

    def __str__(self) -> str:
        return f"[{self.least},...]" if self.most is None else f"[{self.least},...,{self.most}]"


@value
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    def check(self, name: str, found: Parsed) -> None:
        """Refuse another word."""
        if found not in self.words:
            raise invalid(name, found, f"String must be one of: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]"


@value
class AnyCase:
    """One of some words, in large or small letters."""

    words: tuple[str, ...]

    def check(self, name: str, found: Parsed) -> None:
        """Refuse another word."""
        if not isinstance(found, str) or found.upper() not in self.words:
            said = ", ".join(self.words)
            raise invalid(name, found, f"String must be one of (case insensitive): {said}")

    def __str__(self) -> str:
        return f"(case insensitive) [{', '.join(self.words)}]"


@value
class Words:
    """A list without empty words; of some words, if any are named."""

    words: tuple[str, ...] = ()
    may_be_empty: bool = True
    may_be_null: bool = False

    def check(self, name: str, found: Parsed) -> None:
        """Refuse no list, no words, and other words."""
        if found is None:
            if not self.may_be_null:
                raise Refused(
                    ErrorCode.INVALID_CONFIG, f"Configuration '{name}' values must not be null."
                )
            return
        assert isinstance(found, tuple), f"{name} is {found!r}, no list"
        if not found and not self.may_be_empty:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Configuration '{name}' must not be empty. Valid values include: "
                f"{self if self.words else 'any non-empty value'}",
            )
        for word in found:
            if not word:
                raise Refused(
                    ErrorCode.INVALID_CONFIG, f"Configuration '{name}' values must not be empty."
                )
            if self.words and word not in self.words:
                raise invalid(name, word, f"String must be one of: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]" if self.words else ""


class NotNull:
    """Any text, but one."""

    def check(self, name: str, found: Parsed) -> None:
        """Refuse no text."""
        if found is None:
            raise invalid(name, "null", "entry must be non null")

    def __str__(self) -> str:
        return "non-null string"


class NotEmpty:
    """Any text that is not empty, or none."""

    def check(self, name: str, found: Parsed) -> None:
        """Refuse an empty text."""
        if found == "":
            raise invalid(name, found, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class GzipLevel:
    """A level of gzip, or -1 for its own default."""

    def check(self, name: str, found: Parsed) -> None:
        """Refuse another number."""
        if found is None:
            raise invalid(name, None, "Value must be non-null")
        if found != -1 and not (isinstance(found, int) and 1 <= found <= 9):
            raise invalid(name, found, "Value must be between 1 and 9 or equal to -1")

    def __str__(self) -> str:
        return "[1,...,9] or -1"
