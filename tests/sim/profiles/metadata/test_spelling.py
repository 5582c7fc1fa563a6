"""An image of the product in the reference's words."""

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY
from barnabas.sim.profiles.metadata.spelling import fact_in, facts_in, keys_in, touched
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from tests.metadata.histories import history
from tests.sim.profiles.metadata.committed import Log


def whole(seed: int) -> Log:
    told, log = history(seed, 120, without=("<lambda>", "abort")), Log()
    for value in told.values:
        log.take([value])
    return log


def test_every_fact_has_its_key_and_an_empty_image_has_none() -> None:
    kinds: set[object] = set()
    for seed in range(12):
        image = whole(seed).image
        facts = facts_in(image)
        assert None not in facts.values()
        kinds |= {key[0] for key in facts}
    assert len(kinds) == 12
    assert not list(keys_in(EMPTY))
    assert fact_in(EMPTY, ("topic", bytes(16))) is None


def test_a_delta_touches_whatever_it_makes_another() -> None:
    for seed in range(12):
        image = whole(seed).image
        assert set(touched(Delta.between(EMPTY, image))) >= set(facts_in(image))
        assert set(touched(Delta.between(image, EMPTY))) >= set(facts_in(image))
        assert not list(touched(Delta(image)))


def test_a_topic_that_goes_touches_its_partitions_and_its_configs() -> None:
    image = next(found for seed in range(20) if (found := whole(seed).image).topics.topics)
    topic_id, topic = next(iter(image.topics.topics.items()))
    delta = Delta(image)
    delta.replay(ConfigRecord(resource_type=2, resource_name=topic.name, name="a", value="1"))
    delta.replay(RemoveTopicRecord(topic_id=topic_id))
    keys = set(touched(delta))
    assert ("topic", topic_id) in keys
    assert ("name", topic.name) in keys
    assert {("partition", topic_id, index) for index in topic.stored} <= keys
