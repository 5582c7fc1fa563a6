"""What the cluster is, on every node of a quorum that everything happens to.

    people ──▶ scene ──▶ drive: Quorum ─▶ Desk ─▶ MetadataShell ─▶ readers, replicas   (a host each)
                            │ what is handed over, what is told, what is written
                            ▼
                          publishing ──▶ reference: what the committed records say, one by one

The quorum, its faults and its oracles are those of the ``raft`` profile.  On its log stands the
product's own metadata shell; in the controller's place a scribe writes, on whatever node leads,
what a controller could: everything there are records for, at every level, in metadata transactions
that span batches and leaders.  Those who have to know are slow, raise, come late and go.

Read in this order:

``writing``     what a controller could write next
``reference``   the reference fold: every fact at every offset
``spelling``    an image of the product in the reference's words
``readers``     those who have to know
``drive``       the process
``local``       what an update means to one broker, found out the long way
``marks``       what many runs together must have seen
``publishing``  the oracles M-02 to M-14
``judges``      all oracles together
``mutants``     the planted bugs
``scene``       people, and what they do
``profile``     plans

Non-obvious:

- The scribe decides on the product's image, as a controller will, and what it writes is folded by
  the reference alone: a wrong image is noticed where it is told, before anything is written on it.
- The reference learns of a record when the first node counts it as committed.  What is told sooner
  than that is known waits to be compared.
- A record that cannot be read is sound on the disk: it is spoiled on its way to one life of one
  node, which must end by it; the next life reads it.
- Where nobody has written a partition's own shell yet, M-12 and M-13 are asked of a stand-in.
"""
