"""The simulated disk as processes use it, and as the world troubles it."""

import asyncio
import errno
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from barnabas.runtime.disk import Disk
from barnabas.sim.disk import MayDestroy, ProcessDisk, SimDisk, SimFile
from barnabas.sim.disk_content import PAGE, SECTOR
from barnabas.sim.disk_faults import (
    PROFILES,
    Calm,
    DiskFaults,
    Draw,
    Injection,
    Latencies,
    Law,
    Profile,
    Trouble,
)
from tests.sim.allowed import Allowed
from tests.sim.drawing import Seeded, Told


class Dead(BaseException):
    """What a dead process gets for an answer."""


class Process:
    """A process with a clock of its own, that can be killed."""

    def __init__(self, shared: SimDisk, open_files_max: int = 100) -> None:
        self.busy_ns = 0
        self.slept_ns = 0
        self.alive = True
        self.disk: ProcessDisk = shared.process(
            self.check, self.charge, self.sleep, open_files_max=open_files_max
        )

    def check(self) -> None:
        if not self.alive:
            raise Dead

    def charge(self, duration_ns: int) -> None:
        self.busy_ns += duration_ns

    async def sleep(self, duration_ns: int) -> None:
        self.slept_ns += duration_ns
        await asyncio.sleep(0)

    def kill(self) -> None:
        self.disk.die()
        self.alive = False


def disk_with(draw: Draw, content: bytes = b"") -> tuple[SimDisk, Process, SimFile]:
    """Return a disk with a durable file ``/data/log``, a process, and the file opened by it."""
    shared = SimDisk(draw)
    process = Process(shared)
    process.disk.make_directory("/data")
    file = process.disk.open("/data/log", "create")
    file.write(0, [content])

    async def all_durable() -> None:
        await file.sync()
        await process.disk.sync_directory("/data")
        await process.disk.sync_directory("/")

    asyncio.run(all_durable())
    return shared, process, file


def content(shared: SimDisk, path: str = "/data/log") -> bytes:
    """Return what a new process reads from a file."""
    file = Process(shared).disk.open(path, "read")
    return file.read(0, 1 << 30)


def refused(number: int) -> "pytest.RaisesExc[OSError]":
    """Expect an error of the operating system."""
    return pytest.RaisesExc(OSError, check=lambda error: error.errno == number)


def test_this_is_a_disk_as_the_product_knows_it() -> None:
    as_the_product_sees_it: Disk = Process(SimDisk(Calm())).disk
    assert as_the_product_sees_it.names("/") == []


def test_a_kill_loses_nothing_that_was_written() -> None:
    shared, process, file = disk_with(Seeded(1))
    file.write(0, [b"never synced"])
    process.kill()
    assert content(shared) == b"never synced"


def test_the_dead_do_nothing() -> None:
    shared, process, file = disk_with(Calm(), b"before")
    other = Process(shared)
    process.kill()
    for use in (
        lambda: file.write(0, [b"x"]),
        lambda: file.read(0, 1),
        lambda: file.truncate(0),
        lambda: file.allocate(1),
        file.size,
        file.close,
        lambda: asyncio.run(file.sync()),
        lambda: process.disk.open("/data/new", "create"),
        lambda: process.disk.exists("/data"),
        lambda: process.disk.names("/data"),
        lambda: process.disk.remove("/data/log"),
        lambda: process.disk.rename("/data/log", "/data/gone"),
        lambda: process.disk.make_directory("/more"),
        lambda: asyncio.run(process.disk.sync_directory("/data")),
        lambda: process.disk.lock("/data"),
    ):
        with pytest.raises(Dead):
            use()
    assert other.disk.names("/data") == ["log"]
    assert content(shared) == b"before"


def test_who_dies_while_a_sync_waits_never_learns_how_it_ended() -> None:
    shared, process, file = disk_with(Calm(), b"old")

    async def killed_in_between() -> None:
        file.write(0, [b"new"])
        sync = asyncio.ensure_future(file.sync())
        names = asyncio.ensure_future(process.disk.sync_directory("/data"))
        await asyncio.sleep(0)
        process.kill()
        for waiting in (sync, names):
            with pytest.raises(Dead):
                await waiting

    asyncio.run(killed_in_between())
    durable = shared.durable_content("/data/log")
    assert durable is not None
    assert durable.read(0, 10) == b"old"
    assert shared.durable_files() == [("/data/log", 3)]
    assert shared.durable_content("/data") is None


