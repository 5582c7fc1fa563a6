"""The words everybody uses.  Imports nothing of Barnabas; everything else imports it.

Read ``value`` (what a small immutable thing is), then ``errors`` (the three kinds of failure and
Kafka's table of codes).
"""
