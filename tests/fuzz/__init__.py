"""Bad input, by the million: whatever arrives, only a `ProtocolError` may come of it.

- ``targets``: what is fed, and what must hold of it: the decoder of every message and version,
  the headers, a server's connection that gets its bytes in pieces.
- ``mutation``: how a good frame is broken.
- ``wire``: the driver without coverage; ``python -m tests.fuzz.wire --inputs 1000000 --seed 1``.
- ``guided``: the same targets under atheris (libFuzzer), which follows new branches, those of the
  compiled codec included. It needs an environment of its own with ``pip install atheris==3.0.0``;
  ``python -m tests.fuzz.guided -runs=1000000 -seed=1``.

The ordinary tests run a small part of it through Hypothesis (``test_wire.py``).
"""
