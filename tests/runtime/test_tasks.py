"""Scopes of tasks: who owns what runs, and what happens when it fails."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.runtime.tasks import TaskScope


class PlantedError(Exception):
    """A bug."""


class Failures:
    """Remembers what was reported."""

    def __init__(self) -> None:
        self.told: list[tuple[str, BaseException]] = []

    def report(self, name: str, error: BaseException) -> None:
        self.told.append((name, error))


def with_scope(main: Callable[[TaskScope], Coroutine[Any, Any, None]]) -> Failures:
    """Run a test with a scope and return what was reported."""
    failures = Failures()

    async def body() -> None:
        await main(TaskScope("node 1", failures.report))

    asyncio.run(body())
    return failures


async def forever() -> None:
    """Wait for nothing."""
    await asyncio.get_running_loop().create_future()


async def failing(error: Exception) -> None:
    """Fail in the first step."""
    raise error


def test_a_task_belongs_to_its_scope_until_it_ends() -> None:
    async def main(scope: TaskScope) -> None:
        async def answer() -> int:
            return 42

        task = scope.spawn(answer(), "answer")
        assert len(scope) == 1
        assert task.get_name() == "node 1/answer"
        assert await task == 42
        await asyncio.sleep(0)
        assert len(scope) == 0

    assert not with_scope(main).told


def test_a_task_that_fails_is_reported_once_with_its_full_name() -> None:
    bug = PlantedError()

    async def main(scope: TaskScope) -> None:
        scope.child("raft").child("timer").spawn(failing(bug), "tick")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await scope.close()

    assert with_scope(main).told == [("node 1/raft/timer/tick", bug)]


def test_closing_cancels_the_oldest_first_and_waits_for_all() -> None:
    order: list[str] = []

    async def stubborn(name: str) -> None:
        try:
            await forever()
        finally:
            order.append(f"{name} cancelled")
            await asyncio.sleep(0)
            order.append(f"{name} ended")

    async def main(scope: TaskScope) -> None:
        for name in ("c", "a", "b"):
            scope.spawn(stubborn(name), name)
        await asyncio.sleep(0)
        await scope.close()
        assert len(scope) == 0
        assert order[:3] == ["c cancelled", "a cancelled", "b cancelled"]
        assert sorted(order[3:]) == ["a ended", "b ended", "c ended"]
        await scope.close()

    assert not with_scope(main).told


def test_a_task_that_was_not_begun_is_closed_too() -> None:
    async def main(scope: TaskScope) -> None:
        task = scope.spawn(forever(), "never begun")
        await scope.close()
        assert task.cancelled()

    assert not with_scope(main).told


def test_a_task_that_fails_while_it_is_cancelled_is_reported() -> None:
    bug = PlantedError()

    async def untidy() -> None:
        try:
            await forever()
        finally:
            raise bug

    async def main(scope: TaskScope) -> None:
        scope.spawn(untidy(), "untidy")
        await asyncio.sleep(0)
        await scope.close()

    assert with_scope(main).told == [("node 1/untidy", bug)]


def test_a_cancelled_task_is_no_failure() -> None:
    async def main(scope: TaskScope) -> None:
        scope.spawn(forever(), "cancelled").cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(scope) == 0

    assert not with_scope(main).told


def test_nothing_starts_in_a_closed_scope() -> None:
    async def main(scope: TaskScope) -> None:
        await scope.close()
        late = forever()
        with pytest.raises(AssertionError, match="node 1: late started after"):
            scope.spawn(late, "late")
        late.close()

    assert not with_scope(main).told


def test_a_child_fails_on_its_own_and_closes_on_its_own() -> None:
    async def main(scope: TaskScope) -> None:
        child = scope.child("part")
        scope.spawn(forever(), "whole")
        child.spawn(forever(), "part")
        await child.close()
        assert (len(scope), len(child)) == (1, 0)
        await scope.close()

    assert not with_scope(main).told
