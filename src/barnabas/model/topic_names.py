"""What topics may be called, and which names are taken for one another.

Fixed by Kafka's Topic.java.
"""

import re
from collections.abc import Container, Iterable, Iterator
from itertools import product
from typing import Final

from barnabas.model.errors import ErrorCode, Refused

CLUSTER_METADATA: Final = "__cluster_metadata"
"""The quorum's own log, which is no topic that anybody could create."""
INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""What coordinators keep their state in."""

LENGTH_MAX: Final = 249
"""With a dash and a partition behind it, it still has to be the name of a directory."""
ALLOWED: Final = re.compile(r"[a-zA-Z0-9._-]+")

VARIANTS_MAX: Final = 1 << 10
"""More names than these are not spelled out; those that there are are looked at instead."""


def check_topic_name(name: str) -> None:
    """Refuse what no topic may be called."""
    if not name:
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > LENGTH_MAX:
        why = f"the length of '{name}' is longer than the max allowed length {LENGTH_MAX}"
    elif ALLOWED.fullmatch(name) is None:
        why = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'"
        )
    else:
        return
    raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")


def unified(name: str) -> str:
    """Return what a name is in metrics, which cannot tell a point from an underscore."""
    return name.replace(".", "_")


def collisions(name: str, names: Iterable[str], known: Container[str]) -> Iterator[str]:
    """Yield the names among others that metrics could not tell from this one.

    ``names`` and ``known`` are the same, once to go through and once to ask; it itself is one.
    """
    signs = name.count(".") + name.count("_")
    if signs and 1 << signs <= VARIANTS_MAX:
        parts = re.split("[._]", name)
        for joints in product("._", repeat=signs):
            variant = "".join(map("".join, zip(parts, (*joints, ""), strict=True)))
            if variant in known:
                yield variant
    elif signs:
        same = unified(name)
        yield from (other for other in names if len(other) == len(name) and unified(other) == same)
