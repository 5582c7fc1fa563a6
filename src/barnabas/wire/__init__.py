"""The Kafka protocol without sockets: bytes to messages and back, for every version.

In reading order:

- ``structs``: what a message is, a class with one line per field.
- ``messages``: every message there is; made from ``schema`` by ``tools/generate_messages.py``.
- ``codec``: the door to encoding and decoding.  Behind it, ``layout`` knows what a version
  carries, ``decoding`` and ``encoding`` write straight-line code for it (into a ``source``) when it
  is first needed, and ``primitives`` holds what that code calls.
- ``apis``: which APIs a listener serves, in which versions.
- ``frames``: a size, a header, a body.
- ``metadata_records``: the same for records of the metadata log, which say their type.
- ``rendering``: messages as plain data, for people and for JSON.
- ``connection`` (``barnabas.wire.connection``): both ends of a connection, from bytes to requests
  and from responses to bytes.

Nothing in here does input or output, knows the time, or keeps a record: record data goes through
as views of the buffer it came in.

Non-obvious:

- The codec speaks every version there has ever been; a listener serves those of Kafka 4.3
  (``apis``).  The difference is for logs, old snapshots and old brokers.
- Schema facts are data about an interface, taken from Kafka's own definitions and compared with
  them under ``tests/compat``; the code is ours.
"""
