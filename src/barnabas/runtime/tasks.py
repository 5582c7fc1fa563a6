"""Every running coroutine has an owner.

A ``TaskScope`` owns the background tasks of one component.  Tasks are kept in the order they were
started, so that closing a scope cancels them in the same order every time (``asyncio.TaskGroup``
and ``asyncio.all_tasks`` keep sets, whose order changes from run to run).

A background task that raises is a bug, and a bug stops the node: the scope reports it once to
``on_failure`` with the task's name and does not go on as if nothing had happened.

This is the one part of ``runtime`` that is code and not a protocol: it is asyncio only, and asyncio
is the same in both worlds.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

OnFailure = Callable[[str, BaseException], None]


class TaskScope:
    """The background tasks of one component, in the order they were started."""

    def __init__(self, name: str, on_failure: OnFailure) -> None:
        self.name: Final = name
        self._on_failure = on_failure
        # A dict because it is ordered; the values say nothing.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._closed = False

    def spawn(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Start a task that belongs to this scope."""
        assert not self._closed, f"{self.name}: {name} started after the scope was closed"
        task = asyncio.get_running_loop().create_task(work, name=f"{self.name}/{name}")
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def child(self, name: str) -> "TaskScope":
        """Return a scope for a part of this component; its failures are reported alike."""
        return TaskScope(f"{self.name}/{name}", self._on_failure)

    async def close(self) -> None:
        """Cancel every task, oldest first, and return when all of them have ended."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for task in tasks:
            # A task that fails while it is cancelled has been reported by _done.
            await asyncio.gather(task, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._tasks)

    def _done(self, task: asyncio.Task[Any]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(task.get_name(), error)
