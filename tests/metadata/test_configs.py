"""Configs: set, taken back, gone with their topic."""

from barnabas.metadata.configs import EMPTY, ConfigResource, ConfigsDelta, ResourceType
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY as NO_IMAGE
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message

SOMEWHERE = Provenance(0, 0, 0, batch_aligned=True)
ID, OTHER = Uuid(bytes([1] * 16)), Uuid(bytes([2] * 16))
TOPIC = TopicRecord(name="orders", topic_id=ID)


def config(name: str, value: str | None, kind: int = 2, resource: str = "orders") -> ConfigRecord:
    """Return a config of a topic."""
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def after(image: MetadataImage, *records: Message) -> MetadataImage:
    """Return the image after some records in one delta."""
    delta = Delta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(SOMEWHERE)


def test_a_config_is_set_replaced_and_taken_back() -> None:
    image = after(NO_IMAGE, config("a", "1"), config("b", "2")).configs
    assert image.of(ResourceType.TOPIC, "orders") == {"a": "1", "b": "2"}
    delta = ConfigsDelta(image)
    delta.replay(config("a", "3"))
    delta.replay(config("b", None))
    assert delta.resources == {ConfigResource(2, "orders"): {"a": "3"}}
    assert delta.apply().of(2, "orders") == {"a": "3"}


def test_a_resource_without_configs_is_gone() -> None:
    image = after(NO_IMAGE, config("a", "1"), config("a", None)).configs
    assert image == EMPTY
    assert image.is_empty
    assert image.of(2, "orders") == {}


def test_resources_of_all_kinds_are_kept_even_unheard_of_ones() -> None:
    kinds = [*ResourceType, 77]
    image = after(NO_IMAGE, *(config("a", "1", kind, "x") for kind in kinds)).configs
    assert [image.of(kind, "x") for kind in kinds] == [{"a": "1"}] * len(kinds)


def test_the_configs_of_a_topic_go_with_it() -> None:
    before = after(NO_IMAGE, TOPIC, config("a", "1"), config("b", "1", 4, ""))
    gone = after(before, RemoveTopicRecord(topic_id=ID))
    assert list(gone.configs.resources) == [ConfigResource(4, "")]


def test_configs_that_came_with_a_topic_in_one_update_go_with_it_too() -> None:
    # Kafka looks only at what was configured before the update, and leaves these behind.
    image = after(NO_IMAGE, TOPIC, config("a", "1"), RemoveTopicRecord(topic_id=ID))
    assert image.configs.is_empty


def test_a_topic_that_is_made_anew_has_its_own_configs() -> None:
    before = after(NO_IMAGE, TOPIC, config("a", "1"))
    again = TopicRecord(name="orders", topic_id=OTHER)
    remade = after(before, RemoveTopicRecord(topic_id=ID), again, config("b", "2"))
    assert remade.configs.of(2, "orders") == {"b": "2"}


def test_between_two_images_lies_every_resource_that_is_another() -> None:
    one = after(NO_IMAGE, config("a", "1"), config("a", "1", 4, "1"), config("a", "1", 4, "2"))
    other = after(NO_IMAGE, config("b", "1"), config("a", "1", 4, "1"))
    delta = ConfigsDelta.between(one.configs, other.configs)
    assert delta.resources == {
        ConfigResource(2, "orders"): {"b": "1"},
        ConfigResource(4, "2"): None,
    }
    assert delta.apply() == other.configs
