"""Options and profiles for the whole test suite."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Deterministic here, so that a red tree is red for everybody; the simulator does the exploring.
settings.register_profile("dev", derandomize=True, deadline=None, max_examples=50)
settings.register_profile(
    "deep", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("BARNABAS_HYPOTHESIS", "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--rewrite``, which records transcripts and snapshots anew."""
    parser.addoption("--rewrite", action="store_true", help="record transcripts anew")


def pytest_ignore_collect(collection_path: os.PathLike[str], config: pytest.Config) -> bool | None:
    """Leave the strangers' suites to ``./dev compat``, which names them."""
    inside = "tests/compat" in os.fspath(collection_path).replace(os.sep, "/")
    asked = any("compat" in argument for argument in config.args)
    return True if inside and not asked else None
