"""The controller's mind: who may join, who is alive, who leads, what exists; all of it decisions.

    request ──▶ decider(state, request, …) ──▶ Decision(records, reply)
                   ▲                                │
                   └──── ControllerState ◀── apply ─┘   (pending, until committed or dropped)

Every decision is a function of the newest state: records that would make it true, and the reply to
give once they are committed.  Nothing here waits, knows the time or draws a number; what a decision
needs of that is handed to it.

Read in this order:

``config``   what a controller is told
``index``    what can be asked of all partitions at once
``state``    what deciders are given

``partitions``       what becomes of one partition: leader, ISR, ELR, directories
``elections``        who leads after something has happened, and when somebody asks
``heartbeats``       when brokers were last heard of
``brokers``          who may join, who is alive, who may stop
``alter_partition``  what the leader of a partition asks (``barnabas.controller.alter_partition``)
``directories``      where replicas lie (``barnabas.controller.directories``)
``reassignment``     partitions that move (``barnabas.controller.reassignment``)

``placement``        which brokers hold new partitions
``configs``          what is set for whom (``barnabas.controller.configs``)
``topics``           what topics there are (``barnabas.controller.topics``)
``quotas``           how much clients may use (``barnabas.controller.quotas``)
``acls``             who may do what (``barnabas.controller.acls``)
``scram``            what users are recognised by (``barnabas.controller.scram``)
``tokens``           who may act for whom (``barnabas.controller.tokens``)
``features``         at which level each is used (``barnabas.controller.features``)
``producer_ids``     which ids were given away (``barnabas.controller.producer_ids``)

``activation``       what a new leader decides first (``barnabas.controller.activation``)
``refusals``         a request refused as a whole (``barnabas.controller.refusals``)
``presence``         a controller makes itself known
``shell``            follows the log, decides while this node leads it
``apis``             what is answered: one file for each API
``handlers``         all of them, and envelopes (``barnabas.controller.handlers``)

Non-obvious:

- Requests and replies are messages of the protocol; records are messages, too, and are written in
  the version that the cluster's ``metadata.version`` has for them when they are appended.
- What the wire has no words for is a ``Refused`` in place of the reply, so that it waits for the
  commit of what it rests on like any other; the handler makes a code of it, and logs why.
- *Hard* state is in the log and nowhere else.  When a broker was last heard of is *soft*: it is the
  active controller's own, and begins anew with every activation.
"""
