"""Whether a log directory can still be trusted, which ends with its first error.

A write or a flush that failed may have left any part of its bytes behind, and the operating system
may report the next flush as a success though pages were dropped (Rebello et al., ATC 2020).  So
the first error is the last word about a directory for this life of the process: every log in it
refuses to go on, and the layer above takes its partitions offline (S-07, KAFKA-10778).  Only
recovery, which believes nothing but checksums, may use the directory again.
"""

from typing import Final


class DirectoryFailed(Exception):  # noqa: N818 -- an event for the layer above
    """A log directory had an error; nothing in it is appended to or acknowledged any more."""

    def __init__(self, directory: str, error: OSError) -> None:
        super().__init__(f"log directory {directory} failed: {error}")
        self.directory = directory
        self.error = error


class Health:
    """The state of one log directory, shared by all logs in it."""

    def __init__(self, directory: str) -> None:
        self.directory: Final = directory
        self.error: OSError | None = None

    def check(self) -> None:
        """Raise ``DirectoryFailed`` if anything failed before."""
        if self.error is not None:
            raise DirectoryFailed(self.directory, self.error)

    def fail(self, error: OSError) -> DirectoryFailed:
        """Note an error and return what to raise; the first one stays the reason."""
        if self.error is None:
            self.error = error
        return DirectoryFailed(self.directory, self.error)
