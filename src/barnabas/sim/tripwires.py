"""Doors of the operating system that ring when product code opens them inside a run.

Import contracts and the lint (``tools/lint_world.py``) find a door that is named; a wire finds the
one that was opened by other people's code on the product's behalf.  Wires are functions put in the
place of the module's own.  They ring only while the kernel runs a handle of a node, so the test
runner, the oracles and the driver go in and out as before, and they are taken down after the run.

Non-obvious:

- ``logging`` stamps its records with the time of day.  Inside a run it is given the kernel's,
  which also keeps log lines the same in every run.
- A door that was imported by name before the wires went up (``from time import monotonic``) is not
  wired; that is what the lint is for.
"""

import importlib
import logging
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Final

from barnabas.sim.kernel import Kernel

# Module, and names in it or in a class of it.
DOORS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "time",
        (
            "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
            "process_time", "process_time_ns", "sleep",
        ),
    ),
    (
        "random",
        (
            "random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform",
            "gauss", "getrandbits", "randbytes", "expovariate", "seed",
        ),
    ),
    (
        "os",
        (
            "urandom", "listdir", "scandir", "open", "fork", "system", "popen", "getrandom",
            "mkdir", "remove", "unlink", "rename", "replace", "fsync", "kill",
        ),
    ),
    ("builtins", ("open",)),
    ("io", ("open",)),
    ("socket", ("socket.__init__", "create_connection", "getaddrinfo", "gethostname")),
    ("select", ("select", "poll")),
    ("threading", ("Thread.start",)),
    ("_thread", ("start_new_thread",)),
    ("subprocess", ("Popen.__init__",)),
    ("uuid", ("uuid1", "uuid4")),
    ("secrets", ("token_bytes", "token_hex", "token_urlsafe", "randbits", "choice")),
    ("tempfile", ("mkdtemp", "mkstemp")),
)  # fmt: skip


class Tripped(BaseException):
    """Product code went to the operating system past ``barnabas.runtime``.

    Not an ``Exception``: nobody shall catch it by accident and go on.
    """


class VirtualTime:
    """The ``time`` module as ``logging`` sees it inside a run."""

    def __init__(self, kernel: Kernel, real: ModuleType) -> None:
        self._kernel: Final = kernel
        self._real: Final = real

    def time(self) -> float:
        """Return the kernel's time in seconds."""
        return self._kernel.now_ns / 1_000_000_000

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


class Tripwires:
    """The wires of one run: up inside ``with``, down outside."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel: Final = kernel
        self._doors: Final[list[tuple[object, str, object]]] = []
        self._logging_time: ModuleType | None = None

    def __enter__(self) -> None:
        for module_name, names in DOORS:
            module = importlib.import_module(module_name)
            for path in names:
                owner, _, name = path.rpartition(".")
                place = getattr(module, owner) if owner else module
                door = getattr(place, name)
                self._doors.append((place, name, door))
                setattr(place, name, self._wire(f"{module_name}.{path}", door))
        real: ModuleType = vars(logging)["time"]
        self._logging_time = real
        vars(logging)["time"] = VirtualTime(self._kernel, real)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        vars(logging)["time"] = self._logging_time
        for place, name, door in self._doors:
            setattr(place, name, door)
        self._doors.clear()

    def _wire(self, name: str, door: Callable[..., object]) -> Callable[..., object]:
        kernel = self._kernel

        def step(*args: object, **kwargs: object) -> object:
            if kernel.current is not None:
                who = kernel.current.name
                raise Tripped(f"{who} opened {name}; ask barnabas.runtime instead")
            return door(*args, **kwargs)

        return step