def test_a_power_loss_ends_every_process() -> None:
    shared, _, file = disk_with(Calm())
    shared.power_loss("block")
    # Only a world that forgot to kill its processes would see this.
    with pytest.raises(AssertionError, match="ended"):
        file.read(0, 1)


def test_a_lock_is_released_by_death() -> None:
    shared, process, _ = disk_with(Calm())
    other = Process(shared)
    lock = process.disk.lock("/data")
    with pytest.raises(BlockingIOError):
        other.disk.lock("/data")
    process.kill()
    taken = other.disk.lock("/data")
    with pytest.raises(Dead):
        lock.release()
    taken.release()
    assert not shared.locks


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_outcomes_of_its_own(profile: Profile) -> None:
    found: Counter[tuple[bytes, ...]] = Counter()
    for seed in range(200):
        shared, process, file = disk_with(Seeded(seed), b"a" * 2 * PAGE)
        file.write(0, [b"b" * 3 * PAGE])
        process.disk.open("/data/new", "create").write(0, [b"c" * PAGE])
        shared.power_loss(profile)
        disk = Process(shared).disk
        names = disk.names("/data")
        data = content(shared)
        new = content(shared, "/data/new") if "new" in names else b"-"
        found[(data[::SECTOR], new[::SECTOR])] += 1
    old, all_new = (b"a" * 16, b"-"), (b"b" * 24, b"c" * 8)
    assert found[all_new] > 0
    contents = {outcome[0] for outcome in found}
    news = {outcome[1] for outcome in found}
    mixed = {each for each in contents if b"a" in each and b"b" in each}
    match profile:
        case "prefix":
            assert found[old] > 0
            assert not any(b"ab" in each for each in contents)
            assert any(each.count(b"b") % 8 for each in mixed)
        case "block":
            assert {each[::8][:2] for each in contents} == {b"aa", b"ab", b"ba", b"bb"}
            assert all(len(set(each[i : i + 8])) <= 1 for each in contents for i in (0, 8, 16))
            assert b"-" in news
        case "sector":
            assert any(len(set(each[:8])) == 2 for each in mixed)
            assert b"-" in news
        case "meta-first":
            assert {len(each) for each in contents} == {24}
            assert b"-" not in news
            assert b"\0" * 8 in news
        case "data-first":
            assert contents == {b"b" * 24}
            assert news == {b"-", b"c" * 8}


def test_what_was_synced_survives_every_profile() -> None:
    for profile in PROFILES:
        for seed in range(20):
            shared, _, file = disk_with(Seeded(seed), b"kept" * 3_000)
            file.write(12_000, [b"risk" * 3_000])
            shared.power_loss(profile)
            assert content(shared)[:12_000] == b"kept" * 3_000


def test_a_failed_sync_is_believed_by_nobody_who_saw_it() -> None:
    shared, process, file = disk_with(Calm(), b"old")
    shared.inject(Injection("sync", error=errno.EIO))
    bystander = process.disk.open("/data/log", "write")
    file.write(0, [b"new"])
    for _ in range(2):
        with refused(errno.EIO):
            asyncio.run(file.sync())
    # Open at the time of the error, so it is told, too; and then for good.
    for _ in range(2):
        with refused(errno.EIO):
            asyncio.run(bystander.sync())
    # The operating system lies to who comes later: this sync succeeds, the bytes are not there.
    late = process.disk.open("/data/log", "write")
    assert late.read(0, 3) == b"new"
    asyncio.run(late.sync())
    shared.power_loss("block")
    assert content(shared) == b"old"


def test_the_cache_may_forget_what_a_failed_sync_lost() -> None:
    shared, process, file = disk_with(Calm(), b"old")
    shared.inject(Injection("sync", error=errno.EIO))
    file.write(0, [b"new"])
    with refused(errno.EIO):
        asyncio.run(file.sync())
    assert file.read(0, 3) == b"new"
    shared.evict()
    assert file.read(0, 3) == b"old"
    again = process.disk.open("/data/log", "write")
    shared.draw = Told(disk__sync__evicted=1)
    shared.inject(Injection("sync", error=errno.EIO))
    again.write(0, [b"new"])
    with refused(errno.EIO):
        asyncio.run(again.sync())
    assert again.read(0, 3) == b"old"


