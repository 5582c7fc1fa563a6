"""``barnabas metadata``: what it prints, for people and programs, and what it refuses."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli import metadata
from barnabas.cli.metadata import LOOKS_MAX, fields, otherwise, spelled_out
from barnabas.host.disk import HostDisk
from barnabas.metadata import causes, changes, explain, lives
from barnabas.model.ids import uuid_text
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.primitives import uvarint
from tests.cli.metadata_files import directory_of, log_of
from tests.cli.quorum import beside_three_voters
from tests.cli.running import free_port
from tests.metadata.stories import (
    Story,
    change,
    partition,
    registered,
    standing,
    started,
    topic,
    uuid,
)

ROOT = Path(__file__).parent.parent.parent


class Asked:
    """What the command printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], code: int) -> None:
        printed = capsys.readouterr()
        self.code = code
        self.lines = printed.out.splitlines()
        self.notes = [line.removeprefix("barnabas metadata: ") for line in printed.err.splitlines()]

    @property
    def json(self) -> Any:  # noqa: ANN401 -- JSON is what it is
        """The object that it printed."""
        [line] = self.lines
        return json.loads(line)


class Command:
    """The command, on one directory."""

    def __init__(self, capsys: pytest.CaptureFixture[str], place: Path) -> None:
        self.capsys = capsys
        self.place = place

    def tell(self, story: Story, tail: bytes = b"") -> Path:
        """Write a story into the directory."""
        return directory_of(story, self.place, tail)

    def ask(self, *words: str) -> Asked:
        """Run the command; it is always answered."""
        asked = self.run(*words)
        assert asked.code == 0, asked.notes
        return asked

    def refused(self, *words: str) -> str:
        """Run the command, and return why it is not answered: one line."""
        asked = self.run(*words)
        assert (asked.code, asked.lines) == (1, [])
        [note] = asked.notes
        return note

    def run(self, *words: str) -> Asked:
        """Run the command."""
        self.capsys.readouterr()
        return Asked(self.capsys, metadata.main(["--directory", str(self.place), *words]))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command, on a directory of its own."""
    return Command(capsys, tmp_path / "node")


def fenced() -> tuple[Story, list[int]]:
    """Tell of broker 1, which was fenced and came back."""
    story, epochs = started()
    story.say(
        change(1, 0, leader=2, isr=(2, 3)),
        change(1, 1, isr=(2, 3)),
        standing(1, epochs[1], fenced=1),
    )
    story.say(standing(1, epochs[1], fenced=-1))
    story.say(change(1, 0, isr=(2, 3, 1)))
    return story, epochs


# --- image ---------------------------------------------------------------------------------------


def test_the_image_is_a_tree_as_kafkas_shell_prints_it(command: Command) -> None:
    story, _ = fenced()
    command.tell(story)
    lines = command.ask("image").lines
    assert lines[:4] == ["image:", "  acls:", "    byId:", "  clientQuotas:"]
    at = lines.index("    byName:")
    assert lines[at + 1 : at + 3] == ["      orders:", "        0:"]
    assert lines[at + 3].startswith("          PartitionRegistration(replicas=[1, 2, 3], ")
    assert "leader=2" in lines[at + 3]
    assert "    offset 15, epoch 2, time 2026-01-02T03:04:16Z[UTC]" in lines


def test_the_image_is_that_of_any_offset(command: Command) -> None:
    story, _ = fenced()
    command.tell(story)
    path = ("--path", "/image/topics/byName/orders/0")
    [now] = command.ask("image", *path).lines
    [before] = command.ask("image", "--at", "10", *path).lines
    assert "isr=[2, 3, 1]" in now
    assert "isr=[1, 2, 3]" in before
    asked = command.ask("image", "--at", "12", *path)
    assert asked.lines == [before]
    assert "offset 12 is inside of a batch" in asked.notes[-1]
    assert "the image at 10" in asked.notes[-1]


def test_a_path_may_be_short_and_may_mean_several(command: Command) -> None:
    story, _ = fenced()
    story.say(topic("orders-eu", 4))
    command.tell(story)
    short = command.ask("image", "--path", "/topics/orders/0").lines
    assert short == command.ask("image", "--path", "/image/topics/byName/orders/0").lines
    many = command.ask("image", "--path", "/topics/ord*/name", "features").lines
    assert many == [
        "/image/topics/byName/orders/name: orders",
        "/image/topics/byName/orders-eu/name: orders-eu",
        "/image/features:",
        "  metadataVersion:",
        "    Optional[4.3-IV0]",
    ]
    assert spelled_out("/") == ()
    assert spelled_out("topics") == ("image", "topics")
    assert spelled_out("topics/byId/x") == ("image", "topics", "byId", "x")


def test_a_name_with_slashes_is_found(command: Command) -> None:
    story, _ = started()
    story.say(ConfigRecord(resource_type=32, resource_name="a/b", name="x/y", value="1"))
    command.tell(story)
    assert command.ask("image", "--path", "/configs/GROUP:a/b/x/y").lines == [
        "/image/configs/GROUP:a/b/x/y: 1"
    ]


def test_a_path_that_leads_nowhere_is_told_how_far_it_leads(command: Command) -> None:
    story, _ = fenced()
    command.tell(story)
    assert command.refused("image", "--path", "/topics/nope/0") == (
        "/topics/nope/0: there is no such path; in /image/topics/byName there is orders"
    )
    assert "in /image there is acls, clientQuotas, " in command.refused("image", "--path", "/x")
    assert "and 2 more" in command.refused("image", "--path", "/x")
    assert command.refused("image", "--path", "/topics/orders/name/x") == (
        "/topics/orders/name/x: nothing is below /image/topics/byName/orders/name"
    )
    nothing = command.refused("image", "--path", "/acls/byId/*")
    assert "in /image/acls/byId there is nothing" in nothing


def test_secrets_are_shown_to_who_asks_for_them(command: Command) -> None:
    story, _ = started()
    story.say(
        UserScramCredentialRecord(name="al", mechanism=1, salt=b"\x01", iterations=4096),
        ConfigRecord(resource_type=4, name="ssl.key.password", value="hush"),
    )
    command.tell(story)
    words = ("image", "--path", "/scram/SCRAM-SHA-256/al", "/configs/BROKER/ssl.key.password")
    assert all("[redacted]" in line for line in command.ask(*words).lines)
    shown = command.ask("--secrets", *words).lines
    assert "salt=01" in shown[0]
    assert shown[1].endswith(": hush")


def test_quotas_of_everybody_are_shown(command: Command) -> None:
    story, _ = started()
    parts = [ClientQuotaRecord.EntityData(entity_type="user", entity_name=None)]
    story.say(ClientQuotaRecord(entity=parts, key="producer_byte_rate", value=1024.0))
    command.tell(story)
    [line] = command.ask("image", "--path", "/clientQuotas/user/*").lines
    assert line == "/image/clientQuotas/user/producer_byte_rate: 1024.0"


def test_programs_get_the_same_as_objects_within_objects(command: Command) -> None:
    story, _ = fenced()
    base = story.remember()
    story.say(change(1, 0, leader=1))
    command.tell(story)
    told = command.ask("--json", "image").json
    assert told["provenance"] == {"offset": 16, "epoch": 2, "timestamp": story.now_ms - 1_000}
    assert (told["firstOffset"], told["lastOffset"]) == (0, 16)
    assert told["committedBelow"] == base.end_offset
    assert len(told["notes"]) == 1
    image = told["paths"]["/"]["image"]
    assert image["topics"]["byName"]["orders"]["id"] == uuid_text(uuid(1))
    some = command.ask("--json", "image", "--path", "/topics/*/name").json
    assert some["paths"] == {"/image/topics/byName/orders/name": "orders"}


# --- diff ----------------------------------------------------------------------------------------


def test_a_difference_is_told_part_by_part_and_field_by_field(command: Command) -> None:
    story, _ = fenced()
    story.say(FeatureLevelRecord(name="group.version", feature_level=1))
    command.tell(story)
    lines = command.ask("diff", "10", "16").lines
    assert lines == [
        "--- offset 10, epoch 2, time 2026-01-02T03:04:13Z[UTC]",
        "+++ offset 16, epoch 2, time 2026-01-02T03:04:17Z[UTC]",
        "features:",
        "  + /image/features/finalized_group.version: 1",
        "topics:",
        "  ~ /image/topics/byName/orders/0: isr [1, 2, 3] → [2, 3, 1], leader 1 → 2, "
        "leaderEpoch 0 → 1, partitionEpoch 0 → 2",
        "  ~ /image/topics/byName/orders/1: isr [2, 3, 1] → [2, 3], partitionEpoch 0 → 1",
    ]
    assert [line for line in command.ask("diff", "16", "10").lines if line.startswith("  -")] == [
        "  - /image/features/finalized_group.version: 1"
    ]
    assert command.ask("diff", "14", "14").lines[-1] == "nothing changed"
    inside = command.ask("diff", "12", "16").notes
    assert "offset 12 is inside of a batch" in inside[-1]


def test_a_difference_for_programs_has_whole_texts(command: Command) -> None:
    story, _ = fenced()
    command.tell(story)
    told = command.ask("--json", "diff", "13", "14").json
    [one] = told["differences"]
    assert one["path"] == "/image/cluster/brokers/1"
    assert "fenced=true" in one["before"]
    assert "fenced=false" in one["after"]
    assert (told["before"]["offset"], told["after"]["offset"]) == (13, 14)


def test_only_texts_of_the_same_fields_are_compared_by_them() -> None:
    assert fields("A(b=[1, 2], c={d=(e), f}, g=)") == {"b": "[1, 2]", "c": "{d=(e), f}", "g": ""}
    assert fields("1.5") == fields("a(b") == fields("StandardAcl[a=b, c=d]") == {}
    assert otherwise("A(b=1, c=2)", "A(b=1, c=3)") == "c 2 → 3"
    assert otherwise("1", "2") == "1 → 2"
    assert otherwise("A(b=1, c=2)", "B(x=1)") == "A(b=1, c=2) → B(x=1)"


# --- explain -------------------------------------------------------------------------------------


def test_a_partition_is_explained_record_by_record(command: Command) -> None:
    story, _ = fenced()
    command.tell(story)
    assert command.ask("explain", "orders-0").lines == [
        "orders-0, from offset 0 to 15",
        "",
        "offset 9  epoch 2  2026-01-02T03:04:13Z  created",
        "    because the topic was created (offset 8)",
        "    leader 1, ISR 1, 2, 3, replicas 1, 2, 3, leader epoch 0, partition epoch 0",
        "",
        "offset 11  epoch 2  2026-01-02T03:04:14Z  changed",
        "    because broker 1 was fenced (offset 13)",
        "    with 1 change of other partitions",
        "    leader 2 elected (1 led before)",
        "    ISR shrunk by 1",
        "    leader epoch 0 → 1, partition epoch 0 → 1",
        "",
        "offset 15  epoch 2  2026-01-02T03:04:16Z  changed",
        "    because leader 2 told who is in sync (AlterPartition)",
        "    ISR grown by 1",
        "    leader epoch 1, partition epoch 1 → 2",
        "",
        "now: leader 2, ISR 2, 3, 1, replicas 1, 2, 3, leader epoch 1, partition epoch 2",
    ]


def test_a_partition_that_is_gone_and_one_without_a_leader_are_told_as_what_they_are(
    command: Command,
) -> None:
    story, _ = started()
    story.say(
        change(1, 0, leader=-1, isr=(), eligible_leader_replicas=(1,), last_known_elr=(2,)),
        change(1, 1, isr=(3,), leader=3, leader_recovery_state=1, removing_replicas=(1,)),
    )
    command.tell(story)
    assert command.ask("explain", "orders-0").lines[-1] == (
        "now: no leader, ISR empty, replicas 1, 2, 3, eligible leaders 1, last known leaders 2, "
        "leader epoch 1, partition epoch 1"
    )
    assert command.ask("explain", "orders-1").lines[-1] == (
        "now: leader 3, ISR 3, replicas 2, 3, 1, removing 1, recovering, leader epoch 1, "
        "partition epoch 1"
    )
    story.say(RemoveTopicRecord(topic_id=uuid(1)))
    command.tell(story)
    lines = command.ask("explain", "orders-0").lines
    assert lines[-3:] == ["    because the topic was deleted", "", "now: there is none"]


def test_programs_get_causes_and_effects_by_their_names(command: Command) -> None:
    story, _ = fenced()
    command.tell(story)
    told = command.ask("--json", "explain", "orders-0").json
    created, changed, grown = told["changes"]
    assert (created["what"], created["before"]) == ("created", None)
    assert changed["causes"] == [
        {"what": "fenced", "words": "broker 1 was fenced", "broker": 1, "offset": 13}
    ]
    assert [each["what"] for each in changed["effects"]] == ["leaderElected", "isrShrunk"]
    assert (changed["offset"], changed["epoch"], changed["otherPartitions"]) == (11, 2, 1)
    assert (changed["before"]["leaderEpoch"], changed["after"]["leaderEpoch"]) == (0, 1)
    assert grown["after"] == told["now"]
    assert told["now"]["directories"] == [uuid_text(uuid(10 * each)) for each in (1, 2, 3)]
    story.say(RemoveTopicRecord(topic_id=uuid(1)))
    command.tell(story)
    assert command.ask("--json", "explain", "orders-0").json["now"] is None


def test_a_topic_with_dashes_has_partitions_too_and_what_is_none_is_refused(
    command: Command,
) -> None:
    story, _ = started()
    story.say(topic("a-b", 4), partition(4, 0, 1))
    command.tell(story)
    assert command.ask("explain", "a-b-0").lines[0].startswith("a-b-0, ")
    for words in ("orders", "orders-x", "-0", "orders-"):
        assert "is no partition: name a topic and a number" in command.refused("explain", words)
    assert command.refused("explain", "orders-7") == (
        "there was no partition orders-7 from offset 0 to 12"
    )


# --- brokers -------------------------------------------------------------------------------------


def test_the_lives_of_brokers_are_told(command: Command) -> None:
    story, epochs = fenced()
    story.say(standing(2, epochs[2], in_controlled_shutdown=1))
    story.say(standing(2, epochs[2], fenced=1))
    epoch = story.say(registered(2, story.end_offset, incarnation=9))
    command.tell(story)
    lines = command.ask("brokers").lines
    assert [line for line in lines if line.startswith("broker")] == [
        "broker 1, epoch 2: active",
        "broker 2, epoch 4: replaced",
        f"broker 2, epoch {epoch}: fenced",
        "broker 3, epoch 6: active",
    ]
    assert command.ask("brokers", "2").lines[1:6] == [
        f"    offset 4   2026-01-02T03:04:09Z  registered as incarnation {uuid_text(uuid(102))}, "
        "fenced",
        "    offset 5   2026-01-02T03:04:10Z  unfenced",
        "    offset 16  2026-01-02T03:04:17Z  began its controlled shutdown",
        "    offset 17  2026-01-02T03:04:18Z  fenced, drained",
        f"    offset 18  2026-01-02T03:04:19Z  replaced by the life of epoch {epoch}",
    ]
    told = command.ask("--json", "brokers", "2").json["lives"]
    assert [(life["brokerEpoch"], life["standing"]) for life in told] == [
        (4, "replaced"),
        (epoch, "fenced"),
    ]
    assert [event["what"] for event in told[0]["events"]] == [
        "registered", "unfenced", "stopping", "drained", "replaced",
    ]  # fmt: skip


def test_a_broker_that_never_was_and_a_cluster_without_brokers_are_told(command: Command) -> None:
    story = Story()
    story.lead()
    command.tell(story)
    assert command.ask("brokers").lines == ["no broker has ever registered"]
    assert command.refused("brokers", "7") == "there was no broker 7 from offset 0 to 0"


def test_the_reference_explains_every_cause_effect_and_event() -> None:
    page = (ROOT / "docs/reference/metadata.md").read_text()
    for module in (causes, changes, lives, explain):
        text = inspect.getsource(module)
        names = re.findall(r'(?:Cause|Effect|Event|_note)\([^"]*?"(\w+)"', text)
        names += re.findall(r'yield "(\w+)", ', text)
        assert names
        assert [name for name in names if f"`{name}`" not in page] == []


# --- what can be wrong ---------------------------------------------------------------------------


def test_an_offset_out_of_reach_is_refused_with_what_is_in_reach(command: Command) -> None:
    story, _ = started()
    base = story.remember()
    story.say(change(1, 0, leader=2))
    story.forget(base.end_offset)
    command.tell(story)
    assert command.ask("image", "--at", "10").code == 0
    assert command.refused("image", "--at", "9") == (
        "offset 9 is out of reach: what was before 10 is summed up in the oldest snapshot that is "
        "there; the history reaches from 10 to 11"
    )
    assert command.refused("diff", "10", "12").endswith("the history reaches from 10 to 11")
    assert command.ask("explain", "orders-0").lines[2].endswith("found")
    assert command.ask("brokers", "1").lines[1].endswith("in the snapshot: active")


def test_a_torn_tail_is_told_and_not_fatal(command: Command) -> None:
    story, _ = started()
    directory = command.tell(story, tail=b"torn")
    before = sorted((path.name, path.read_bytes()) for path in directory.iterdir())
    asked = command.ask("explain", "orders-0")
    assert f"{log_of(directory)}: the last 4 bytes" in asked.notes[0]
    assert sorted((path.name, path.read_bytes()) for path in directory.iterdir()) == before


def test_a_log_that_grows_is_told_as_far_as_it_is(command: Command) -> None:
    story, _ = started()
    command.tell(story)
    for leader in (2, 3, 1):
        story.say(change(1, 0, leader=leader))
        whole = b"".join(story.parts)
        # First a part of the batch, then the rest.
        log = log_of(command.place / "__cluster_metadata-0")
        log.write_bytes(whole[:-5])
        asked = command.ask("--json", "explain", "orders-0").json
        assert asked["lastOffset"] == story.end_offset - 2
        log.write_bytes(whole)
        asked = command.ask("--json", "explain", "orders-0").json
        assert asked["now"]["leader"] == leader


def test_files_that_go_while_one_looks_are_looked_for_again(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    story, _ = started()
    directory = command.tell(story)
    going = [f"{directory}/{base:020}.log" for base in range(100, 100 + LOOKS_MAX - 1)]
    looks = HostDisk.names

    def names(disk: HostDisk, path: str) -> list[str]:
        gone = [going.pop().rpartition("/")[2]] if going else []
        return sorted([*looks(disk, path), *gone])

    monkeypatch.setattr(HostDisk, "names", names)
    assert command.ask("explain", "orders-0").code == 0
    going += [f"{directory}/{base:020}.log" for base in range(100, 100 + LOOKS_MAX)]
    assert "000000100.log" in command.refused("explain", "orders-0")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (uvarint(1) + uvarint(99) + uvarint(0), "metadata record of type 99: .*newer release"),
        (
            uvarint(1) + uvarint(TopicRecord.API_KEY) + uvarint(9),
            "TopicRecord: .*version 9; known are 0 to 0; a newer release",
        ),
        (
            encode_record(FeatureLevelRecord(name="metadata.version", feature_level=99), 0),
            r"FeatureLevelRecord: metadata.version is 99, .*7 \(3.3-IV3\) to .*lower it",
        ),
        (
            encode_record(change(77, 0, leader=2), 2),
            "PartitionChangeRecord: there is no topic of id .*compare the metadata log",
        ),
    ],
)
def test_a_record_that_cannot_be_understood_is_named_by_file_and_offset(
    command: Command, value: bytes, why: str
) -> None:
    story, _ = started()
    offset = story.write(value)
    directory = command.tell(story)
    pattern = f"{log_of(directory)}: __cluster_metadata-0, offset {offset}: {why}"
    assert re.match(pattern, command.refused("image"))
    # What was before can still be told.
    assert command.ask("image", "--at", str(offset - 1)).code == 0


def test_a_damaged_snapshot_is_named_and_what_needs_none_is_told(command: Command) -> None:
    story, _ = started()
    base = story.remember()
    story.say(change(1, 0, leader=2))
    for damaged in (story.snapshots[base][:-30], story.snapshots[base].replace(b"ord", b"dro")):
        story.snapshots[base] = damaged
        directory = command.tell(story)
        why = command.refused("image")
        assert why.startswith(f"{directory}/0000000000000000")
        assert ".checkpoint" in why
        assert "move the file away" in why
        assert command.ask("image", "--at", str(base.last_offset - 3)).code == 0


def test_a_damaged_log_is_named_by_its_place(command: Command) -> None:
    story, _ = started()
    directory = command.tell(story)
    log = log_of(directory)
    place = len(story.parts[0])
    data = bytearray(log.read_bytes())
    data[place + 70] ^= 1
    log.write_bytes(data)
    assert command.refused("image").startswith(f"{log} at {place}: ")


def test_what_is_no_directory_of_a_log_is_refused(command: Command) -> None:
    assert "no such directory" in command.refused("image")
    command.place.mkdir()
    assert "no metadata log here" in command.refused("image")
    directory = command.place / "__cluster_metadata-0"
    directory.mkdir()
    assert command.refused("image") == "nothing has been written yet"
    log_of(directory).touch()
    assert command.refused("explain", "orders-0") == "nothing has been written yet"


# --- a running quorum ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_running_quorum_tells_the_same_as_the_directory_of_any_of_its_voters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story, _ = fenced()
    batches = [batch.values for batch in story.batches if batch.values]
    commands = (["image", "--path", "/topics", "/cluster"], ["explain", "orders-0"], ["brokers"])

    def ask(*words: str) -> Asked:
        capsys.readouterr()
        return Asked(capsys, metadata.main(words))

    def compare(ports: list[int]) -> None:
        servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        told = ask("--bootstrap-controller", servers, "--json", "explain", "orders-0").json
        assert told["notes"] == []
        assert told["committedBelow"] == told["lastOffset"] + 1 >= story.end_offset
        assert [change["what"] for change in told["changes"]] == ["created", "changed", "changed"]
        for words in commands:
            seen = ask("--bootstrap-controller", servers, *words)
            assert (seen.code, seen.notes) == (0, [])
            found = [ask("--directory", str(tmp_path / str(each)), *words) for each in (1, 2, 3)]
            assert [each.code for each in found] == [0, 0, 0]
            assert all(each.lines == seen.lines for each in found)

    beside_three_voters(tmp_path, batches, compare)


def test_a_quorum_of_which_nobody_is_there_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = f"127.0.0.1:{free_port()}"
    assert metadata.main(["--bootstrap-controller", place, "image"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert place in line
    assert metadata.main(["--bootstrap-controller", "nonsense", "image"]) == 1
    assert "nonsense" in capsys.readouterr().err
