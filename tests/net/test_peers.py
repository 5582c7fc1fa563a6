"""Requests to other nodes, in both worlds."""

from barnabas.net.peers import Peers
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import APIS, ApiKey
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.structs import Request
from tests.net.talk import InNastySim, InSim, OnHost, serving
from tests.runtime.network_contract import Main


class PeersContract:
    """What every network of peers does, whichever world it is in."""

    host = ""

    def run(self, main: Main) -> None:
        """Run a process in the world until ``main`` returns; raise what it raises."""
        raise AssertionError(f"{type(self).__name__} has no world")

    def test_a_question_finds_its_way_and_its_answer_back(self) -> None:
        async def main(runtime: Runtime) -> None:
            server = await serving(runtime, self.host)
            peers = Peers(runtime, "asker")
            answer = await peers.ask(server.address, FetchRequest(max_wait_ms=7), 10_000)
            assert isinstance(answer, FetchResponse)
            assert answer.session_id == 7
            await peers.close()
            await server.close()

        self.run(main)

    def test_a_request_may_be_worded_for_the_version_that_was_agreed_upon(self) -> None:
        async def main(runtime: Runtime) -> None:
            server = await serving(runtime, self.host)
            peers = Peers(runtime, "asker")

            def worded(version: int) -> Request:
                return FetchRequest(max_wait_ms=version)

            request = FetchRequest(max_wait_ms=7)
            answer = await peers.ask(server.address, request, 10_000, worded)
            assert isinstance(answer, FetchResponse)
            assert answer.session_id == APIS[ApiKey.FETCH].versions[-1]
            await peers.close()
            await server.close()

        self.run(main)


class TestPeersOnHost(OnHost, PeersContract):
    """The contract, here."""


class TestPeersInSim(InSim, PeersContract):
    """The contract, simulated."""


class TestPeersInNastySim(InNastySim, PeersContract):
    """The contract, where everything is cut and nothing is prompt."""
