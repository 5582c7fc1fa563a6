"""Agreement with strangers: each suite is judged by something we did not write.

Apache Kafka's own classes (``judge``, built by Maven from ``java/``; 4.3.1, and for what later
releases dropped 4.0.1 and 3.9.2):

- ``test_schema``: our schema files say what the definitions in Kafka's jars say.
- ``test_wire_java``: every message in every version, the same bytes both ways.
- ``test_other_version_java``: what another version cannot say is dropped or refused alike.
- ``test_bad_input_java``: broken messages are refused alike.
- ``test_tables_java``: error codes, APIs, served versions, headers.

Kafka's record classes and its log, a judge of their own (``java-records/``):

- ``test_records_java``: record batches, what a log stores of them and what it refuses.

Kafka's log and its dump tool, a judge that takes orders (``java-log/``):

- ``test_log``: lives of a partition, the same answers and the same bytes; each opens the other's.
- ``test_dump_log``: ``barnabas dump-log`` tells what ``kafka-dump-log`` tells.

kio, a Kafka codec from PyPI:

- ``test_wire_kio``: every message in every version that it knows, the same bytes both ways.

Whole controllers of Apache Kafka on loopback, beside ours and among them (``java-log/``):

- ``test_raft_answers``: asked anything, in the same role and on the same log, ours answers alike.
- ``test_raft_member``: ours observes, votes and leads among Kafka's, and takes over directories.
- ``test_raft_tools``: operators' tools of either on quorums of either.
- ``test_control``: Kafka's brokers under our controllers, with Kafka's clients at work.
- ``test_control_tools``: operators' tools on a cluster with our controller and on one with Kafka's.
- ``test_control_mixed``: quorums of both kinds, which take turns to lead.
- ``test_control_broker``: our broker registers with Kafka's controllers, lives and leaves.

Kafka's metadata image and the nodes of its shell (``java-metadata/``):

- ``test_metadata_image_java``: random histories, cut in any way, fold into the same images.
- ``test_metadata_kafka``: the life of a whole cluster, followed over the network: our images are
  what Kafka's shell prints at each offset, Kafka reads our snapshots as its own, and ``barnabas
  metadata`` tells the same of the directories alone.
"""
