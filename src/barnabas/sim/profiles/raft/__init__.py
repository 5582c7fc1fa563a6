"""A quorum on machines, networks and disks that do everything they can do.

    people ──▶ scene ──▶ drive: Storage, Quorum, listener, peers, a table on the log   (a host each)
                            │ every step, every message, everything a listener is told
                            ▼
                          watch ──▶ oracles ──▶ ghost: what all of them must agree upon
                            └─────▶ trace: may it, by the specification?

One to seven voters, spare controllers and observers; voters that are configured or in the log, and
then added, removed and moved; clients that write at whoever says that it leads.  Every oracle R-01
to R-34 of the oracle book is asked after every step or where it says, RL-1 to RL-9 when a part of
the quorum is whole again.

Read in this order:

``table``        the state machine on the log: a small map and the digest of all it ever held
``member``       the process of every profile with a quorum; all that is said passes by the oracles
``drive``        the process of this one: a table on the log, and who writes and snapshots it
``disks``        what lies on a simulated disk, read past its process
``ghost``        leaders, identities, commits: what no two replicas may see differently
``lives``        a replica as oracles see it: homes, lives, steps; what an oracle is
``elections``    who leads and who votes
``replication``  one log in many places
``durability``   what was promised lies on disks
``membership``   who votes, and how that changes
``snapshots``    snapshots, and the logs that rest on them
``claims``       what a listener is told
``marks``        what many runs together must have seen; how many situations there were
``facts``        what a replica of the product says of itself, in the specification's words
``walk``         one event of one replica, as actions of the specification's port
``trace``        the validator: a replica of the port beside each one of the product
``tracing``      the validator, as an oracle
``watch``        hears the steps and asks the oracles
``history``      what clients know, and whether it is true
``judges``       all oracles together, and who tells each of them what
``liveness``     what a healthy part of the quorum owes
``mutants``      the planted bugs
``stage``        hosts, people, and what they may expect: of every profile with a quorum
``scene``        the stage, and on it the table and its clients
``profile``      plans

Non-obvious:

- Oracles read logs and votes from the simulated disk, not through the product, which they have to
  doubt; that also costs no virtual time and meets no fault.
- A vote counts when it is told, not when it is decided: a process may die in between.
- A step is seen before the disk has done it.  What is on the disk is looked at when the disk has.
- A disk that is lost is lost with everything its replica has said (§0.6): such voters count as
  holding what they held, and there may never be more than a minority of them.
- *Stranded* is a mark and no failure: a leader that removed itself and lost its epoch before that
  was committed may be the only one who could be elected, and Kafka does not let it stand.
"""

from barnabas.sim.profiles.raft.facts import facts_of
from barnabas.sim.profiles.raft.trace import RaftValidator

__all__ = ["RaftValidator", "facts_of"]