def test_syncs_that_wait_together_fail_together() -> None:
    shared, _, file = disk_with(Calm(), b"old")
    shared.inject(Injection("sync", error=errno.EIO))

    async def two() -> None:
        file.write(0, [b"new"])
        answers = await asyncio.gather(file.sync(), file.sync(), return_exceptions=True)
        assert [type(answer) for answer in answers] == [OSError, OSError]

    asyncio.run(two())


def test_an_injection_waits_for_its_operation_and_its_place() -> None:
    shared, process, file = disk_with(Calm())
    shared.inject(Injection("write", under="/data", error=errno.EIO, after=1, times=2))
    process.disk.make_directory("/elsewhere")
    other = process.disk.open("/elsewhere/log", "create")
    other.write(0, [b"x"])
    file.write(0, [b"x"])
    for _ in range(2):
        with refused(errno.EIO):
            file.write(0, [b"y"])
    file.write(0, [b"z"])
    assert file.read(0, 1) == b"z"
    assert shared.suffered["injected write"] == 2


def test_a_delay_keeps_a_plain_call_busy_and_lets_a_sync_wait() -> None:
    shared, process, file = disk_with(Calm())
    shared.inject(Injection("read", delay_ns=1_000_000_000))
    shared.inject(Injection("sync", delay_ns=60_000_000_000))
    process.busy_ns = process.slept_ns = 0
    file.read(0, 1)
    assert process.busy_ns > 1_000_000_000
    file.write(0, [b"x"])
    asyncio.run(file.sync())
    assert process.slept_ns > 60_000_000_000


def test_operations_take_the_time_that_their_law_says() -> None:
    shared, process, file = disk_with(Calm())
    shared.latencies = Latencies(Law(1), Law(20, 1024), Law(300), Law(4_000, 1_000_000))
    process.busy_ns = process.slept_ns = 0
    file.read(0, 10)
    assert process.busy_ns == 1
    file.write(0, [b"x" * 2048])
    assert process.busy_ns == 1 + 20 + 2048
    process.disk.names("/data")
    assert process.busy_ns == 1 + 20 + 2048 + 300
    asyncio.run(file.sync())
    assert process.slept_ns == 4_000 + 2_000_000


@pytest.mark.parametrize(
    ("trouble", "creating", "writing"),
    [
        ("read-only", errno.EROFS, errno.EROFS),
        ("vanished", errno.ENOENT, errno.EIO),
        ("full", 0, errno.ENOSPC),
    ],
)
def test_a_troubled_directory_fails_and_its_neighbour_does_not(
    trouble: Trouble, creating: int, writing: int
) -> None:
    shared, process, file = disk_with(Calm(), b"here")
    process.disk.make_directory("/other")
    neighbour = process.disk.open("/other/log", "create")
    shared.trouble("/data", trouble)
    if creating:
        with refused(creating):
            process.disk.open("/data/new", "create")
        with refused(creating):
            process.disk.rename("/data/log", "/data/gone")
        with refused(creating):
            process.disk.remove("/data/log")
        with refused(creating):
            process.disk.make_directory("/data/deep")
    with refused(writing):
        file.write(PAGE, [b"x"])
    with refused(writing):
        file.allocate(1 << 20)
    if trouble == "vanished":
        with refused(errno.EIO):
            file.read(0, 1)
        with refused(errno.EIO):
            asyncio.run(file.sync())
        with refused(errno.ENOENT):
            asyncio.run(process.disk.sync_directory("/data"))
        assert not process.disk.exists("/data/log")
    else:
        assert file.read(0, 4) == b"here"
        asyncio.run(file.sync())
    neighbour.write(PAGE, [b"x" * PAGE])
    process.disk.open("/other/new", "create").close()
    shared.relieve("/other")
    with refused(writing):
        file.write(PAGE, [b"x"])
    shared.relieve("/data")
    process.disk.open("/data/new", "create").close()
    file.write(PAGE, [b"x"])
    assert shared.suffered[trouble] == 1


