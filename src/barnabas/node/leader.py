"""Where the active controller is: it leads the quorum, as far as this node's replica knows."""

from barnabas.raft.shell import Quorum
from barnabas.raft.states import Follower, Leader
from barnabas.runtime.network import Address


def controller_of(quorum: Quorum) -> Address | str:
    """Return where the active controller is, who leads the quorum; or why nobody can tell."""
    node, place = quorum.node, None
    match node.state:
        case Leader():
            place = node.address(quorum.config.endpoints)
        case Follower(endpoints=endpoints):
            place = node.address(endpoints)
        case _ if node.is_foreign:
            return (
                f"the controllers are of another cluster than this node, whose directories say "
                f"{quorum.config.cluster_id}; point controller.quorum.bootstrap.servers at its "
                f"own, or format anew"
            )
        case _:
            pass
    return place or "nobody is known to lead the quorum"
