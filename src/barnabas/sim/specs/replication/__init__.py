"""What a partition's replicas may do: Jack Vanlightly's specification of Kafka's replication.

    guards ── log ── cluster     who knows what, and what they say to each other
                        │
    controlling · lifecycle · leading ── applying · fetching          the port: one action each
                        │
    properties ── deeds ── closed ── liveness ── proof                the worlds that show it
                             └── telling ──────────┤
    trace ── walk ─────────────────────────────────┘                  beside a run of the product

It is his model of KRaft with eligible leader replicas (KIP-966): registration and fencing, the ISR
and its changes, elections, reassignment, fetching and divergence, clean and unclean ends, for one
partition.  Read in this order:

``guards``        every condition by its name, where Barnabas differs, and the rules
``log``           records as runs of one epoch, and where an epoch ends
``cluster``       a controller, a broker, their messages
``controlling``   registration, fencing, elections, AlterPartition, reassignment
``lifecycle``     how a broker starts, is registered, and ends
``leading``       appending, the high watermark, who is in sync
``applying``      what a replica learns from the metadata log
``fetching``      asking, serving, taking, cutting
``properties``    what must hold: of the controller, a broker, two logs, of what clients were told
``deeds``         what may happen in the closed model
``closed``        the closed model: a controller, brokers, what is under way
``liveness``      what must happen in the end
``trace``         the events that a run has to tell
``walk``          the port taken along them
``telling``       ways through the closed model, told as runs
``proof``         the worlds, and which property falls when a guard is lifted

Rules are ``SPECIFIED``, which is his model state by state (its counts were compared with TLC's, see
the chapter on the simulator), or ``BUILT``, which has every ``Difference``: what this tree does
otherwise, on purpose, each switchable alone.  An action is ``name(who, what happened, rules)``; it
returns a ``Step`` of a broker, or the decisions among which a controller may choose, or
``Blocked``.

Where the port is not the specification under any rules:

- Offsets begin at 0; ends and high watermarks are exclusive.
- A leader that is alone in sync commits what it appends.  There the first record waits for the
  next, which TLC cannot evaluate; with a minimum of two that makes no difference.
- Who joins the ISR leaves the ELR even if the ISR stays too small, as in Kafka.
- Whether a fetcher is delayed is left out: nothing reads it.
- What a broker has of the metadata log is how far it is, for the log is one.
- Any number of records is fetched or appended as one step, and a leader's high watermark may be
  anywhere up to where it may be; the closed model takes one record, and the highest.

Not there, as not in the original: heartbeats as messages, controlled shutdown, the controller's
quorum, acks 0 and 1, transactions, retention, reads from followers, unclean elections that an
operator allows, cancelled reassignments, topics that are deleted and created again.
"""
