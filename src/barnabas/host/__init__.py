"""The world as it is: what ``runtime`` asks for, had from the operating system.

Read in this order:

``world``       one life of a process: the bundle, and what ends it
``network``     listening and connecting
``connection``  bytes in, bytes out: the hot path of everything Barnabas does
``disk``        files, and threads that flush them
``clock``       the two clocks, and timers
``entropy``     random numbers
``probes``      silence

Only those who start a process (the command line, ``testing``, the benches) import this package,
and they begin with ``barnabas.host.world``.  Product code sees the
protocols of ``runtime`` and cannot tell this world from a simulated one, except that here things
take time of their own.

Non-obvious:

- Everything happens on one asyncio loop, and the loop is any whose ``add_reader`` works.
- Connections are not asyncio transports: decision 0005 has the figures.
"""
