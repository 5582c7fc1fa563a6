"""The vocabulary of faults: what is boring, how long things take, what is below what."""

import errno
import os

from barnabas.sim.disk_faults import WHY, Calm, DiskFaults, Law, failure, within
from tests.sim.drawing import Seeded, Told


def test_boring_draws_are_zero_and_false() -> None:
    calm = Calm()
    assert calm.below("anywhere", 5) == 0
    assert calm.chance("anywhere", 1_000_000) is False


def test_errors_read_as_a_host_would_say_them() -> None:
    for number, why in WHY.items():
        if number != errno.EAGAIN:
            assert why == os.strerror(number)
    assert isinstance(failure(errno.ENOENT, "x"), FileNotFoundError)
    assert isinstance(failure(errno.EAGAIN, "x"), BlockingIOError)
    assert str(failure(errno.EIO, "/data/log")) == "[Errno 5] Input/output error: '/data/log'"


def test_a_law_without_luck_draws_nothing() -> None:
    told = Told()
    assert Law(100, 10).duration_ns(told, "disk.read", 4096) == 140
    assert not told.asked


def test_bad_luck_is_added_to_what_an_operation_costs() -> None:
    law = Law(100, jitter_ns=50, tail_per_million=500_000, tail_ns=10_000)
    assert law.duration_ns(Told(), "disk.sync", 0) == 100
    told = Told(disk__sync__jitter=50, disk__sync__tail=1)
    assert law.duration_ns(told, "disk.sync", 0) == 10_150
    drawn = {law.duration_ns(Seeded(seed), "disk.sync", 0) for seed in range(100)}
    assert min(drawn) < 150
    assert max(drawn) > 10_100


def test_below_a_directory_is_not_beside_it() -> None:
    assert within("/data/a/log", "/data/a")
    assert within("/data/a", "/data/a")
    assert within("/data/a/log", "/data/a/")
    assert within("/data/a/log", "/")
    assert not within("/data/ab/log", "/data/a")
    assert not within("/data", "/data/a")


def test_no_fault_has_a_rate_to_begin_with() -> None:
    faults = DiskFaults()
    assert faults.sync_stall_ns > 0
    assert faults == DiskFaults("/", 0, 0, 0, 0, 0, 0, 0, faults.sync_stall_ns, 0)
