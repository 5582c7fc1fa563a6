"""What is simulated of the product: one package per profile.

``planting``  bugs in the place of the product's code, for the runs of one plan
``log``       one log directory on one machine, and every fault its disk can have
``raft``      a quorum, everything that can happen to it, and the specification beside it
``metadata``  what the cluster is, on every node of a quorum that all of that happens to
``control``   whole clusters whose partitions hold nothing: who decides, lives, leads and may stop
"""
