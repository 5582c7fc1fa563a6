"""What a broker is told about itself."""

from dataclasses import replace

from barnabas.broker.config import CORDONED
from barnabas.metadata import configs
from barnabas.metadata.configs import ConfigResource, ResourceType
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.model.ids import Uuid
from tests.broker.kit import CONFIG, A, B


def set_to(**told: str) -> MetadataImage:
    """Return an image with cordoned directories for a broker, or for ``all``."""
    resources = {
        ConfigResource(ResourceType.BROKER, "" if name == "all" else name.strip("_")): {
            CORDONED: text
        }
        for name, text in told.items()
    }
    return replace(EMPTY, configs=configs.ConfigsImage(resources))


def test_directories_are_told_in_kafkas_order() -> None:
    high = Uuid(b"\xff" * 16)
    config = replace(CONFIG, directories={"/1": B, "/2": high, "/3": A})
    assert config.directory_ids == (high, A, B)


def test_what_is_set_for_this_broker_counts_before_what_is_for_all_and_in_the_file() -> None:
    config = replace(CONFIG, cordoned=("/data/a",))
    assert config.cordoned_in(EMPTY) == (A,)
    assert config.cordoned_in(set_to(all="/data/b")) == (B,)
    assert config.cordoned_in(set_to(all="/data/b", _3="/data/a, /data/b")) == (A, B)
    assert config.cordoned_in(set_to(_3="")) == ()
    assert config.cordoned_in(set_to(_4="/data/b")) == (A,)


def test_a_star_cordons_everything_and_a_strange_path_nothing() -> None:
    assert CONFIG.cordoned_in(set_to(_3="*")) == (A, B)
    assert CONFIG.cordoned_in(set_to(_3="/elsewhere,/data/b")) == (B,)
