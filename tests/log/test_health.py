"""The first error of a log directory is its last."""

import errno

import pytest

from barnabas.log.health import DirectoryFailed, Health


def test_a_healthy_directory_lets_everything_pass() -> None:
    Health("/data").check()


def test_the_first_error_stays_the_reason() -> None:
    health = Health("/data")
    first = health.fail(OSError(errno.EIO, "broken"))
    again = health.fail(OSError(errno.ENOSPC, "full"))
    assert first.error is again.error is health.error
    with pytest.raises(DirectoryFailed, match=r"/data.*broken"):
        health.check()
