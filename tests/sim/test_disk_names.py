"""Names of the simulated disk: which changes a power loss may undo, and which it may not."""

import asyncio
from collections.abc import Awaitable
from random import Random

import pytest

from barnabas.sim.disk import ProcessDisk, SimDisk
from barnabas.sim.disk_faults import PROFILES, Calm, Draw, Profile
from barnabas.sim.disk_names import JOURNAL_MAX
from tests.sim.drawing import Seeded, Told


def started(disk: SimDisk) -> ProcessDisk:
    """Return the disk for a process for which nothing takes time."""

    async def at_once(duration_ns: int) -> None:
        return

    return disk.process(lambda: None, lambda duration_ns: None, at_once)


def now(work: Awaitable[None]) -> None:
    """Run what does not really wait."""
    with pytest.raises(StopIteration):
        work.__await__().__next__()


def create(disk: ProcessDisk, path: str) -> None:
    """Make a file whose durable content is the path it was born with."""
    file = disk.open(path, "exclusive")
    file.write(0, [path.encode()])
    now(file.sync())
    file.close()


def walk(disk: ProcessDisk, directory: str = "") -> dict[str, str]:
    """Return every path below a directory and what it holds; directories hold nothing."""
    found: dict[str, str] = {}
    for name in disk.names(directory or "/"):
        path = f"{directory}/{name}"
        if disk.is_directory(path):
            found[path] = ""
            found |= walk(disk, path)
        else:
            file = disk.open(path, "read")
            found[path] = file.read(0, 100).decode()
            file.close()
    return found


def after_power_loss(disk: SimDisk, profile: Profile) -> dict[str, str]:
    """Cut the power and return what a new process finds."""
    disk.power_loss(profile)
    return walk(started(disk))


class Tree:
    """A disk that is changed at random, and what must not get lost."""

    def __init__(self, random: Random, draw: Draw) -> None:
        self.random = random
        self.disk = SimDisk(draw)
        self.process = started(self.disk)
        self.born: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()
        self.safe: set[str] = set()
        self.count = 0

    def step(self) -> None:
        """Do one random thing."""
        tree = walk(self.process)
        files = [path for path, content in tree.items() if content]
        directories = [path for path, content in tree.items() if not content]
        match self.random.choice(
            ["create", "create", "mkdir", "rename", "rename", "remove", "sync"]
        ):
            case "create":
                self.count += 1
                # Names are few so that they collide, contents are unique.
                path = f"{self.random.choice(['', *directories])}/{self.random.choice('abc')}"
                if path not in tree:
                    file = self.process.open(path, "exclusive")
                    file.write(0, [f"{self.count}".encode()])
                    now(file.sync())
                    file.close()
            case "mkdir":
                path = f"{self.random.choice(['', *directories])}/{self.random.choice('xyz')}"
                if path not in tree and path.count("/") < 4:
                    self.process.make_directory(path)
            case "rename" if tree:
                old = self.random.choice(list(tree))
                name = self.random.choice("abcxyz")
                new = f"{self.random.choice(['', *directories])}/{name}"
                try:
                    self.process.rename(old, new)
                except OSError:
                    return
                if old != new:
                    self.safe.discard(tree.get(new, ""))
            case "remove" if tree:
                path = self.random.choice(list(tree))
                if path in files:
                    self.process.remove(path)
                    self.safe.discard(tree[path])
                elif not self.process.names(path):
                    self.process.remove_directory(path)
            case "sync":
                directory = self.random.choice(["", *directories])
                for content in [
                    tree[path] for path in files if path.rpartition("/")[0] == directory
                ]:
                    self.safe.add(content)
                while directory:
                    now(self.process.sync_directory(directory))
                    directory = directory.rpartition("/")[0]
                now(self.process.sync_directory("/"))
            case _:
                pass
        for path, content in walk(self.process).items():
            self.pairs.add((path.rpartition("/")[2], content))

    def check(self, left: dict[str, str]) -> None:
        """Hold what a power loss left against the rules."""
        contents = sorted(content for content in left.values() if content)
        assert len(contents) == len(set(contents)), "a file came back under two names"
        assert self.safe <= set(contents), "a file was lost though its name was durable"
        for path, content in left.items():
            name = path.rpartition("/")[2]
            assert (name, content) in self.pairs, f"{name} never was {content!r}"


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_names_obey_their_rules_through_power_losses(profile: Profile) -> None:
    lost = 0
    for seed in range(100):
        tree = Tree(Random(seed), Seeded(seed))
        for _ in range(2):
            for _ in range(tree.random.randrange(30)):
                tree.step()
            before = walk(tree.process)
            left = after_power_loss(tree.disk, profile)
            tree.check(left)
            lost += left != before
            tree.process = started(tree.disk)
            tree.safe = {content for content in left.values() if content}
    assert lost > 50 or profile == "meta-first"


