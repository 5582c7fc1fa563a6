"""What is simulated of the product: one package per profile.

``log``       one log directory on one machine, and every fault its disk can have
``raft``      a quorum, everything that can happen to it, and the specification beside it
"""
