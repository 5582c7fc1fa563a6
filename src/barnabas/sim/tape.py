"""Every choice of a run: drawn from a seed, written down, played back.

    seed ──▶ one stream per site ──▶ draw ──▶ value, noted on the tape
    tape ─────────────────────────▶ draw ──▶ the noted value, or 0 where there is none

A *site* is the name of a place that chooses: ``net/a>b``, ``schedule``, ``entropy/broker-1``.  Each
has a stream of its own, derived from the seed and its name, so that one draw more here shifts no
draw anywhere else.  That is what makes deleting a fault from a plan a local change.

Non-obvious:

- 0 is always the boring answer: no extra delay, the first in the queue, no fault.  A tape
  therefore stores only what is not 0, and making a tape smaller makes a run duller.
- A stream is asked even where the tape is played back past its end: the answer there is 0, never
  something new.  A run from a tape needs no luck.
- Values noted for one limit may be asked for with another after a plan was changed; they wrap.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from random import Random
from typing import Final, TypeAlias

# site -> [(index of the draw, value), ...], values that are not 0 only.
Deviations: TypeAlias = dict[str, list[tuple[int, int]]]


def stream(seed: int, label: str) -> Random:
    """Return the stream of random numbers that belongs to a label under a seed."""
    digest = blake2b(f"{seed}\0{label}".encode(), digest_size=16).digest()
    return Random(int.from_bytes(digest))


class Site:
    """One place that chooses, drawing from its stream and noting what it drew."""

    __slots__ = ("_random", "name", "values")

    def __init__(self, name: str, source: Random) -> None:
        self.name: Final = name
        self.values: Final[list[int]] = []
        self._random: Final = source.random

    def below(self, limit: int) -> int:
        """Return an integer from 0, the boring one, to ``limit`` - 1."""
        value = int(self._random() * limit)
        self.values.append(value)
        return value

    def chance(self, per_million: int) -> bool:
        """Return whether something that happens ``per_million`` times in a million happens."""
        # Drawn so that the tape says 1 for yes: the 0 that means "no" must be the default.
        value = 1 if self._random() * 1_000_000 < per_million else 0
        self.values.append(value)
        return value == 1

    def next_draw(self) -> int:
        """Return what would be drawn next: where two runs of one seed agree, so does this."""
        return int(self._random() * (1 << 53))


class PlayedSite(Site):
    """One place that chooses, answering with what a tape says."""

    __slots__ = ("_noted",)

    def __init__(self, name: str, noted: Iterable[tuple[int, int]]) -> None:
        super().__init__(name, Random(0))
        self._noted: Final = dict(noted)

    def below(self, limit: int) -> int:
        """Return the noted value; 0 where nothing was noted."""
        value = self._noted.get(len(self.values), 0) % limit
        self.values.append(value)
        return value

    def chance(self, per_million: int) -> bool:
        """Return whether the tape says yes, and yes is possible at all."""
        value = 1 if per_million > 0 and self._noted.get(len(self.values), 0) else 0
        self.values.append(value)
        return value == 1

    def next_draw(self) -> int:
        """Return how many draws were made: a tape has no stream to look at."""
        return len(self.values)


class Tape:
    """All sites of one run.  Give it deviations to play them back; else it draws from the seed."""

    def __init__(
        self, seed: int, played: Mapping[str, list[tuple[int, int]]] | None = None
    ) -> None:
        self.seed: Final = seed
        self._played: Final = played
        self._sites: Final[dict[str, Site]] = {}

    def site(self, name: str) -> Site:
        """Return the site of this name; ask once and keep it where draws are frequent."""
        site = self._sites.get(name)
        if site is None:
            if self._played is None:
                site = Site(name, stream(self.seed, name))
            else:
                site = PlayedSite(name, self._played.get(name, ()))
            self._sites[name] = site
        return site

    def below(self, site: str, limit: int) -> int:
        """Draw an integer from 0, the boring one, to ``limit`` - 1 at a site."""
        return self.site(site).below(limit)

    def chance(self, site: str, per_million: int) -> bool:
        """Draw at a site whether something happens; no is the boring answer."""
        return self.site(site).chance(per_million)

    def deviations(self) -> Deviations:
        """Return what was drawn and is not 0, sites in order of their names."""
        noted = {
            name: [(index, value) for index, value in enumerate(self._sites[name].values) if value]
            for name in sorted(self._sites)
        }
        return {name: draws for name, draws in noted.items() if draws}

    def fingerprint(self) -> bytes:
        """Return a digest of the next draw of every site: where two equal runs must end."""
        digest = blake2b(digest_size=8)
        for name in sorted(self._sites):
            site = self._sites[name]
            digest.update(f"{name}\0{len(site.values)}\0{site.next_draw()}\n".encode())
        return digest.digest()
