"""What Barnabas asks of the world: a clock, entropy, a disk, a network, tasks, and ears.

Nothing but ``host`` and ``sim`` knows how these are had.  ``host`` asks the operating system;
``sim`` asks a seed.  Product code is handed a ``Runtime`` and has no other door: time, entropy,
files, sockets and threads are forbidden to it by an import contract and, inside the simulator, by
tripwires.

Read in this order:

``runtime``   the bundle, one per life of a process
``clock``     integers of milliseconds, sleeping, timers
``entropy``   random numbers and ids
``disk``      files whose durability is said aloud: write, sync, rename, sync the directory
``network``   connections that hand over memoryviews and take parts
``tasks``     who owns a running coroutine, and what happens when it fails
``probes``    what the simulator may hear (``trace``) and may suggest (``buggify``)

Non-obvious:

- ``asyncio`` itself is not a door.  Locks, queues, futures and ``asyncio.timeout`` work on any
  loop, and the simulator brings its own.  What asyncio reaches the world *with* (connections,
  subprocesses, executors) is what the seam replaces.
- Disk calls other than ``sync`` are plain calls: they reach the page cache and block the process
  for as long as they take, which is what a process does.  Only ``sync`` waits for the device, so
  only ``sync`` is awaited.
"""
