"""The KRaft quorum: one ordered log, one leader an epoch, and everybody else fetches.

    controllers (voters)                       brokers (observers)
    ┌────────┐  Fetch   ┌────────┐  Fetch      ┌────────┐
    │ leader │◀─────────│follower│        ┌────│observer│
    └────────┘          └────────┘        │    └────────┘
        ▲ ─ records, high watermark ──────┘

A follower asks for what follows the last record on its disk, so its question is also its
acknowledgement: there is no other.  What a majority has flushed is committed (KIP-595).  Snapshots
take the place of the log's beginning (KIP-630); who votes is written in the log itself (KIP-853);
who would not win does not ask for an election (KIP-996).

Read in this order, first the words:

``voters``       who votes: replicas by id and directory, and the sets that a log has seen
``outline``      what consensus has to know of a log, and how two logs compare
``config``       what a replica is told about itself
``messages``     what replicas ask each other, whatever the wire's version
``states``       the roles, and the table of what may follow what
``events``       what can happen
``effects``      what is to be done about it

then the machine, from one event to its effects:

``node``         ``step``: one event, the time, a list of effects
``replica``      the memory that all parts work on; ``become``, the only way to another role
``duties``       what a role keeps in mind while it lasts
``progress``     the same for a leader: how far everybody else is
``elections``    asking for votes, and giving one's own
``news``         how epochs and leaders become known
``following``    having what the leader has: records, cuts, snapshots
``leading``      an epoch's first record, its followers' fetches, its commits, its end
``changes``      voters that come and go

what it keeps on its disk, in Kafka's files:

``control_records``  what the quorum writes into its own log, to bytes and back
``quorum_state``     the vote, in a file that is its old or its new content
``flushed_mark``     how much was flushed: what tells a torn tail from lost promises
``snapshot_files``   snapshots, named and published and found sound or not
``received``         what a leader sent, judged before anything is done with it
``opening``          the disk of a replica after whatever happened to it
``storage``          the log, the snapshots and the vote, as the shell wants them
``onlooker``         the same files, read by somebody who has nothing to do with the replica

and what is between the machine and the world:

``asking``       questions as messages of the protocol, and what the responses say
``serving``      what others ask, and the answers as messages of the protocol
``describe``     what a leader knows of its quorum, told to an operator
``cluster``      which controllers there are, told to whoever asks one of them
``listener``     what a state machine on the log is told
``shell``        events from the world, effects into it, listeners fed

Non-obvious:

- The node moves an *outline* of the log as it decides, the shell moves the log itself when it
  performs the effects; they agree between any two events.
- Everything is said of what is on disks.  A follower asks for more, or for the name of a leader,
  only when all it has is flushed; a leader counts itself up to what it has flushed, and hands out
  what it has not.  A flush that began before a cut counts for nothing (``Flush.cuts``).
- A role begins after the event that led to it is dealt with: ``become`` marks it as new, ``step``
  begins it.  So an answer leaves before the questions of the role that the question brought about.
- An epoch never has two leaders *in anybody's memory*: a leader that restarts in its epoch is
  Resigned, since records it had not flushed may be gone and their offsets must not come again.  A
  candidate that restarts keeps its vote and asks for no other in that epoch: those it was granted
  may rest on records that it had not flushed.
- Appending is a plain call for who leads: it lands at the offset that was promised.  Waiting for
  the commit is another.
- A follower's fetch carries its high watermark (KIP-1166), so that a leader answers at once when
  that is behind, and else waits for news up to ``fetch_wait_ms``.
- That others still remember a lost leader says nothing about it: only the leader itself brings a
  Prospective back, or losing the round.
"""
