"""One partition on a disk, byte for byte as Apache Kafka keeps it.

A partition is a log: batches in the order of their offsets, in files that are appended to, cut at
the end, dropped at the beginning and, for compacted topics, copied without what is outdated.
Everything else in a partition's directory is derived from the batches or can be lost without harm.

Read in this order:

``names``          what files and directories are called
``config``         what a topic may ask of its log
``checkpoints``    small files that are their old or their new content
``index``          where to look for an offset or a timestamp
``aborted``        which transactions were aborted
``segment``        a run of batches in one file, with its indexes
``epochs``         which leader wrote which offsets
``producers``      sequence numbers, duplicates, open transactions
``snapshots``      the producers on disk, and reading them from the log again
``health``         the first error of a directory is its last
``partition_log``  append, read, flush, cut
``timestamps``     which offset a time leads to
``recovery``       opening a log after whatever happened to it
``retention``      what is too old or too much
``compaction``     the newest record of each key
``directory``      all logs of one log directory, and what is known about them
``inspection``     what the files hold, sound or not, for people who want to know

Non-obvious:

- Appending and reading are plain calls and reach the page cache; what is awaited reaches the
  device.  A log therefore runs in its node's loop without locks, and whoever changes its shape
  (truncation, retention, compaction) takes turns: they assert that they are alone.
- The header of a batch tells all that a broker has to know; records are looked at only by
  compaction, by lookups of timestamps, and where a topic's configuration demands it.
- An index of the active segment is in memory only.  A cleanly closed directory passes Kafka's own
  sanity checks, one that crashed is recovered by Kafka as by us.
- Nothing here draws a random number, asks for the time or logs.
"""
