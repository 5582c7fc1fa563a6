"""The ``barnabas`` command: one module per command group, loaded when it is asked for.

``main``              finds the command and runs it
``dump_log``          prints what the files of a log hold
``record_contents``   says what the records of Kafka's own topics mean
``metadata``          what the cluster is, was at an offset, and why
``metadata_source``   where that is read: a directory, or a running quorum
``metadata_quorum``   describes the quorum, and changes who votes
``node``              is a node, until it is told to stop
``printing``          lines for whoever may have read enough before the end
``storage``           formats a node's directories, and looks at them
``wire``              the protocol: APIs, layouts, bytes to JSON

A command is a module with ``main(words) -> int``: it parses its own words, prints for a person on
a terminal and one JSON object a line with ``--json``, and returns the exit code.  Commands are the
only place that prints.
"""
