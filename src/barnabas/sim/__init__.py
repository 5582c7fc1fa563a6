"""The world as a seed: whole clusters in one thread, on virtual time, everything drawn and written.

The product runs here unmodified: its coroutines, its frames, its files.  What a host asks the
operating system for, this package makes up: time that jumps, a network that stalls and lies about
nothing, disks that forget what was not synced, processes that die between two instructions.  The
same plan and tape give the same run, byte for byte, in every process; so each failure is a small
file that anybody can replay.

    World ── Host ── Process ── NodeLoop          kernel: whose turn it is, what time it is
      │        │         └───── Runtime           what the product is handed
      │        └─ clock, disk, power
      ├─ Fabric: links, connections               Tape: every choice, in streams of its own
      └─ checkers, story                          Plan: everything decided beforehand

In reading order

``tape``            choices: drawn from the seed, noted, played back
``kernel``          virtual time and the one loop that everything runs in
``policy``          whose turn it is when several could go
``loop``            one node's asyncio
``clock``           clocks that disagree
``entropy``         numbers from the tape, ids from a stream
``probes``          what a process tells, and what is suggested to it
``link``            one direction between two hosts
``connection``      two ends and a pipe in each direction
``network``         ports, connecting, what may go wrong
``disk``            a host's disk; with ``disk_content``, ``disk_names`` and ``disk_faults``
``process``         one life of a process; the graveyard
``world``           hosts and all that can happen to them; ``World`` and ``Checker`` are public
``plan``            a run, written out before it begins
``nemesis``         the kinds of faults, and who carries them out
``profile``         what is simulated: one small module per thing that is tested
``profiles``        those of the product, one package each
``run``             boot, warm-up, chaos, heal, recovery, quiesce, audit
``tripwires``       doors of the operating system that ring inside a run
``shrink``          making a failure small enough to read
``driver``          many worlds, from the command line
``profiles``        what is simulated of the product
``specs``           what the product is compared with: specifications, ported and explored

Non-obvious:

- Order inside a node is asyncio's and is kept; all freedom is between nodes and in how long things
  take.  A simulator that breaks a promise finds bugs that cannot happen.
- A checker hears a moment while a process is in the middle of a handle, and looks at the world
  only after the event.  What a process changes in one handle changes at once.
- 0 on the tape is the boring choice, so minimising a tape is replacing numbers by 0.
- The garbage collector is off in a run: it would run finalisers at moments that depend on how much
  was allocated, and not on the seed.
- A dead process's coroutines are kept until the end, since Python runs ``finally`` when it collects
  them and a killed process does not.
"""

from barnabas.sim.world import Checker, Violation, World

__all__ = ["Checker", "Violation", "World"]
