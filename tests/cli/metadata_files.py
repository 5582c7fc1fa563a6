"""The directory of a metadata log, written from a story."""

from pathlib import Path

from tests.metadata.stories import Story


def directory_of(story: Story, place: Path, tail: bytes = b"") -> Path:
    """Write what a story holds into a directory, and something behind it; return the directory."""
    directory = place / "__cluster_metadata-0"
    directory.mkdir(parents=True, exist_ok=True)
    first = next(at for at, batch in enumerate(story.batches) if batch.end_offset > story.forgotten)
    base = story.batches[first].base_offset
    log_of(directory, base).write_bytes(b"".join(story.parts[first:]) + tail)
    for of, data in story.snapshots.items():
        (directory / f"{of.end_offset:020}-{of.epoch:010}.checkpoint").write_bytes(data)
    return directory


def log_of(directory: Path, base: int = 0) -> Path:
    """Return where a segment lies."""
    return directory / f"{base:020}.log"