def test_a_full_disk_takes_what_fits_and_says_so() -> None:
    shared = SimDisk(Calm(), capacity_bytes=4 * PAGE)
    process = Process(shared)
    file = process.disk.open("/log", "create")
    assert process.disk.free_bytes("/") == 4 * PAGE
    with refused(errno.ENOSPC):
        file.write(100, [b"x" * 5 * PAGE])
    assert file.size() == 4 * PAGE
    assert process.disk.free_bytes("/") == 0
    file.write(0, [b"overwriting needs no space"])
    with refused(errno.ENOSPC):
        file.write(4 * PAGE, [b"x"])
    file.truncate(PAGE)
    assert process.disk.free_bytes("/") == 3 * PAGE
    with refused(errno.ENOSPC):
        file.allocate(5 * PAGE)
    assert file.size() == PAGE
    file.allocate(4 * PAGE)
    assert process.disk.free_bytes("/") == 0
    file.write(0, [b"y" * 4 * PAGE])
    process.disk.remove("/log")
    assert process.disk.free_bytes("/") == 0
    file.close()
    assert process.disk.free_bytes("/") == 4 * PAGE


def test_space_is_counted_again_after_a_power_loss() -> None:
    told = Told(disk__crash__dropped=1, disk__crash__names=1)
    shared, process, file = disk_with(told, b"x" * PAGE)
    file.write(PAGE, [b"y" * 9 * PAGE])
    process.disk.open("/data/other", "create").write(0, [b"z" * PAGE])
    assert shared.used_pages == 11
    shared.power_loss("prefix")
    assert shared.used_pages == 1
    Process(shared).disk.open("/data/log", "write").allocate(100 * PAGE)
    assert shared.used_pages == 100
    told.answers["disk.crash.names"] = 0
    shared.power_loss("prefix")
    assert shared.used_pages == 1


def test_space_that_was_reserved_is_given_back_by_truncating() -> None:
    shared, _, file = disk_with(Calm(), b"x" * PAGE)
    file.allocate(100 * PAGE)
    assert shared.used_pages == 100
    file.truncate(2 * PAGE)
    assert shared.used_pages == 2


def test_what_a_deleted_file_held_turns_up_in_torn_fresh_space() -> None:
    seen = set()
    for deleted_for_good in (True, False):
        for seed in range(60):
            shared, process, _ = disk_with(Seeded(seed), b"deleted!" * 512)
            process.disk.remove("/data/log")
            if deleted_for_good:
                asyncio.run(process.disk.sync_directory("/data"))
            else:
                shared.power_loss("meta-first")
                process = Process(shared)
            file = process.disk.open("/data/new", "create")
            asyncio.run(process.disk.sync_directory("/data"))
            file.write(0, [b"fresh" * 800])
            shared.power_loss("sector")
            seen.add((deleted_for_good, b"deleted!" in content(shared, "/data/new")))
    assert seen == {(True, True), (True, False), (False, True), (False, False)}


def test_a_process_has_so_many_files_and_no_more() -> None:
    shared = SimDisk(Calm())
    process = Process(shared, open_files_max=2)
    first = process.disk.open("/1", "create")
    process.disk.open("/2", "create")
    with refused(errno.EMFILE):
        process.disk.open("/3", "create")
    first.close()
    first.close()
    process.disk.open("/3", "create")
    assert process.disk.names("/") == ["1", "2", "3"]


def test_a_write_that_fails_may_have_written_a_part() -> None:
    found = set()
    for seed in range(100):
        shared, _, file = disk_with(Seeded(seed))
        shared.faults = DiskFaults(write_error=500_000, write_full=500_000)
        try:
            file.write(0, [b"abc", b"def"])
        except OSError as error:
            found.add((error.errno, file.read(0, 10)))
        else:
            assert file.read(0, 10) == b"abcdef"
    for number in (errno.EIO, errno.ENOSPC):
        assert {data for why, data in found if why == number} == {
            b"abcdef"[:count] for count in range(6)
        }


