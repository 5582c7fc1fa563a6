"""Record batches: the bytes that disk and wire share.

A batch is made by a producer, stored, replicated and handed to consumers as the same bytes; a
broker reads its header, proves its checksum and stamps its offset.  Nothing in this package waits,
opens or draws, and nothing is made per record unless records are what is asked for.

Read in this order:

``batch``        the header of a batch, where the next one begins, its checksum, its stamping
``record``       the records inside, for those who need them; writing them
``builder``      making batches, rewriting them with fewer records or another codec
``validation``   what a leader refuses, with Kafka's codes
``control``      what brokers tell each other in a partition: ends of transactions, quorum news
``snapshot``     a snapshot of the metadata log: header, data, footer
``opened``       a batch as values, for who folds a log
``compression``  four codecs at Kafka's framing, bounded; the door to their packages
``checksum``     CRC-32C, the door to the package that computes it
``legacy``       magic 0 and 1, read and never written

Non-obvious:

- A ``BatchHeader`` is both what was read and what is to be built: ``_replace`` what differs and
  give it to ``builder``.  What follows from the records is filled in there.
- Errors say what the bytes are, not whose fault: ``CorruptBatch`` (the checksum or the frame is
  wrong), its kinds ``InvalidRecord`` and ``TooManyBytes`` (the inside was made wrong), and
  ``UnsupportedCodec``.  ``validation.refused`` turns them into codes for a client; a log reads them
  as the end of what survived.  ``OldFormat`` is neither, so that nobody cuts off an old segment.
- A received buffer is never written to.  ``batch.assigned`` gives two parts, the first of 16
  bytes, for one gathering write.
- The checksum does not cover base offset, length and leader epoch.  A flipped length is found all
  the same, because it moves where the checksum ends; a flipped offset only by who knows the order.
- Timestamps are the producer's word unless a topic has bounds or keys to check
  (docs/decisions/0009).
"""
