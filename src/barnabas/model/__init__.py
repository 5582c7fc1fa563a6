"""The words everybody uses.  Imports nothing of Barnabas; everything else imports it.

Read ``value`` (what a small immutable thing is), ``ids`` (what names what), then ``errors`` (the
kinds of failure and Kafka's table of codes).
"""
