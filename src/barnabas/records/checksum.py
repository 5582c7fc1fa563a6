"""CRC-32C of record batches: the one door to the ``crc32c`` package.

Every batch that arrives, is recovered or is built passes here once, so this is one of the few
places where a microsecond counts.  Why this package and no other, with the figures:
docs/decisions/0008.

``crc32c/__init__.py`` imports ``importlib.metadata`` and ``argparse`` for the command line that
comes with it; that costs 40 ms at every start of a process for nothing.  The function itself lives
in an extension module that loads in under one, so the extension is taken directly where it lies,
and the ordinary import is the fallback should a later release move it.
"""

from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import Final, Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview


class Checksum(Protocol):
    """``crc32c(data)``, or ``crc32c(more, before)`` to go on from an earlier part."""

    def __call__(self, data: Buffer, value: int = 0, /) -> int:
        """Return the CRC-32C of ``data`` as it continues ``value``."""
        ...


def load(find: Callable[[str, list[str] | None], ModuleSpec | None]) -> Checksum:
    """Return the checksum function, from the bare extension if ``find`` finds it."""
    package = find("crc32c", None)
    places = package.submodule_search_locations if package else None
    spec = find("crc32c._crc32c", list(places)) if places else None
    if spec is not None and spec.loader is not None:
        extension = module_from_spec(spec)
        spec.loader.exec_module(extension)
        function: Checksum = extension.crc32c
        return function
    from crc32c import crc32c as ordinary  # noqa: PLC0415 -- only if the extension has moved

    return ordinary


crc32c: Final[Checksum] = load(PathFinder.find_spec)
