"""Running a process on this machine for a test."""

import asyncio

from barnabas.host.world import live
from barnabas.runtime.runtime import Runtime
from tests.runtime.network_contract import Main


def run_on_host(main: Main) -> None:
    """Run a process on this machine; what the loop itself has to complain about fails too."""
    complaints: list[object] = []

    async def watched(runtime: Runtime) -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: complaints.append(context)
        )
        await main(runtime)

    async def bounded() -> None:
        # Nothing here waits for time; a test that hangs should say where.
        async with asyncio.timeout(20):
            await live("test", watched)

    asyncio.run(bounded())
    assert not complaints
