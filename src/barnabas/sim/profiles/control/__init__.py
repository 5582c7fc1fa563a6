"""Whole clusters without data: who decides, who is alive, who leads, who may stop.

    people ──▶ scene ──▶ drive: controllers, brokers with stand-ins for their partitions
                 │ asked, decided, appended, answered, committed
                 ▼
               ledger ─▶ lives, acceptance, states      oracles, as soon as anything is known

Nodes are the product's from top to bottom: quorum, metadata, controller, life of a broker, log
directories with their marks.  Only partitions hold nothing: a stand-in leads and follows, and tells
the controller who keeps up, sometimes late and by what it has heard long ago.

Read in this order:

``states``      what must hold of a state, and of a step from one to the next
``acceptance``  what must be said to a leader that proposes an ISR (P-12)
``lives``       what may be done to brokers
``replicas``    who leads and follows
``drive``       the processes
``people``      the administrator
``marks``       what many runs together must have seen
``ledger``      the committed log, and everything that was decided on the way to it
``liveness``    what a cluster owes when it is whole again
``mutants``     the planted bugs
``scene``       who does what
``profile``     plans

Non-obvious:

- Brokers are judged when a controller decides, before anybody knows whether that is committed;
  partitions when it is, a unit at a time: a batch, or a transaction.
- When a broker was last heard of is kept here anew, by the clock of whoever heard it.
- A proposal is judged by the set of all reasons to refuse it: which of them comes first is a matter
  of taste, and whether there is any is not.
- The quorum's own oracles are the ``raft`` profile's, the metadata's the ``metadata`` profile's:
  here both are believed.
"""
