"""The driver: many worlds, in processes, from the command line.

    command ──▶ Pool ──▶ worker (PYTHONHASHSEED=1) ──fork──▶ child: one run
        │           └──▶ worker (PYTHONHASHSEED=2) ──fork──▶ child: one run
        └── reports, failure files, shrinking

``command``   the words of ``python -m barnabas.sim`` and what each does
``campaign``  seeds by the hundred: failures, divergences, mutants
``pool``      workers and who is busy with what
``worker``    one long-lived process; forks a child for each run
``jobs``      what a worker is asked and answers, as JSON
``failure``   failure files: written, read, replayed
``profiles``  which profiles there are and where
``specs``     specifications, explored in small worlds
``report``    rows and tables

This is the one part of ``sim`` that lives in the real world: it has processes, files and a clock.
Nothing simulated may import it.

Non-obvious:

- Workers are *executed*, not forked, for Python's hash seed is fixed when a process starts.  Two
  workers never share one, and executing also gives each another layout of memory: what depends on
  either comes out different, and is found when a seed is run by both.
- Each run has a child of its own, forked from a worker that has imported everything.  No run sees
  what an earlier one left in a cache, and a run that hangs is killed without taking anything along.
- A run that took too long is neither passed nor failed: it is *infrastructure*, and counted.
"""
