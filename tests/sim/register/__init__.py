"""A small replicated register: what the simulator proves itself on.

Three replicas keep one number; clients read and write it through a majority (Attiya, Bar-Noy and
Dolev, JACM 1995).  It is a product in miniature: it runs over ``runtime.network`` and
``runtime.disk`` and nothing else, and it is right, so no seed may find anything in it.  Then there
are its mutants, each the register with one line wrong; seeds that know nothing of them must find
each one.

``protocol``  frames, tags
``replica``   keeps the number on a disk and answers
``client``    reads and writes through a majority
``history``   the oracle: is what the clients saw one register?
``profile``   plans, hosts, faults, mutants

The algorithm.  Every written value carries a *tag*, larger than all before it.  A write asks a
majority for its tags, then stores the value under a larger one at a majority.  A read asks a
majority, then stores the newest value it saw at a majority (*repair*) before it returns it: a later
read must not see an older one.
"""
