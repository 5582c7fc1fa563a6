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
``state``    what deciders are given (``barnabas.controller.state``)
``placement``  which brokers hold new partitions (``barnabas.controller.placement``)
``configs``    what is set for whom (``barnabas.controller.configs``)
``topics``     what topics there are (``barnabas.controller.topics``)
``quotas``     how much clients may use (``barnabas.controller.quotas``)
``acls``       who may do what (``barnabas.controller.acls``)
``scram``      what users are recognised by (``barnabas.controller.scram``)

Non-obvious:

- Requests and replies are messages of the protocol; records are messages, too, and are written in
  the version that the cluster's ``metadata.version`` has for them when they are appended.
- *Hard* state is in the log and nowhere else.  When a broker was last heard of is *soft*: it is the
  active controller's own, and begins anew with every activation.
"""