def test_an_unreadable_sector_stays_so_until_it_is_written_whole() -> None:
    told = Told(disk__read_error=1, disk__read_error__sector=1)
    shared, _, file = disk_with(told, b"a" * PAGE)
    shared.faults = DiskFaults(read_error=1)
    with refused(errno.EIO):
        file.read(0, 2 * SECTOR)
    shared.heal()
    assert file.read(0, SECTOR) == b"a" * SECTOR
    assert file.read(2 * SECTOR, 10) == b"a" * 10
    for offset, count in ((0, PAGE), (2 * SECTOR - 1, 1), (SECTOR, SECTOR)):
        with refused(errno.EIO):
            file.read(offset, count)
    with refused(errno.EIO):
        file.write(SECTOR, [b"b"])
    file.write(SECTOR - 1, [b"b" * (SECTOR + 2)])
    assert file.read(SECTOR - 1, SECTOR + 2) == b"b" * (SECTOR + 2)


def test_rot_shows_once_it_is_read_from_the_medium() -> None:
    shared, _, file = disk_with(Calm(), b"a" * 2 * PAGE)
    assert shared.rot("/data/log", PAGE + 5, 0x03)
    assert file.read(PAGE + 4, 3) == b"aba"
    assert not shared.rot("/data/log", 2 * PAGE)
    assert not shared.rot("/data/missing", 0)
    # A page that will be written anyway takes no harm.
    file.write(0, [b"b"])
    assert not shared.rot("/data/log", 7)
    shared.evict()
    assert file.read(0, 1) == b"b"
    shared.power_loss("block")
    assert content(shared)[PAGE + 4 : PAGE + 7] == b"aba"
    assert shared.rot("/data/log", 7)
    assert shared.suffered["rot"] == 2


def test_nothing_durable_is_damaged_against_the_ghost() -> None:
    shared, _, file = disk_with(Seeded(1), b"a" * 2 * PAGE)
    asked = []

    def never(path: str, offset: int, count: int) -> bool:
        asked.append((path, offset, count))
        return False

    shared.may_destroy = shared.may_break = never
    assert not shared.rot("/data/log", 7)
    assert not shared.break_sectors("/data/log", 0, 100)
    shared.faults = DiskFaults(misdirected=1_000_000, read_error=1_000_000)
    assert file.read(0, 2 * PAGE) == b"a" * 2 * PAGE
    file.write(0, [b"b" * PAGE])
    asyncio.run(file.sync())
    shared.power_loss("block")
    shared.heal()
    assert content(shared) == b"b" * PAGE + b"a" * PAGE
    assert ("/data/log", 7, 1) in asked
    assert len(asked) == 4


def test_a_misdirected_write_hits_another_page_and_misses_its_own() -> None:
    found = set()
    for seed in range(40):
        shared, process, file = disk_with(Seeded(seed), b"a" * 2 * PAGE)
        other = process.disk.open("/data/other", "create")
        other.write(0, [b"o" * PAGE])
        asyncio.run(other.sync())
        asyncio.run(process.disk.sync_directory("/data"))
        shared.faults = DiskFaults(misdirected=1_000_000)
        file.write(0, [b"b" * PAGE])
        asyncio.run(file.sync())
        found.add((file.read(0, 1 << 20)[::PAGE], other.read(0, 1 << 20)[::PAGE]))
    assert found == {(b"aa", b"b"), (b"ab", b"o")}


def test_the_ghost_is_told_of_what_is_destroyed_and_of_nothing_else() -> None:
    told: list[tuple[str, int, int]] = []
    shared, process, file = disk_with(Told(disk__misdirected=1), b"a" * PAGE)
    shared.destroys = lambda path, offset, count: told.append((path, offset, count))
    assert shared.rot("/data/log", 7)
    assert not shared.rot("/data/log", 2 * PAGE)
    assert told == [("/data/log", 7, 1)]
    other = process.disk.open("/data/other", "create")
    other.write(0, [b"o" * PAGE])
    asyncio.run(other.sync())
    asyncio.run(process.disk.sync_directory("/data"))
    shared.faults = DiskFaults(misdirected=1)
    file.write(0, [b"b" * PAGE])
    asyncio.run(file.sync())
    assert told[1:] == [("/data/other", 0, PAGE), ("/data/log", 0, PAGE)]


