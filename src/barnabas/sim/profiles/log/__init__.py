"""A log directory on one machine whose disk does everything a disk can do.

Three logs: ``plain`` is led here and loses its oldest segments, ``keyed`` is compacted, ``copy``
follows ``plain`` over a wire that flips bits.  A plan's operations are what a broker would do.

Read in this order:

``ghost``     what every log must hold: kept outside of the world, compared with it after each step
``drive``     the process: carries out the operations, opens everything again after each death
``mutants``   the planted bugs: what the product must not do, done
``profile``   plans, and the scene that ties these together
"""
