"""Where the logs of the profile lie, and how each is configured.

    /data/a   plain-0   led here, loses its oldest segments
              copy-0    follows plain over a wire that flips bits
    /data/b   keyed-0   led here, compacted

Two directories, so that one can fail and the other has to go on.
"""

from typing import Final

from barnabas.log.config import LONG_MAX, LogConfig
from barnabas.log.names import TopicPartition

ROOT: Final = "/data"
PATHS: Final = (f"{ROOT}/a", f"{ROOT}/b")
LOGS: Final = ("plain", "keyed", "copy")
LED: Final = ("plain", "keyed")
HOMES: Final = {"plain": PATHS[0], "keyed": PATHS[1], "copy": PATHS[0]}

# Small, so that a minute sees many segments; never too old, so that only its size counts.
PLAIN: Final = LogConfig(
    segment_bytes=16_000,
    index_interval_bytes=500,
    retention_ms=-1,
    retention_bytes=20_000,
    preallocate=True,
    timestamp_after_max_ms=LONG_MAX,
)
KEYED: Final = LogConfig(
    segment_bytes=6_000,
    index_interval_bytes=500,
    compact=True,
    delete=False,
    timestamp_after_max_ms=LONG_MAX,
)
CONFIGS: Final = {"plain": PLAIN, "keyed": KEYED, "copy": PLAIN}


def partition(name: str) -> TopicPartition:
    """Return the partition of a log."""
    return TopicPartition(name, 0)


def log_path(name: str) -> str:
    """Return the directory of a log."""
    return f"{HOMES[name]}/{partition(name)}"
