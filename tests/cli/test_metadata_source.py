"""Where histories come from: directories as they are found, and quorums, which do not notice."""

from pathlib import Path

import pytest

from barnabas.cli.metadata_quorum import Cluster, Quorum
from barnabas.cli.metadata_source import (
    SILENCE_MS,
    Files,
    Reached,
    bases_of,
    followed,
    in_directory,
)
from barnabas.host.disk import HostDisk
from barnabas.metadata.history import BEGINNING, Base
from barnabas.model.errors import CorruptLog
from barnabas.raft.onlooker import Onlooker
from barnabas.raft.outline import SnapshotId
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from tests.cli.metadata_files import directory_of, log_of
from tests.metadata.stories import Story, change, started
from tests.raft.members import PORT, Member, Members, quorum_of
from tests.sim.worlds import run_in_world, run_to_end, start

PLACES = [Address(f"n{each}", PORT) for each in (1, 2, 3)]


def bases(directory: Path) -> list[Base]:
    """Return where the history in a directory can begin."""
    return list(bases_of(Onlooker(HostDisk(), str(directory))))


def told() -> tuple[Story, Base]:
    """Tell a story with a snapshot in the middle."""
    story, _ = started()
    base = story.remember()
    story.say(change(1, 0, leader=2))
    return story, base


def test_a_log_from_the_first_record_on_begins_before_everything(tmp_path: Path) -> None:
    story, base = told()
    directory = directory_of(story, tmp_path)
    (directory / "00000000000000000000-0000000000.checkpoint").touch()
    assert bases(directory) == [BEGINNING, base]


def test_a_log_that_was_cut_begins_at_its_oldest_snapshot(tmp_path: Path) -> None:
    story, base = told()
    story.forget(base.end_offset)
    directory = directory_of(story, tmp_path)
    # One that ends before the log begins leads nowhere.
    (directory / "00000000000000000003-0000000001.checkpoint").touch()
    assert bases(directory) == [base]


def test_a_snapshot_that_was_about_to_take_the_logs_place_is_all_there_is(tmp_path: Path) -> None:
    story, base = told()
    newer = story.remember()
    parts, story.parts = story.parts, story.parts[:3]
    directory = directory_of(story, tmp_path)
    assert bases(directory) == [newer]
    with in_directory(HostDisk(), str(tmp_path)) as files:
        assert (files.end_offset, files.committed, list(files.notes)) == (
            newer.end_offset, newer.end_offset, [],
        )  # fmt: skip
        assert list(files.log(newer.end_offset)) == []
    story.parts = parts
    log_of(directory).write_bytes(b"".join(parts))
    assert bases(directory) == [BEGINNING, base, newer]


def test_a_log_of_which_nothing_tells_the_beginning_is_damaged(tmp_path: Path) -> None:
    story, base = told()
    story.forget(base.end_offset)
    story.snapshots.clear()
    directory = directory_of(story, tmp_path)
    with pytest.raises(CorruptLog, match=f"begins at {base.end_offset}, and no snapshot.*another"):
        bases(directory)


def test_a_directory_says_what_is_committed_for_sure_and_what_is_taken_for_it(
    tmp_path: Path,
) -> None:
    story, base = told()
    directory_of(story, tmp_path, tail=b"torn")
    with in_directory(HostDisk(), str(tmp_path)) as files:
        torn, assumed = files.notes
        assert "the last 4 bytes" in torn
        assert f"below offset {base.end_offset} is, and up to {story.end_offset - 1}" in assumed
    story.snapshots.clear()
    directory_of(story, tmp_path / "other")
    with in_directory(HostDisk(), str(tmp_path / "other")) as files:
        assert list(files.notes) == [
            "a directory does not tell what is committed: up to "
            f"{story.end_offset - 1} everything is taken for it"
        ]
    with in_directory(HostDisk(), str(tmp_path), story.end_offset) as files:
        assert [note for note in files.notes if "committed" in note] == []
    with in_directory(HostDisk(), str(tmp_path), base.end_offset) as files:
        assert files.end_offset == base.end_offset


# --- a running quorum ----------------------------------------------------------------------------


def observed(members: Members, at: str = "operator") -> tuple[list[int], list[Files]]:
    """Follow a quorum in a process of its own; return where it ended, and what was seen."""
    ends: list[int] = []
    seen: list[Files] = []

    async def main(runtime: Runtime) -> None:
        runtime.disk.make_directory("/seen")
        ends.append(await followed(runtime, PLACES, "/seen"))
        seen.append(Files(Onlooker(runtime.disk, "/seen", ends[0]), ends[0]))

    members.world.add_host(at)
    run_to_end(members.world, start(members.world, at, main))
    return ends, seen


def described(members: Members, at: str) -> Quorum:
    """Ask the quorum about itself."""
    found: list[Quorum] = []

    async def main(runtime: Runtime) -> None:
        found.append(await Cluster(runtime, PLACES).describe())

    members.world.add_host(at)
    run_to_end(members.world, start(members.world, at, main))
    return found[0]


def values(files: Files) -> list[str]:
    """Return what was seen behind the last snapshot."""
    batches = files.log(files.bases[-1].end_offset)
    return [bytes(value).decode() for batch in batches for value in batch.values]


def test_a_quorum_is_followed_to_what_it_has_committed_and_does_not_notice() -> None:
    with quorum_of(3) as members:
        leader = members.leader()
        members.put(leader, "a", "b", "c")
        before = described(members, "before")
        [end], [files] = observed(members)
        assert end >= before.told.high_watermark
        assert values(files) == ["a", "b", "c"]
        assert list(files.notes) == []
        after = described(members, "after")
        assert list(after.told.observers) == []
        assert after.leader.replica_id == leader.config.key.id
        assert after.told.leader_epoch == before.told.leader_epoch


def test_a_quorum_that_has_cut_its_log_is_followed_from_its_snapshot_on() -> None:
    with quorum_of(3, retention_bytes=0) as members:
        leader = members.leader()

        async def sum_up(member: Member) -> None:
            snapshot = SnapshotId(member.quorum.high_watermark, member.epoch)
            await member.quorum.write_snapshot(snapshot, [b"abc"], 7)

        # Of two snapshots, the older one goes, and the log before the newer.
        for text in ("a", "b"):
            members.put(leader, text)
            members.finish(leader.do(sum_up))
        members.put(leader, "d")
        members.until(lambda: leader.quorum.node.outline.start_offset > 0)
        _, [files] = observed(members)
        assert BEGINNING not in files.bases
        assert values(files) == ["d"]
        summed_up = [bytes(v) for batch in files.snapshot(files.bases[-1]) for v in batch.values]
        assert summed_up == [b"abc"]


def test_a_quorum_is_found_though_some_of_it_is_gone() -> None:
    with quorum_of(3) as members:
        first = members.leader()
        members.put(first, "a")
        members.world.kill(first.host)
        second = members.leader(above=first.epoch)
        members.put(second, "b")
        _, [files] = observed(members)
        assert values(files) == ["a", "b"]


def test_who_sends_nothing_for_long_is_given_up() -> None:
    async def main(runtime: Runtime) -> None:
        reached = Reached()
        reached.leader_changed(1, 1)
        begun_ms = runtime.clock.now_ms()
        with pytest.raises(ConnectionError, match="nothing behind offset 0"):
            await reached.more(runtime, SILENCE_MS)
        assert runtime.clock.now_ms() - begun_ms == SILENCE_MS
        await reached.load(SnapshotId(5, 1), iter(()))
        await reached.more(runtime, SILENCE_MS)
        assert reached.end_offset == 5

    run_in_world(main)