def test_what_is_cached_may_be_looked_at_beside_what_is_durable() -> None:
    shared, _, file = disk_with(Calm(), b"a")
    file.write(0, [b"b"])
    cached, durable = shared.cached_content("/data/log"), shared.durable_content("/data/log")
    assert cached is not None
    assert durable is not None
    assert (cached.read(0, 9), durable.read(0, 9)) == (b"b", b"a")
    assert shared.cached_content("/data/none") is None
    assert shared.cached_content("/data/log/below") is None


def sparing(spared: str) -> MayDestroy:
    """Return a ghost that needs one file."""
    return lambda path, offset, count: path != spared


def test_a_misdirected_write_spares_what_the_ghost_needs_and_what_is_dirty() -> None:
    for spared, hit in (("/data/log", False), ("/data/other", False), ("", True)):
        for dirty in (True, False):
            shared, process, file = disk_with(Calm(), b"a" * PAGE)
            other = process.disk.open("/data/other", "create")
            other.write(0, [b"o" * PAGE])
            asyncio.run(other.sync())
            asyncio.run(process.disk.sync_directory("/data"))
            shared.may_destroy = sparing(spared)
            shared.draw = Told(disk__misdirected=1)
            shared.faults = DiskFaults(misdirected=1)
            file.write(0, [b"b" * PAGE])
            if dirty:
                other.write(0, [b"p"])
            asyncio.run(file.sync())
            whole = file.read(0, PAGE) == b"b" * PAGE
            assert whole == (dirty or not hit)
            assert (other.read(1, 1) == b"o") == whole


def test_a_stale_read_shows_what_the_medium_held_before() -> None:
    shared, _, file = disk_with(Told(disk__stale_read=1), b"a" * 2 * PAGE)
    shared.faults = DiskFaults(stale_read=1)
    file.write(PAGE, [b"b" * PAGE])
    assert file.read(PAGE - 1, 2) == b"ab"
    asyncio.run(file.sync())
    assert file.read(PAGE - 1, 3) == b"aaa"
    assert file.read(0, 10) == b"a" * 10
    file.write(PAGE + 2, [b"c"])
    assert file.read(PAGE - 1, 4) == b"abbc"
    asyncio.run(file.sync())
    assert file.read(PAGE - 1, 4) == b"abbb"
    shared.heal()
    assert file.read(PAGE - 1, 4) == b"abbc"


def test_a_stalled_sync_takes_its_time_and_succeeds() -> None:
    shared, process, file = disk_with(Told(disk__sync_stall=1))
    shared.faults = DiskFaults(sync_stall=1, sync_stall_ns=7_000_000_000)
    process.slept_ns = 0
    file.write(0, [b"x"])
    asyncio.run(file.sync())
    assert process.slept_ns >= 7_000_000_000
    assert content(shared) == b"x"


def test_rates_strike_as_often_as_they_say_and_only_where_they_should() -> None:
    shared, process, file = disk_with(Seeded(3))
    process.disk.make_directory("/calm")
    calm = process.disk.open("/calm/log", "create")
    shared.faults = DiskFaults("/data", open_error=250_000, write_error=100_000)
    failed: Counter[int | None] = Counter()
    for _ in range(1_000):
        calm.write(0, [b"x"])
        process.disk.open("/calm/log", "read").close()
        try:
            file.write(0, [b"x"])
            process.disk.open("/data/log", "read").close()
        except OSError as error:
            failed[error.errno] += 1
    assert 70 < failed[errno.EIO] < 130
    assert 170 < failed[errno.EMFILE] < 280
    assert shared.suffered["write_error"] == failed[errno.EIO]


def test_an_earlier_image_can_be_put_back_and_an_empty_one_too() -> None:
    shared, process, file = disk_with(Calm(), b"old")
    image = shared.image()
    before = shared.durable_hash()
    file.write(0, [b"new"])
    asyncio.run(file.sync())
    process.disk.remove("/data/log")
    process.disk.open("/data/other", "create").close()
    asyncio.run(process.disk.sync_directory("/data"))
    assert shared.durable_hash() != before
    for _ in range(2):
        shared.restore(image)
        assert shared.durable_hash() == shared.cached_hash() == before
        again = Process(shared).disk.open("/data/log", "write")
        assert again.read(0, 10) == b"old"
        again.write(0, [b"changed"])
        asyncio.run(again.sync())
    shared.wipe()
    assert Process(shared).disk.names("/") == []
    assert shared.used_pages == 0
    assert shared.suffered["wipe"] == 1


