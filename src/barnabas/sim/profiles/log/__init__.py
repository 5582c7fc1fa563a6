"""Two log directories on one machine whose disk does everything a disk can do.

Three logs: ``plain`` is led here and loses its oldest segments, ``keyed`` is compacted, ``copy``
follows ``plain`` over a wire that flips bits.  A plan's operations are what a broker would do.

Read in this order:

``layout``    which log lies where, and how it is configured
``ghost``     what every log must hold: kept outside of the world, compared with it after each step
``naive``     the stupid twins: what all batches together say, read one by one
``atlas``     which bytes a fault may destroy, and what the ghost must no longer ask for then
``story``     what outlives a process: ghosts, atlas, what must be seen
``work``      the operations, each told to the ghost
``drive``     the process: opens everything, works, loses directories and logs, starts again
``visitor``   a second process that wants the same directories
``faults``    the kinds of faults that need to know what lies where
``mutants``   the planted bugs: what the product must not do, done
``profile``   plans, and the scene that ties these together

Where each oracle is asked, and which a single log cannot have, is a table in
docs/internals/log-oracles.md.
"""
