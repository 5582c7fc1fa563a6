"""Log directories claimed and marked together: what a mark promises, on disks that lose power."""

import logging

import pytest

from barnabas.log.checkpoints import CLEAN_MARK, Checkpoint, decode_clean_mark, encode_clean_mark
from barnabas.model.errors import Misconfigured
from barnabas.model.ids import Uuid
from barnabas.node.directories import LogDirectories, claim
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import Machine, run
from tests.node.directories import DYNAMIC, STATIC, config_of

A, B = "/disks/a", "/disks/b"
IDS = {A: Uuid(b"a" * 16), B: Uuid(b"b" * 16)}
CONFIG = config_of(STATIC)


def machine_with(**marks: int | None) -> Machine:
    """Return a machine with both directories, and with the marks of some epochs in them."""
    machine = Machine()
    for path in (A, B):
        machine.process.make_directory(path)
        run(machine.process.sync_directory("/disks"))
    run(machine.process.sync_directory("/"))
    for name, epoch in marks.items():
        content = b"" if epoch is None else encode_clean_mark(epoch)
        run(Checkpoint(machine.process, f"/disks/{name}", CLEAN_MARK).replace(content))
    return machine


def claimed(machine: Machine) -> LogDirectories:
    """Claim the directories in this life."""
    return run(claim(machine.process, CONFIG, IDS))


def marks(machine: Machine) -> dict[str, int | None]:
    """Return the epochs in the marks that there are."""
    found = {}
    for path in (A, B):
        content = Checkpoint(machine.process, path, CLEAN_MARK).read()
        if content is not None:
            found[path] = decode_clean_mark(content)
    return found


@pytest.mark.parametrize(
    ("left", "epoch"),
    [
        ({"a": 7, "b": 7}, 7),
        ({"a": 7, "b": 8}, -1),
        ({"a": 7}, -1),
        ({}, -1),
        ({"a": None, "b": None}, -1),
    ],
)
def test_the_last_life_was_clean_if_every_directory_says_so_of_the_same_life(
    left: dict[str, int | None], epoch: int
) -> None:
    machine = machine_with(**left)
    assert claimed(machine).previous_epoch == epoch
    assert marks(machine) == {}


@pytest.mark.parametrize("profile", PROFILES)
def test_marks_are_gone_for_good_before_anything_else_happens(profile: Profile) -> None:
    machine = machine_with(a=7, b=7)
    claimed(machine)
    machine.crash(profile)
    assert marks(machine) == {}
    assert claimed(machine).previous_epoch == -1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_life_that_ends_well_leaves_its_epoch_whatever_happens_to_the_power(
    profile: Profile,
) -> None:
    machine = machine_with()
    directories = claimed(machine)
    directories.epoch, directories.are_recovered = 12, True
    run(directories.close())
    machine.crash(profile)
    assert marks(machine) == {A: 12, B: 12}
    assert claimed(machine).previous_epoch == 12


def test_a_life_that_never_registered_leaves_the_marks_that_it_found() -> None:
    machine = machine_with(a=7, b=7)
    run(claimed(machine).close())
    assert marks(machine) == {A: 7, B: 7}


def test_a_life_that_never_got_to_its_logs_vouches_only_for_what_was_clean() -> None:
    machine = machine_with(a=7)
    directories = claimed(machine)
    directories.epoch = 12
    run(directories.close())
    assert marks(machine) == {A: 12}


def test_a_mark_of_no_epoch_stays_one_of_no_epoch() -> None:
    machine = machine_with(a=None, b=None)
    run(claimed(machine).close())
    assert marks(machine) == {A: -1, B: -1}


def test_a_directory_that_cannot_be_read_is_left_out_and_the_last_life_not_trusted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = machine_with(a=7, b=7)
    with caplog.at_level(logging.ERROR):
        directories = run(claim(machine.process, CONFIG, {A: IDS[A]}))
    assert directories.ids == {A: IDS[A]}
    assert directories.previous_epoch == -1
    assert "offline directory=/disks/b" in caplog.text


def test_a_directory_that_fails_leaves_no_mark_and_the_others_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = machine_with()
    directories = claimed(machine)
    directories.epoch, directories.are_recovered = 12, True
    directories.opened[A].health.fail(OSError(5, "Input/output error"))
    with caplog.at_level(logging.ERROR):
        run(directories.close())
    assert marks(machine) == {B: 12}
    assert "no clean mark in=/disks/a" in caplog.text


def test_directories_of_another_process_are_not_touched() -> None:
    machine = machine_with(a=7, b=7)
    lock = machine.process.lock(B)
    with pytest.raises(Misconfigured, match="another process works in log directory /disks/b"):
        claimed(machine)
    lock.release()
    assert marks(machine) == {A: 7, B: 7}
    claimed(machine)


def test_a_broker_without_a_directory_does_not_start() -> None:
    with pytest.raises(Misconfigured, match="broker 0: no log directory can be used"):
        run(claim(machine_with().process, CONFIG, {}))


def test_a_controller_claims_none() -> None:
    machine = machine_with(a=7)
    directories = run(claim(machine.process, config_of(DYNAMIC), IDS))
    assert not directories.opened
    run(directories.close())
    assert marks(machine) == {A: 7}
