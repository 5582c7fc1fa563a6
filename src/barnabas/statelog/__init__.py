"""A state that is the fold of a log, for the node that leads it: decide, append, reply.

Read in this order:

``decision``   what a decision is: records, and the reply if they are committed
``shell``      the one writer: decides on a pending state, replies after the commit

Non-obvious:

- *Rollback is one assignment.*  Decisions build on a pending state that runs ahead of what is
  committed; a node that loses its log drops it.  States are immutable, so nothing has to be undone.
- A reply without records waits too: it may rest on a record that is not committed yet, and may
  never be.
- The log is anybody's: ``shell.Log`` says what is asked of it, and raft's ``Quorum`` has it.
"""
