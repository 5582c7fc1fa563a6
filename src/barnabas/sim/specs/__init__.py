"""The published specifications as Python: what a protocol allows, small enough to be explored.

    a specification ── port ──▶ actions, each with its guards ──▶ explored whole, in small worlds
                                       │
                                       └──▶ taken along with the product, step by step

A port is made of values and pure functions.  It imports nothing of the product, so that a mistake
cannot be made in both at once, and it is shown to be a port before anything is compared with it:
its properties hold in every state of small worlds, and fall when any guard is lifted.

``rules``         guards that block an action, and can be lifted
``exploration``   every reachable state of a small model, and the way to what is wrong
``fairness``      what never happens although nobody is kept waiting
``raft``          the quorum: KRaft with pre-votes and reconfiguration (K996)
``replication``   a partition: its controller, its replicas, eligible leaders (DR966)

    ./dev sim explore raft                  the small worlds, and what falls without each guard
    ./dev sim explore replication [GUARD]   the same; of one guard, how
    ./dev sim explore raft --deep           larger ones, as far as there is room

How traces of the product are taken along is told in ``profiles.raft.trace``, and in
``replication.walk``.
"""