@pytest.mark.parametrize("profile", ["prefix", "data-first"])
def test_in_order_means_that_the_tree_is_as_it_once_was(profile: Profile) -> None:
    reached: set[int] = set()
    for seed in range(200):
        random = Random(seed % 10)
        disk = SimDisk(Seeded(seed))
        process = started(disk)
        past = [walk(process)]
        for number in range(8):
            match random.choice(["create", "mkdir", "rename"]):
                case "create":
                    create(process, f"/{number}")
                case "mkdir":
                    process.make_directory(f"/d{number}/e")
                case _ if process.names("/"):
                    process.rename(f"/{random.choice(process.names('/'))}", f"/r{number}")
                case _:
                    pass
            past.append(walk(process))
        left = after_power_loss(disk, profile)
        if left in past:
            reached.add(past.index(left))
        else:
            # make_directory makes two, and the power may fail between them.
            assert any(path.startswith("/d") and f"{path}/e" not in left for path in left)
    assert len(reached) >= 8


def test_a_name_is_durable_once_its_directory_is_synced() -> None:
    for profile in PROFILES:
        for seed in range(20):
            disk = SimDisk(Seeded(seed))
            process = started(disk)
            process.make_directory("/data")
            now(process.sync_directory("/"))
            create(process, "/data/kept")
            now(process.sync_directory("/data"))
            create(process, "/data/perhaps")
            left = after_power_loss(disk, profile)
            assert left.pop("/data/perhaps", "/data/perhaps") == "/data/perhaps"
            assert left == {"/data": "", "/data/kept": "/data/kept"}


def test_syncing_the_file_does_not_make_its_name_durable() -> None:
    disk = SimDisk(Told(disk__crash__names=1))
    create(started(disk), "/log")
    assert after_power_loss(disk, "prefix") == {}


def test_a_durable_name_in_a_directory_that_is_not_durable_is_lost_with_it() -> None:
    disk = SimDisk(Told(disk__crash__name=1))
    process = started(disk)
    process.make_directory("/data")
    create(process, "/data/log")
    now(process.sync_directory("/data"))
    assert after_power_loss(disk, "block") == {}


def replaced(draw: Draw, profile: Profile) -> dict[str, str]:
    """Replace a durable file the right way, without syncing the directory, and lose power."""
    disk = SimDisk(draw)
    process = started(disk)
    create(process, "/state")
    now(process.sync_directory("/"))
    create(process, "/state.tmp")
    process.rename("/state.tmp", "/state")
    return after_power_loss(disk, profile)


def test_a_replaced_file_is_the_old_one_or_the_new_one() -> None:
    for profile in PROFILES:
        found = [replaced(Seeded(seed), profile) for seed in range(40)]
        for left in found:
            assert left["/state"] in ("/state", "/state.tmp")
            assert "/state.tmp" not in left or left["/state"] == "/state"
        states = {left["/state"] for left in found}
        assert states == ({"/state.tmp"} if profile == "meta-first" else {"/state", "/state.tmp"})


def test_changes_of_different_names_come_true_in_any_order() -> None:
    found = set()
    for seed in range(100):
        disk = SimDisk(Seeded(seed))
        process = started(disk)
        for name in "abc":
            create(process, f"/{name}")
        found.add("".join(path[1:] for path in after_power_loss(disk, "block")))
    assert found == {"", "a", "b", "c", "ab", "ac", "bc", "abc"}


def test_a_rename_is_made_durable_by_syncing_either_directory() -> None:
    for directory in ("/from", "/to"):
        disk = SimDisk(Told(disk__crash__name=1))
        process = started(disk)
        process.make_directory("/from")
        process.make_directory("/to")
        create(process, "/from/log")
        for path in ("/from", "/"):
            now(process.sync_directory(path))
        process.rename("/from/log", "/to/log")
        now(process.sync_directory(directory))
        left = after_power_loss(disk, "block")
        assert left == {"/from": "", "/to": "", "/to/log": "/from/log"}


