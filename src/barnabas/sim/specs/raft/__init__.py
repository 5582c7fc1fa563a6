"""What a quorum may do: Jack Vanlightly's specification of KRaft (KIP-853, KIP-996) as a port.

    guards ── log ── node ── elections ── replication     the port: one replica, one action
                                   │
                     properties ── deeds ── closed ── proof    the worlds that show it

Read in this order:

``guards``        every condition by its name, and rules without some of them
``log``           records as runs of one epoch, and how two logs compare
``node``          one replica, and what replicas say to each other
``elections``     roles, votes, restarts: what is heard of epochs and leaders
``replication``   appending, flushing, fetching, committing, voters, snapshots
``properties``    what must hold: of a replica, a step, two logs, and of everything ever said
``deeds``         what one replica may do in the closed model
``closed``        the closed model: replicas, and everything that was said
``proof``         the worlds, and which property falls when a guard is lifted

An action is ``name(node, what happened, rules) -> Step | Blocked``.  It concerns one replica, as
every action of the specification does; messages are arguments, so that the same function serves
the closed model, which keeps all that was ever said, and the validator, which was there.

Where the port is not the specification, on purpose:

- A fetch speaks of what is *flushed*, a leader counts itself so, and a crash loses the rest.  There
  the disk is perfect.  So a candidate that comes back with less than it had must not run on: who
  has voted for it does so again without another look (``KEEPS_CLAIM``).
- A single voter commits when it has flushed; there that action cannot happen.
- Observers are served, and learn who leads.  One that misses its leader grants pre-votes again
  (``miss_leader``), for it may have been made a voter since; there a follower that has fetched
  refuses them for as long as it follows.
- The high watermark of a follower does not fall within a life; there every answer sets it.
- Offsets begin at 0, ends and high watermarks are exclusive.
- Voters are known by node and disk, leaders by node alone, as on the wire.
- A leader with nothing as old as the replica's last epoch names that epoch and its own first
  offset, as Kafka does; there it is (0, 0).
- Snapshots, EndQuorumEpoch and UpdateVoter are added; liveness is left out, and so are the
  counters that keep the state space small: ``Scope`` has its own.
"""
