"""What the cluster is: the fold of one log, told in order to everybody who has to know.

    committed batches ──▶ fold ──▶ image ─ delta ─▶ image ─ delta ─▶ image …
                                     │                │                │
                                     └── publishers: replicas, coordinators, caches …

The controllers decide and write records; every node, broker or controller, folds the same records
into the same image.  Nobody is ever sent a decision: a broker finds out that it leads a partition
when it comes to the record that says so.

Read in this order:

``table``          a map that is never written to, and cheap to change
``faults``         a record that cannot be understood, and what stops for it
``levels``         what a ``metadata.version`` has words for
``features``       the nine parts of an image, each with what changes it:
``cluster``          brokers and controllers
``topics``           topics and partitions, nearly all of the memory
``partition_bytes``  plain partitions from their bytes, nearly all of a large log
``configs``          what was set for whom
``quotas``           how much a client may use
``producer_ids``     which ids were given away
``acls``             who may do what
``scram``            what users are recognised by
``tokens``           who may act for whom
``image``          the whole, as of one offset
``delta``          what leads from one image to the next
``local_changes``  what that means to one broker (``barnabas.metadata.local_changes``)
``batches``        what the log hands over
``snapshot``       an image as records, and back
``publication``    what publishers are told
``fold``           batches into publications; metadata transactions
``loader``         the machine: catching up, publishers, faults (``barnabas.metadata.loader``)
``generator``      when a snapshot is due (``barnabas.metadata.generator``)
``shell``          the loader and the generator at work, on the quorum's log

and then what looks back, for operators (``barnabas.cli.metadata``):

``paths``          an image as a tree of paths, as Kafka's shell has it
``history``        the image at any offset that can be reached
``differences``    what lies between two images, path by path
``acts``           which records were said at once, so that one is the cause of others
``changes``        what became of a partition, in words
``causes``         why
``explain``        both, for each record that changed a partition
``lives``          the same for brokers: registered, unfenced, fenced, drained, replaced

Non-obvious:

- Nothing but the shell waits, and nothing reads a file.  The quorum hands batches to the shell,
  which feeds the loader and performs what it says.
- A part is touched by its own records only, and by no change of a feature's level: a level decides
  how an image is written, not what it is.  So two nodes whose builds differ hold the same image.
- The only records that touch two parts are those that delete a topic, with its configs.
- Images, tables and registrations are never written to.  Deltas are, while records are replayed
  into them, and not once they were published.
- Iteration that can be seen is in an order that depends on the content alone.
"""
