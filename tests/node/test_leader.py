"""The active controller is found where the quorum's leader listens, or nowhere, and why."""

from barnabas.node.leader import controller_of
from barnabas.node.member import open_member
from barnabas.raft.config import RaftConfig
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from tests.node.test_member import opened
from tests.raft.members import voter
from tests.sim.worlds import run_in_world


def test_it_is_who_leads_the_quorum_be_it_this_node() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        assert controller_of(member.quorum) == Address("here", 9093)
        await member.close(1_000)

    run_in_world(main)


def test_it_is_nowhere_while_nobody_leads() -> None:
    async def main(runtime: Runtime) -> None:
        runtime.disk.make_directory("/metadata")
        config = RaftConfig(voter(1).key, "cluster", listener="FIRST", can_vote=False)
        member = await open_member(runtime, config, "/metadata", [])
        assert controller_of(member.quorum) == "nobody is known to lead the quorum"
        await member.close(1_000)

    run_in_world(main)
