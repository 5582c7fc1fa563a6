"""The same targets under libFuzzer, which keeps every input that reaches something new.

    ./dev fuzz guided CORPUS -runs=1000000 -seed=1

CORPUS is a folder, filled with good messages if it is empty; what libFuzzer finds worth keeping is
added. All of `barnabas` is instrumented, and the codec's functions as they are compiled, so that
each length check and each tag of each message counts as a branch. The first finding stops it and
leaves the input in a file.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["barnabas"]):
    from barnabas.wire import codec
    from tests.fuzz import targets
    from tests.fuzz.wire import corpus


def instrument_what_is_compiled() -> None:
    """Make branches of the compiled codec count, too."""
    compile_function = codec.Written.function

    def instrumented(written: codec.Written) -> Callable[..., Any]:
        function: Callable[..., Any] = atheris.instrument_func(compile_function(written))
        return function

    setattr(codec.Written, "function", instrumented)  # noqa: B010 -- mypy knows it as a method


def main() -> None:
    """Fill the corpus and hand over to libFuzzer, which ends the process."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        for number, good in enumerate(corpus(seed=1)):
            (folder / f"good-{number:05}").write_bytes(good.choice + good.data)
    instrument_what_is_compiled()
    for good in corpus(seed=2):
        targets.anything(good.choice + good.data)
    atheris.Setup(sys.argv, targets.anything)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
