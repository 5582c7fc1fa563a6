"""A listener, in both worlds: order, waiting, bounds, and peers that misbehave."""

from barnabas.runtime.runtime import Runtime
from tests.net.talk import (
    InNastySim,
    InSim,
    OnHost,
    call,
    fetch,
    numbers,
    serving,
)
from tests.runtime.network_contract import Main


class ServerContract:
    """What every listener does, whichever world it is in."""

    host = ""

    def run(self, main: Main) -> None:
        """Run a process in the world until ``main`` returns; raise what it raises."""
        raise AssertionError(f"{type(self).__name__} has no world")

    def test_a_request_is_handled_and_answered(self) -> None:
        async def main(runtime: Runtime) -> None:
            server = await serving(runtime, self.host)
            caller = await call(runtime, server.address)
            caller.ask(fetch(1))
            (answer,) = await caller.answered(1)
            assert (numbers([answer]), answer.version) == ([1], 17)
            await server.close()
            assert await caller.ending() is None

        self.run(main)


class TestServerOnHost(OnHost, ServerContract):
    """The contract, here."""


class TestServerInSim(InSim, ServerContract):
    """The contract, simulated."""


class TestServerInNastySim(InNastySim, ServerContract):
    """The contract, where everything is cut and nothing is prompt."""
