"""Draws for tests of the simulated world: from a seed, or exactly as told."""

from random import Random


class Seeded:
    """Draws from a seed, as the simulator does."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, site: str, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1."""
        return self._random.randrange(limit)

    def chance(self, site: str, per_million: int) -> bool:
        """Return True so many times in a million."""
        return self._random.randrange(1_000_000) < per_million


class Told:
    """Draws what the test says for a site, and what is boring everywhere else."""

    def __init__(self, **answers: int) -> None:
        self.answers = {site.replace("__", "."): answer for site, answer in answers.items()}
        self.asked: list[str] = []

    def below(self, site: str, limit: int) -> int:
        """Return what was said."""
        self.asked.append(site)
        answer = self.answers.get(site, 0)
        assert 0 <= answer < limit, f"{site}: {answer} is not below {limit}"
        return answer

    def chance(self, site: str, per_million: int) -> bool:
        """Return what was said."""
        self.asked.append(site)
        return bool(self.answers.get(site, 0))
