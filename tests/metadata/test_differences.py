"""What lies between two images: what the delta touches, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.differences import Difference, differences
from barnabas.metadata.history import image_at
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.paths import AS_OPERATOR, Path, View, leaves, tree
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.metadata.histories import history
from tests.metadata.stories import Story, change, partition, standing, started, topic, uuid

OPEN = View(secrets=True, unnamed=True)


def between(story: Story, offset: int) -> dict[str, tuple[str | None, str | None]]:
    """Return what is otherwise since an offset."""
    found = differences(image_at(story, offset), story.image(), AS_OPERATOR)
    return {"/".join(each.path[1:]): (each.before, each.after) for each in found}


def test_nothing_is_otherwise_where_nothing_happened() -> None:
    story, _ = started()
    end = story.end_offset - 1
    assert between(story, end) == {}
    story.say(change(1, 0))
    assert between(story, end).keys() == {"topics/byName/orders/0"}


def test_what_came_what_went_and_what_is_otherwise() -> None:
    story, epochs = started()
    story.say(topic("old", 5), partition(5, 0, 1))
    end = story.end_offset - 1
    story.say(change(1, 1, leader=3), standing(2, epochs[2], fenced=1))
    story.say(topic("new", 6), partition(6, 0, 1), RemoveTopicRecord(topic_id=uuid(5)))
    story.say(FeatureLevelRecord(name="group.version", feature_level=1))
    found = between(story, end)
    came = {path for path, (before, _) in found.items() if before is None}
    went = {path for path, (_, after) in found.items() if after is None}
    assert came == {
        "features/finalized_group.version",
        *(f"topics/byName/new/{each}" for each in ("0", "id", "name")),
    }
    assert went == {f"topics/byName/old/{each}" for each in ("0", "id", "name")}
    assert found.keys() - came - went == {"cluster/brokers/2", "topics/byName/orders/1"}
    before, after = found["topics/byName/orders/1"]
    assert before is not None
    assert after is not None
    assert "leader=2" in before
    assert "leader=3" in after


def test_a_topic_made_anew_under_its_name_is_another_id_and_other_partitions() -> None:
    story, _ = started()
    end = story.end_offset - 1
    story.say(RemoveTopicRecord(topic_id=uuid(1)), topic("orders", 2), partition(2, 0, 1, 2, 3))
    found = between(story, end)
    # Its partition 0 is what it was, and the name as well.
    assert found.keys() == {"topics/byName/orders/1", "topics/byName/orders/id"}


def test_a_quota_of_everybody_and_a_credential_are_told_without_secrets() -> None:
    story, _ = started()
    everybody = [ClientQuotaRecord.EntityData(entity_type="user", entity_name=None)]
    end = story.end_offset - 1
    story.say(ClientQuotaRecord(entity=everybody, key="producer_byte_rate", value=2.0))
    story.say(UserScramCredentialRecord(name="al", mechanism=1, salt=b"x", iterations=8192))
    story.say(UserScramCredentialRecord(name="al", mechanism=9, salt=b"x", iterations=8192))
    hidden = "salt=[redacted], storedKey=[redacted], serverKey=[redacted]"
    assert between(story, end) == {
        "clientQuotas/user/producer_byte_rate": (None, "2.0"),
        "scram/SCRAM-SHA-256/al": (None, f"ScramCredentialData({hidden}, iterations=8192)"),
    }


def everything(image: MetadataImage) -> dict[Path, str]:
    """Return every leaf but those that every record changes, or that tell a topic twice."""
    return {
        path: text
        for path, text in leaves(tree(image, OPEN))
        if path[1] != "provenance" and path[1:3] != ("topics", "byId")
    }


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 59), st.integers(0, 59))
def test_comparing_every_path_finds_the_same(seed: int, a: int, b: int) -> None:
    log, story = history(seed), Story()
    for batch in log.cut(*range(60)):
        story.write(*map(bytes, batch.values))
    before, after = image_at(story, a), image_at(story, b)
    found = list(differences(before, after, OPEN))
    old, new = everything(before), everything(after)
    assert {each.path: each for each in found} == {
        path: Difference(path, old.get(path), new.get(path))
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    }
    assert len({each.path for each in found}) == len(found)
