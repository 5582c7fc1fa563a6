"""Printing for whoever may have read enough before the end."""

import os
import sys
from collections.abc import Iterable


def print_lines(lines: Iterable[str]) -> None:
    """Print lines as they come, until there are no more or nobody reads them any more."""
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has read enough ("| head"); the interpreter must not flush into the pipe
        # at its end and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
