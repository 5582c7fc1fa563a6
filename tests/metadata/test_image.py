"""The image: empty, whole, where it ends."""

from barnabas.metadata.delta import PARTS
from barnabas.metadata.image import EMPTY, NOWHERE, MetadataImage, Provenance
from tests.metadata.histories import history
from tests.metadata.shell import Shell


def test_an_image_before_the_first_record_is_empty() -> None:
    assert EMPTY.is_empty
    assert EMPTY.offset == -1
    assert NOWHERE.end_offset == 0


def test_an_image_with_any_part_is_not_empty() -> None:
    shell = Shell()
    shell.commit(history(1, 100).cut())
    full = shell.image
    for name in PARTS:
        parts = {each: getattr(EMPTY, each) for each in PARTS}
        image = MetadataImage(NOWHERE, **parts | {name: getattr(full, name)})
        assert image.is_empty == getattr(full, name).is_empty
    assert not full.is_empty


def test_a_snapshot_is_called_by_the_offset_behind_it_and_its_epoch() -> None:
    ends = Provenance(41, 7, 0, batch_aligned=True)
    assert ends.end_offset == 42
    assert ends.snapshot_name == "00000000000000000042-0000000007.checkpoint"
