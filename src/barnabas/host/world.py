"""One life of a process in the world as it is.

    async def main(runtime):        what the process does, until it is done
        ...

    asyncio.run(live("node 1", main))

``live`` makes the bundle, runs ``main``, and takes everything down again: the tasks first, because
they use the rest; then connections and listeners.  A failure that anything reports ends the life:
``main`` is cancelled and the failure is raised, as a bug should be.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from barnabas.host.clock import HostClock
from barnabas.host.disk import HostDisk
from barnabas.host.entropy import HostEntropy
from barnabas.host.network import HostNetwork
from barnabas.host.probes import SilentProbes
from barnabas.runtime.runtime import Runtime
from barnabas.runtime.tasks import TaskScope


async def live(name: str, main: Callable[[Runtime], Coroutine[Any, Any, None]]) -> None:
    """Run ``main`` in this world until it returns, or raise what failed."""
    failures: list[BaseException] = []

    def on_failure(place: str, error: BaseException) -> None:
        error.add_note(f"in {place}")
        failures.append(error)
        life.cancel()

    network = HostNetwork(name, on_failure)
    disk = HostDisk()
    tasks = TaskScope(name, on_failure)
    runtime = Runtime(
        clock=HostClock(name, on_failure),
        entropy=HostEntropy(),
        disk=disk,
        network=network,
        tasks=tasks,
        probes=SilentProbes(),
    )
    life = asyncio.get_running_loop().create_task(main(runtime), name=name)
    try:
        await life
    except asyncio.CancelledError:
        if not failures:
            raise
    finally:
        await tasks.close()
        network.close()
        # The receivers are told in the loop's next turn.
        await asyncio.sleep(0)
        disk.close()
    if failures:
        # The first is the cause; what came after it may be its consequence.
        raise failures[0]
