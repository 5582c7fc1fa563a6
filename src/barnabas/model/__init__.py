"""The words everybody uses.  Imports nothing of Barnabas; everything else imports it.

Read ``value`` (what a small immutable thing is), then ``ids`` (numbers and names that must not be
taken for one another), ``errors`` (the kinds of failure and Kafka's table of codes) and
``features`` (which level of what came with which release).
"""