def test_a_durable_file_is_not_lost_by_being_moved_into_a_new_directory() -> None:
    for seed in range(60):
        disk = SimDisk(Seeded(seed))
        process = started(disk)
        create(process, "/log")
        now(process.sync_directory("/"))
        process.make_directory("/new/deep")
        process.rename("/log", "/new/deep/log")
        if seed % 2:
            now(process.sync_directory("/new/deep"))
        left = after_power_loss(disk, "block")
        assert list(left.values()).count("/log") == 1
        assert not seed % 2 or "/new/deep/log" in left


def test_a_directory_is_removed_only_after_it_was_emptied() -> None:
    seen = set()
    for seed in range(60):
        disk = SimDisk(Seeded(seed))
        process = started(disk)
        process.make_directory("/old")
        create(process, "/old/log")
        for path in ("/old", "/"):
            now(process.sync_directory(path))
        process.remove("/old/log")
        process.remove_directory("/old")
        seen.add(tuple(after_power_loss(disk, "block")))
    assert seen == {("/old", "/old/log"), ("/old",), ()}


def test_syncing_the_removal_of_a_directory_keeps_what_was_moved_out_of_it() -> None:
    disk = SimDisk(Told(disk__crash__name=1))
    process = started(disk)
    process.make_directory("/old")
    process.make_directory("/other")
    create(process, "/old/log")
    for path in ("/old", "/"):
        now(process.sync_directory(path))
    process.rename("/old/log", "/other/log")
    process.remove_directory("/old")
    now(process.sync_directory("/"))
    assert after_power_loss(disk, "block") == {"/other": "", "/other/log": "/old/log"}


def test_syncing_a_directory_that_moved_keeps_those_that_made_way() -> None:
    disk = SimDisk(Told(disk__crash__name=1))
    process = started(disk)
    process.make_directory("/y/m/x")
    for path in ("/y/m", "/y", "/"):
        now(process.sync_directory(path))
    process.rename("/y/m", "/m")
    process.rename("/y", "/m/x/y")
    now(process.sync_directory("/m/x"))
    assert set(after_power_loss(disk, "block")) == {"/m", "/m/x", "/m/x/y"}


def test_directories_that_move_never_end_up_inside_each_other() -> None:
    for seed in range(100):
        disk = SimDisk(Seeded(seed))
        process = started(disk)
        process.make_directory("/x")
        process.make_directory("/y")
        now(process.sync_directory("/"))
        process.rename("/x", "/y/x")
        process.rename("/y/x", "/x")
        process.rename("/y", "/x/y")
        left = after_power_loss(disk, "block")
        assert set(left) in ({"/x", "/y"}, {"/y", "/y/x"}, {"/x", "/x/y"})


def test_the_journal_is_committed_before_it_grows_without_end() -> None:
    disk = SimDisk(Told(disk__crash__name=1))
    process = started(disk)
    for number in range(JOURNAL_MAX + 1):
        process.open(f"/{number:04}", "create").close()
    assert len(disk.names.journal) <= JOURNAL_MAX
    left = after_power_loss(disk, "block")
    assert sorted(left) == [f"/{number:04}" for number in range(JOURNAL_MAX // 2)]


def test_nothing_is_lost_when_the_draws_are_boring() -> None:
    for profile in PROFILES:
        disk = SimDisk(Calm())
        process = started(disk)
        process.make_directory("/a/b")
        file = process.open("/a/b/log", "create")
        file.write(0, [b"never synced"])
        process.rename("/a", "/c")
        assert after_power_loss(disk, profile) == {"/c": "", "/c/b": "", "/c/b/log": "never synced"}


def test_a_sync_of_names_covers_those_changed_before_it_was_asked_for() -> None:
    disk = SimDisk(Told(disk__crash__name=1))

    async def slow(duration_ns: int) -> None:
        await asyncio.sleep(0)

    process = disk.process(lambda: None, lambda duration_ns: None, slow)

    async def two_names() -> None:
        process.open("/before", "create").close()
        sync = asyncio.ensure_future(process.sync_directory("/"))
        await asyncio.sleep(0)
        process.open("/after", "create").close()
        await sync

    asyncio.run(two_names())
    assert list(after_power_loss(disk, "block")) == ["/before"]
