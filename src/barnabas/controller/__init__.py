"""The controller's mind: who may join, who is alive, who leads, what exists; all of it decisions.

    request ──▶ decider(state, request, …) ──▶ Decision(records, reply)
                   ▲                                │
                   └──── ControllerState ◀── apply ─┘   (pending, until committed or dropped)

Every decision is a function of the newest state: records that would make it true, and the reply to
give once they are committed.  Nothing here waits, knows the time or draws a number; what a decision
needs of that is handed to it.

Read in this order:

``config``   what a controller is told
``state``    what deciders are given
``refusals`` a request refused as a whole (``barnabas.controller.refusals``)
``presence`` a controller makes itself known (``barnabas.controller.presence``)
``shell``    follows the log, decides while this node leads it (``barnabas.controller.shell``)

Non-obvious:

- Requests and replies are messages of the protocol; records are messages, too, and are written in
  the version that the cluster's ``metadata.version`` has for them when they are appended.
- *Hard* state is in the log and nowhere else.  When a broker was last heard of is *soft*: it is the
  active controller's own, and begins anew with every activation.
"""
