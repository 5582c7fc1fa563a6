"""The quorum compared with its specification.

``facts``     what a replica of the product says of itself, in the specification's words
``walk``      one event of one replica, as actions of the port
``trace``     the validator: a replica of the port beside each one of the product

Whoever runs replicas needs two of these: facts before and after each event, and the validator that
is told of it.
"""

from barnabas.sim.profiles.raft.facts import facts_of
from barnabas.sim.profiles.raft.trace import RaftValidator

__all__ = ["RaftValidator", "facts_of"]
