"""Record batches: what a header costs beside its checksum, records a second, codecs beside theirs.

Every batch passes the first rows, so their limit is the checksum alone.  Building and reading
records is for clients, coordinators and compaction; its limit is what Python takes to join the same
pieces, or to cut them and make the tuples, if it is told where they are.  A codec's rival is its
package, called once on the same bytes without framing, bounds or error classes.
"""

import zlib
from collections.abc import Callable, Iterator
from random import Random
from time import perf_counter
from typing import Final

from barnabas.records.batch import (
    HEADER_BYTES,
    BatchHeader,
    assigned,
    batches,
    header_at,
    verify,
)
from barnabas.records.builder import BLANK, built
from barnabas.records.checksum import crc32c
from barnabas.records.compression import (
    ZLIB_GZIP,
    Codec,
    blocks_package,
    compress,
    decompress,
    zstd_package,
)
from barnabas.records.record import Record, records
from benchmarks.report import Row, interleaved

MEGABYTE: Final = 1 << 20
SECONDS_EACH: Final = 0.05
"""How long one side runs before the other has its turn."""


def run(repetitions: int) -> Iterator[Row]:
    """Yield the figures of every case."""
    yield from headers(repetitions)
    yield from building(repetitions)
    yield from codecs(repetitions)


def rate(work: Callable[[], object], units: float) -> Callable[[], float]:
    """Return a side that says how many units a second the work gets done."""
    started = perf_counter()
    work()
    times = max(1, int(SECONDS_EACH / (perf_counter() - started)))

    def side() -> float:
        started = perf_counter()
        for _ in range(times):
            work()
        return units * times / (perf_counter() - started)

    return side


def headers(repetitions: int) -> Iterator[Row]:
    """Walk and verify batches, as receiving and recovering do; stamp them, as appending does."""
    for name, size, goal in (("16 KB", 16_384, ">= 0.5"), ("1 MB", MEGABYTE, ">= 0.9")):
        value = Random(name).randbytes(size - HEADER_BYTES - 20)
        batch = built(BLANK, [Record(0, 0, None, value)])
        # Four megabytes stay in the cache of both sides alike.
        data = memoryview(batch * (4 * MEGABYTE // size))
        places = [
            (position + 21, position + header.size_bytes) for position, header in batches(data)
        ]

        def checked(data: memoryview = data) -> None:
            for position, header in batches(data):
                verify(data, position, header)

        def bare(data: memoryview = data, places: list[tuple[int, int]] = places) -> None:
            for begin, end in places:
                crc32c(data[begin:end])

        def stamped(data: memoryview = data) -> None:
            for position, header in batches(data):
                verify(data, position, header)
                assigned(data, position, header, 42, 7)

        megabytes = len(data) / 1e6
        ours, with_stamp, theirs = interleaved(
            repetitions, rate(checked, megabytes), rate(stamped, megabytes), rate(bare, megabytes)
        )
        yield row(f"walk and verify {name} batches", "MB/s", ours, theirs, "CRC alone", goal)
        yield row(f"... and stamp {name} batches", "MB/s", with_stamp, theirs, "CRC alone", "")


def building(repetitions: int) -> Iterator[Row]:
    """Build and read batches of 100-byte records."""
    values = [Random(n).randbytes(100) for n in range(1_000)]
    plain = [Record(n, 1_000 + n // 10, None, value) for n, value in enumerate(values)]
    keyed = [
        Record(n, 1_000 + n // 10, b"key %d" % n, value, ((b"trace", b"0123456789abcdef"),))
        for n, value in enumerate(values)
    ]
    for name, entries in (("100 B records", plain), ("... with key and header", keyed)):
        data = memoryview(built(BLANK, entries))
        header = header_at(data)
        size = len(data) // len(entries)
        # A record is written as nine pieces.
        pieces = [bytes(data[at : at + size // 9]) for at in range(0, len(data), size // 9)]

        def build(entries: list[Record] = entries) -> None:
            built(BLANK, entries)

        def join(pieces: list[bytes] = pieces) -> None:
            b"".join(list(pieces))

        def read(data: memoryview = data, header: BatchHeader = header) -> None:
            for _ in records(data, 0, header):
                pass

        def cut(data: memoryview = data, count: int = len(entries), size: int = size) -> None:
            for number in range(count):
                at = number * size
                Record(number, 0, data[at : at + 10], data[at : at + 100])

        figures = interleaved(
            repetitions, *(rate(side, len(entries)) for side in (build, join, read, cut))
        )
        build_goal, read_goal = (">= 0.1", ">= 0.2") if entries is plain else ("", "")
        yield row(f"build {name}", "records/s", figures[0], figures[1], "joining alone", build_goal)
        yield row(f"read {name}", "records/s", figures[2], figures[3], "cutting alone", read_goal)


def codecs(repetitions: int) -> Iterator[Row]:
    """Compress and decompress through our framing, beside the package alone."""
    blocks, zstd = blocks_package(), zstd_package()
    words = [Random(n).randbytes(4).hex().encode() for n in range(300)]
    for name, size in (("1 KB", 1_000), ("16 KB", 16_384), ("1 MB", MEGABYTE)):
        data = b" ".join(Random(name).choices(words, k=size // 9 + 1))[:size]
        packers: dict[Codec, Callable[[bytes], bytes]] = {
            Codec.GZIP: lambda data: zlib.compress(data, 6, ZLIB_GZIP),
            Codec.SNAPPY: lambda data: bytes(blocks.snappy.compress_raw(data)),
            Codec.LZ4: lambda data: bytes(blocks.lz4.compress_block(data, store_size=True)),
            Codec.ZSTD: lambda data: bytes(zstd.compress(data, 3)),
        }
        unpackers: dict[Codec, Callable[[bytes], object]] = {
            Codec.GZIP: lambda data: zlib.decompress(data, ZLIB_GZIP),
            Codec.SNAPPY: blocks.snappy.decompress_raw,
            Codec.LZ4: blocks.lz4.decompress_block,
            Codec.ZSTD: zstd.decompress,
        }
        for codec, packer in packers.items():
            framed, bare = compress(codec, data), packer(data)
            unpacker = unpackers[codec]
            sides = (
                lambda codec=codec, data=data: compress(codec, data),
                lambda packer=packer, data=data: packer(data),
                lambda codec=codec, framed=framed: decompress(codec, framed, 2 * MEGABYTE),
                lambda unpacker=unpacker, bare=bare: unpacker(bare),
            )
            packed, packed_bare, unpacked, unpacked_bare = interleaved(
                repetitions, *(rate(side, size / 1e6) for side in sides)
            )
            title = f"{codec.name.lower()} {name}"
            against = "the package alone"
            # Framing costs microseconds, which a kilobyte shows and a megabyte must not.
            goal = ">= 0.5" if size == MEGABYTE else ""
            yield row(f"decompress {title}", "MB/s", unpacked, unpacked_bare, against, goal)
            yield row(f"compress {title}", "MB/s", packed, packed_bare, against, goal)


def row(case: str, unit: str, ours: float, theirs: float | None, against: str, goal: str) -> Row:
    """Return a figure of this bench; more is better everywhere."""
    return Row("records", case, unit, ours, theirs, against, goal, "more")
