"""The words everybody uses.  Imports nothing of Barnabas; everything else imports it.

Read ``value`` (what a small immutable thing is), then ``ids`` (numbers and names that must not be
taken for one another), ``errors`` (the kinds of failure and Kafka's table of codes), ``features``
(which level of what came with which release), ``topic_names`` (what a topic may be called),
``acls`` (the words of who may do what) with ``caller`` (who asks), ``scram`` (what proves a
password), ``tokens`` (what a delegation token is worth), and ``configs`` (what a config
is), whose tables are:

``topic_configs``    of topics (``barnabas.model.topic_configs``)
``broker_configs``   of brokers and controllers (``barnabas.model.broker_configs``)
``group_configs``    of groups (``barnabas.model.group_configs``)
``metrics_configs``  of subscriptions to metrics of clients (``barnabas.model.metrics_configs``)
"""
