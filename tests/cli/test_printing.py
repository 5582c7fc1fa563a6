"""Printing into a pipe that somebody stops to read."""

import subprocess
import sys

PROGRAM = """
from itertools import count
from barnabas.cli.printing import print_lines
print_lines(str(number) for number in count())
raise SystemExit(7)
"""


def test_whoever_has_read_enough_ends_it_without_a_word() -> None:
    words = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    # What comes behind it is done all the same.
    assert process.wait() == 7
