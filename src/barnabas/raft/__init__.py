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

Read in this order:

``voters``       who votes: replicas by id and directory, and the sets that a log has seen
``outline``      what consensus has to know of a log, and how two logs compare
``config``       what a replica is told about itself
``messages``     what replicas ask each other, whatever the wire's version
``states``       the roles, and the table of what may follow what
``events``       what can happen
``effects``      what is to be done about it
``progress``     what a leader knows of everybody else
``node``         the machine: one event, the time, a list of effects
``control_records``  what the quorum writes into its own log, to bytes and back
``quorum_state``     the vote, in a file that is its old or its new content
``flushed_mark``     how much was flushed: what tells a torn tail from lost promises
``snapshot_files``   snapshots, named and published and found sound or not
``received``         what a leader sent, judged before anything is done with it
``opening``          the disk of a replica after whatever happened to it
``storage``      the log, the snapshots and the vote on a disk, in Kafka's files
``translation``  questions and answers as messages of the protocol
``shell``        events from the world, effects into it, listeners fed

Non-obvious:

- The node moves an *outline* of the log as it decides, the shell moves the log itself when it
  performs the effects; they agree between any two events.
- Appending is a plain call for who leads: it lands at the offset that was promised.  Waiting for
  the commit is another.
- A follower's fetch carries its high watermark (KIP-1166), so that a leader answers at once when
  that is behind, and else waits for news up to ``fetch_wait_ms``.
- An epoch never has two leaders *in anybody's memory*: a leader that restarts in its epoch is
  Resigned, since records it had not flushed may be gone and their offsets must not come again.
"""
