"""The product has no door past ``barnabas.runtime``; and the lint that says so can see."""

from pathlib import Path

import pytest

from tools.lint_world import ALLOWED, complaints, everything, product

HERE = Path("raft/shell.py")

WRONG = {
    "import os": "import os: ask barnabas.runtime",
    "import os.path": "import os.path: ask barnabas.runtime",
    "import asyncio, time as clock": "import time: ask barnabas.runtime",
    "from random import Random": "from random: ask barnabas.runtime",
    "def f():\n    from concurrent.futures import Future": "from concurrent.futures: ask",
    "asyncio.open_connection('a', 1)": "connect with runtime.network",
    "from asyncio import start_server": "listen with runtime.network",
    "loop.run_in_executor(None, f)": "there are no threads here",
    "asyncio.to_thread(f)": "there are no threads here",
    "asyncio.create_task(f())": "a task has an owner: TaskScope.spawn",
    "asyncio.get_running_loop().create_task(f())": "a task has an owner: TaskScope.spawn",
    "asyncio.wait(tasks)": "it returns sets",
    "asyncio.run(main())": "the world runs the loop",
    "open('x')": "open() is a door",
    "hash(name) % 3": "hash() differs between processes",
    "sorted(tasks, key=lambda task: id(task))": "id() differs between processes",
    "for name in {a, b}:\n    send(name)": "the order of a set differs",
    "def f():\n    names = {a, b}\n    [send(name) for name in names]": "the order of a set",
    "def f(names: set[str]):\n    for name in names:\n        send(name)": "the order of a set",
    "for name in set(voters) - {me}:\n    send(name)": "the order of a set differs",
    "SEEN = {}\ndef f(key):\n    SEEN[key] = 1": "would share what is kept here",
    "from itertools import count\nIDS = count()\ndef f():\n    return next(IDS)": "would share",
    "WAITING = []\ndef f(one):\n    WAITING.append(one)": "would share what is kept here",
    "table = {}": "a table of constants is written in capitals",
    "@functools.lru_cache(9)\ndef f(): pass": "a cache outlives the process that filled it",
    "def f():\n    global x\n    x = 1": "two simulated processes would share it",
    "class A:\n    def __del__(self): pass": "it runs when the collector pleases",
}

RIGHT = (
    "for name in sorted({a, b}):\n    send(name)",
    "NEXT = {A: frozenset({B})}\ndef f(a):\n    return NEXT[a]",
    "if name in {a, b}:\n    send(name)",
    "runtime.tasks.spawn(f(), 'f')",
    "await asyncio.sleep(0)",
    "await asyncio.wait_for(event.wait(), 3)",
    "runtime.disk.open(path, 'create')",
    "def f():\n    names = {name for name in others}",
    "self.run(x)\nstate.wait(y)",
    "class A:\n    def f(self):\n        self.seen[3] = 1",
)


def test_the_product_reaches_the_world_through_the_runtime_alone() -> None:
    found = [complaint for path, source in product() for complaint in complaints(path, source)]
    assert not found


def test_what_is_allowed_is_there_and_has_a_reason() -> None:
    there = {each.key for path, source in product() for each in everything(path, source)}
    assert sorted(set(ALLOWED) - there) == [], "take it off the list"
    assert all(ALLOWED.values())


@pytest.mark.parametrize("source", WRONG)
def test_each_kind_of_door_is_seen(source: str) -> None:
    (complaint,) = complaints(HERE, source)
    assert WRONG[source] in complaint.advice
    assert complaint.place.startswith("raft/shell.py:")


@pytest.mark.parametrize("source", RIGHT)
def test_what_is_harmless_is_left_alone(source: str) -> None:
    assert list(complaints(HERE, source)) == []
