"""Feed the wire with broken messages by the million, and print a row of what came of it.

    ./dev fuzz wire --inputs 1000000 --seed 1

Every input is a good message of the naive twin, or a stream of them, that `mutation` broke, or
now and then noise. The same seed feeds the same inputs. Every thousandth is weighed. The row counts
what could be read, what was refused by a `ProtocolError`, and what is neither: findings, which are
shown with the bytes that repeat them. It fails if there are any.
"""

import argparse
import json
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from tests.fuzz import targets
from tests.fuzz.mutation import mutate
from tests.wire.naive import names, twin

GOOD_MESSAGES = 4
GOOD_STREAMS = 400
STREAMS = 1 / 32
NOISE = 1 / 16
WEIGHED_EVERY = 1_000
SHOWN = 10


@dataclass(frozen=True)
class Good:
    """A good input: the bytes that choose what it is fed to, which stay, and the rest."""

    choice: bytes
    data: bytes


def corpus(seed: int) -> list[Good]:
    """Write good messages of every kind, and some streams of them."""
    return [*messages(seed), *streams(seed)]


@cache
def messages(seed: int) -> list[Good]:
    """Write every message in every version a few times."""
    written = []
    chosen = 0
    for name in names():
        for version in twin(name).versions.all():
            for number in range(GOOD_MESSAGES):
                random = Random(f"{name} {version} {number} {seed}")
                plain = twin(name).instance(version, random, unknown=number % 2 == 1)
                data = twin(name).encode(version, plain)
                written.append(Good(b"\0" + chosen.to_bytes(2), data))
            chosen += 1
    return written


def streams(seed: int) -> Iterator[Good]:
    """Write what a client may send, and what may answer the questions of `targets.client`."""
    random = Random(seed)
    apis = list(targets.served().apis.values())
    for _ in range(GOOD_STREAMS):
        sent = b"".join(
            frame(random, f"{api.name}Request", number, random.choice(api.versions))
            for number, api in enumerate(random.choices(apis, k=random.randint(1, 4)))
        )
        yield Good(bytes((targets.FIRST_OF_SERVER, random.randrange(256))), sent)
    for _ in range(GOOD_STREAMS):
        answers = b"".join(
            frame(random, f"{name}Response", number, version)
            for number, (name, version) in enumerate(targets.ASKED)
        )
        yield Good(bytes((targets.FIRST_OF_CLIENT, random.randrange(256))), answers)


def frame(random: Random, name: str, correlation_id: int, version: int) -> bytes:
    """Write a message behind its header and its size."""
    kind = twin(name)
    flexible = version in kind.flexible
    head = struct.pack(">i", correlation_id)
    if kind.type == "request":
        head = struct.pack(">hh", kind.api_key, version) + head
        # The one request whose header says nothing of the client.
        head += b"" if (name, version) == ("ControlledShutdownRequest", 0) else b"\0\4fuzz"
    elif name == "ApiVersionsResponse":
        flexible = False
    body = kind.encode(version, kind.instance(version, random, unknown=True))
    whole = head + (b"\0" if flexible else b"") + body
    return struct.pack(">i", len(whole)) + whole


def inputs(count: int, seed: int) -> Iterator[bytes]:
    """Break good messages and streams, and make some noise."""
    random = Random(seed)
    good_messages, good_streams = messages(seed), list(streams(seed))
    for _ in range(count):
        good = good_streams if random.random() < STREAMS else good_messages
        chosen = good[int(random.random() * len(good))]
        if random.random() < NOISE:
            yield chosen.choice + random.randbytes(int(random.random() * 64))
        else:
            other = good[int(random.random() * len(good))]
            yield chosen.choice + mutate(chosen.data, other.data, random)


class Tally:
    """What came of the inputs so far."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.findings: dict[str, str] = {}
        self.heaviest = 0.0

    def feed(self, target: targets.Target, data: bytes, *, weigh: bool = False) -> None:
        """Give one input to a target, and count what comes of it."""
        try:
            self.outcomes["decoded_ok" if target(data) else "refused"] += 1
            if weigh:
                self.weigh(target, data)
        except Exception as finding:  # noqa: BLE001 -- whatever is not a refusal is a finding
            self.find(finding, data)

    def weigh(self, target: targets.Target, data: bytes) -> None:
        """Feed an input once more, to see what it weighs."""
        weight = targets.weight_bytes(target, data) / targets.allowance_bytes(data)
        self.heaviest = max(self.heaviest, weight)
        if weight > 1:
            raise MemoryError(f"{weight:.1f} times what it may take")

    def find(self, finding: Exception, data: bytes) -> None:
        """Keep the first input for each kind of finding."""
        self.outcomes["other"] += 1
        last = traceback.extract_tb(finding.__traceback__)[-1:]
        kind = f"{type(finding).__name__} in {[(frame.filename, frame.lineno) for frame in last]}"
        if kind not in self.findings:
            shown = "".join(traceback.format_exception(finding))
            self.findings[kind] = f"{data.hex()}\n{shown}"


def main() -> None:
    """Run, print the row, and fail if there was a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.wire", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()

    tally = Tally()
    for good in corpus(asked.seed):
        tally.feed(targets.anything, good.choice + good.data)  # which compiles the codec
    tally.outcomes.clear()
    started = time.perf_counter()
    for number, data in enumerate(inputs(asked.inputs, asked.seed)):
        tally.feed(targets.anything, data, weigh=number % WEIGHED_EVERY == 0)
    row = {
        "fuzz": "wire",
        "seed": asked.seed,
        "inputs": asked.inputs,
        "seconds": round(time.perf_counter() - started, 1),
        **{outcome: tally.outcomes[outcome] for outcome in ("decoded_ok", "refused", "other")},
        "heaviest": round(tally.heaviest, 3),
    }
    sys.stdout.write(f"{json.dumps(row)}\n")
    for kind, shown in list(tally.findings.items())[:SHOWN]:
        sys.stderr.write(f"\n{kind}\n{shown}\n")
    if tally.findings:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