def test_a_hash_tells_what_is_durable_from_what_is_not() -> None:
    shared, process, file = disk_with(Calm(), b"x" * 5_000)
    assert shared.durable_hash() == shared.cached_hash()
    durable = shared.durable_hash()
    file.write(4_999, [b"y"])
    assert shared.durable_hash() == durable != shared.cached_hash()
    asyncio.run(file.sync())
    assert shared.durable_hash() == shared.cached_hash() != durable
    process.disk.rename("/data/log", "/data/other")
    assert shared.durable_hash() != shared.cached_hash()
    asyncio.run(process.disk.sync_directory("/data"))
    assert shared.durable_hash() == shared.cached_hash()


def test_small_appends_cost_the_same_however_long_the_file_is() -> None:
    _, _, file = disk_with(Calm())
    file.write(0, [b"x" * (4 << 20)])
    asyncio.run(file.sync())
    node = file.node
    before = dict(node.durable.pages)
    for index in range(100):
        file.write((4 << 20) + index * 10, [b"y" * 10])
    # One page of its own, all others still shared with the medium.
    assert len(node.dirty) == 1
    fresh = [
        index for index in node.cached.pages if node.cached.pages[index] is not before.get(index)
    ]
    assert fresh == [1024]


class PowerLosses(RuleBasedStateMachine):
    """Two files written and synced at random, killed and cut off at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.paths = ("/data/a", "/data/b")
        self.allowed = {path: Allowed() for path in self.paths}
        self.shared = SimDisk(Calm())
        self.process = Process(self.shared)
        self.process.disk.make_directory("/data")
        self.files = {path: self.process.disk.open(path, "create") for path in self.paths}
        self.runner.run(self.process.disk.sync_directory("/data"))
        self.runner.run(self.process.disk.sync_directory("/"))

    def teardown(self) -> None:
        self.runner.close()

    @rule(
        path=st.sampled_from(["/data/a", "/data/b"]),
        back=st.integers(0, 6_000),
        count=st.integers(1, 6_000),
        letter=st.integers(1, 200),
    )
    def write(self, path: str, back: int, count: int, letter: int) -> None:
        offset = max(0, self.files[path].size() - back)
        self.files[path].write(offset, [bytes([letter]) * count])
        self.allowed[path].write(offset, bytes([letter]) * count)

    @rule(path=st.sampled_from(["/data/a", "/data/b"]), size=st.integers(0, 10_000))
    def truncate(self, path: str, size: int) -> None:
        self.files[path].truncate(size)
        self.allowed[path].resize(size)

    @rule(path=st.sampled_from(["/data/a", "/data/b"]))
    def sync(self, path: str) -> None:
        self.runner.run(self.files[path].sync())
        self.allowed[path].synced()

    @precondition(lambda self: any(file.size() for file in self.files.values()))
    @rule(profile=st.sampled_from(PROFILES), seed=st.integers(0, 1 << 32), kill=st.booleans())
    def end(self, profile: Profile, seed: int, kill: bool) -> None:
        if kill:
            self.process.kill()
        else:
            # Drawn only now: what the kernel had written back is decided when it matters.
            self.shared.draw = Seeded(seed)
            self.shared.power_loss(profile)
        self.process = Process(self.shared)
        for path in self.paths:
            file = self.files[path] = self.process.disk.open(path, "write")
            allowed = self.allowed[path]
            if kill:
                assert file.read(0, 1 << 30) == allowed.now
            else:
                allowed.check(
                    file.node.durable, sizes=profile != "prefix", stale=profile == "sector"
                )
                assert file.read(0, 1 << 30) == file.node.durable.read(0, 1 << 30)
                allowed.now = bytearray(file.read(0, 1 << 30))
                allowed.synced()


TestPowerLosses = pytest.mark.slow(PowerLosses.TestCase)
TestPowerLosses.settings = settings(max_examples=50, stateful_step_count=25)
