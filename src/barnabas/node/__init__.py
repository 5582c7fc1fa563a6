"""One node: what it is told, who it is by its directories, and how those are formatted.

Read in this order:

``properties``           files of names and values, as Java writes them
``config``               what a node is told in its properties file
``meta_properties``      whose a directory is; what a node asks of its directories when it starts
``bootstrap``            what a cluster begins with
``scram``                passwords among it
``initial_controllers``  the first voters, as an operator writes them
``format``               writing all this, before anything runs
``info``                 what is there, and what is wrong with it
``leader``               where the active controller is
``features``             what ApiVersions tells of levels
``controller``           what the controller is told, and how it is known
``member``               one member of the quorum, put together
``metadata``             what the cluster is, as the node follows it
``directories``          the broker's log directories: claimed together, marked together
``broker``               the broker of a node, put together
``node``                 a node's life: its parts, in which order they come and go

Non-obvious:

- A directory is a node's own if its ``meta.properties`` says so, and nothing else makes it that.
- A directory is also a *voter*, or not: a node with a new metadata directory is somebody else to
  its quorum, whatever its number (KIP-853).
- A combined node has one metadata log, one directory lock and two sets of listeners; its broker
  asks its controller over the network like any other.
- What Kafka formats we start on, and the other way round (``./dev compat storage``).
"""
