"""Transcript tests: a conversation with a machine, kept as text beside its answers.

A transcript is a file of blocks: commands, ``----``, and what the machine said.  Run pytest with
``--rewrite`` to record new answers, then read the diff: commit it only if you can explain it.
(The idea is cockroachdb/datadriven's, as etcd's raft uses it.)
"""

from collections.abc import Callable
from pathlib import Path


def play(path: Path, say: Callable[[str], list[str]], *, rewrite: bool) -> None:
    """Say each command in the file and compare the answers with the recorded ones."""
    played: list[str] = []
    recorded = path.read_text()
    for block in recorded.strip("\n").split("\n\n"):
        lines = block.splitlines()
        rule = lines.index("----") if "----" in lines else len(lines)
        asked = lines[:rule]
        commands = [line for line in asked if line and not line.startswith("#")]
        answers = [answer for command in commands for answer in say(command)]
        played.append("\n".join([*asked, "----", *answers] if commands else asked))
    text = "\n\n".join(played) + "\n"
    if rewrite and text != recorded:
        path.write_text(text)
        recorded = text
    assert text == recorded, f"{path.name} changed; run with --rewrite and read the diff"
