r"""Properties files, as Java reads and writes them: ``server.properties``, ``meta.properties``.

    # a comment; so is a line that begins with !
    node.id=3
    log.dirs = /var/lib/kafka/a, \
               /var/lib/kafka/b          goes on where the next line begins
    log.dir : /data                      = and : and a space all part a name from its value

A backslash takes the meaning from what follows it (``\=``), or gives it one (``\t``, ``\n``,
``\u00e9``).  Files are Latin-1.  Of two lines for one name the later counts.

java.util.Properties fixes the syntax.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.model.errors import Misconfigured

BLANKS: Final = " \t\f"
LINES: Final = re.compile(r"\r\n|\r|\n")
TRAILING_BACKSLASHES: Final = re.compile(r"\\*$")
# What a name may hold before it is ended by a separator or a blank: anything behind a backslash.
NAME: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.|$)", re.DOTALL)

WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")

MEANINGS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
SPELLINGS: Final = {meaning: letter for letter, meaning in MEANINGS.items()}


def parse_properties(content: bytes, where: str) -> dict[str, str]:
    """Read a properties file; ``where`` is what to call it if it is none."""
    found = {}
    for line in logical_lines(content.decode("latin-1")):
        name = NAME.match(line)
        assert name is not None, f"{line!r} has no beginning"
        separator = SEPARATOR.match(line, name.end())
        assert separator is not None, f"{line!r} has no rest"
        rest = line[separator.end() :]
        found[unescaped(name[0], where)] = unescaped(rest, where)
    return found


def logical_lines(text: str) -> Iterator[str]:
    """Yield the lines that say something, with those that follow a backslash put behind them."""
    begun = ""
    for natural in LINES.split(text):
        line = natural.lstrip(BLANKS)
        if not begun and (not line or line[0] in "#!"):
            continue
        backslashes = TRAILING_BACKSLASHES.search(line)
        if backslashes is not None and len(backslashes[0]) % 2:
            begun += line[:-1]
            continue
        if begun or line:
            yield begun + line
        begun = ""
    if begun:
        yield begun


def unescaped(text: str, where: str) -> str:
    """Return what a text means."""

    def meaning(match: re.Match[str]) -> str:
        said = match[1]
        if said == "u":
            raise Misconfigured(f"{where}: \\u is followed by four hexadecimal digits, not so here")
        if len(said) == 5:
            return chr(int(said[1:], 16))
        return MEANINGS.get(said, said)

    return ESCAPED.sub(meaning, text) if "\\" in text else text


def properties_text(properties: Mapping[str, str]) -> bytes:
    """Return a properties file: one line a name, in order.

    It begins with an empty comment where Java writes one, and the date.
    """
    lines = (f"{escaped(name, True)}={escaped(text, False)}" for name, text in properties.items())
    return "".join(f"{line}\n" for line in ("#", *lines)).encode("ascii")


def escaped(text: str, is_name: bool) -> str:
    """Return how a text is written: in a name all blanks are escaped, in a value a leading one."""
    told = []
    for at, character in enumerate(text):
        if character in SPELLINGS:
            told.append(f"\\{SPELLINGS[character]}")
        elif character in "=:#!\\" or (character == " " and (is_name or at == 0)):
            told.append(f"\\{character}")
        elif not " " <= character <= "~":
            units = character.encode("utf-16-be")
            told += [f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2)]
        else:
            told.append(character)
    return "".join(told)


def whole_number(text: str, bits: int = 32) -> int | None:
    """Return a number as Java reads one of so many bits, or None if it is none."""
    if WHOLE_NUMBER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None
