"""What a controller answers: one file per API, one coroutine each.

A handler is given the controller, what is known of whoever asks, and the request.  It hands the
decision that the request asks for to ``Controller.submit``, which replies when it is committed; it
returns the answer, or raises ``Refused`` for the request as a whole (``controller.refusals``).
``controller.handlers`` lists them:

``allocate_producer_ids``          a block of producer ids for a broker
``alter_client_quotas``            how much a client may use
``alter_configs``                  everything that is set for a resource
``alter_partition``                a leader proposes who is in sync
``alter_partition_reassignments``  other replicas
``alter_user_scram_credentials``   what users are recognised by
``assign_replicas_to_dirs``        where replicas lie
``broker_heartbeat``               a broker is alive
``broker_registration``            a broker wants to take part
``controller_registration``        a controller makes itself known
``create_acls``                    who may do what
``create_delegation_token``        a token for whoever asks
``create_partitions``              more partitions
``create_topics``                  new topics
``delete_acls``                    rules that go
``delete_topics``                  topics that go
``describe_acls``                  which rules there are
``describe_configs``               what is in force
``elect_leaders``                  preferred leaders, or any
``expire_delegation_token``        a token that ends
``incremental_alter_configs``      configs one by one
``list_partition_reassignments``   which partitions move
``renew_delegation_token``         a token that lives longer
``unregister_broker``              a broker that will not come back
``update_features``                other levels
"""
