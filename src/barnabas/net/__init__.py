"""Kafka connections on ``runtime.network``: a listener that answers, and peers that are asked.

Everything here is async and nothing here decides: bytes become requests in ``wire.connection``,
and what a request means stands in its handler.

::

    from barnabas.net.server import serve            from barnabas.net.peers import Peers

    server = await serve(                            peers = Peers(runtime, "raft-client-1")
        runtime,                                     response = await peers.ask(
        Address("", 9093),                               Address("node2", 9093),
        ServedApis("controller", [ApiKey.VOTE]),         VoteRequest(...),
        {ApiKey.VOTE: vote},                             timeout_ms=1_000,
    )                                                )

Read in this order:

``versions``  ApiVersions from both ends: what we tell, and what two ends agree upon (KIP-35, 511)
``server``    a listener: accept, read, hand to handlers one by one, answer in order, bounded
``peers``     requests to other nodes: one connection each, made and made again on demand
``envelope``  requests that a broker hands on for its client (``barnabas.net.envelope``)

Non-obvious:

- Requests of one connection are handled one at a time, the next when the former is answered, as
  Kafka does by muting the channel.  Hence a request that waits makes those behind it wait, and
  nobody on another connection.
- What a peer has said before it hangs up counts: requests that were read whole are handled even
  though nobody hears the answers.  A producer with acks=0 relies on it.
- A late answer condemns its connection and not only its question, since answers are told apart by
  their order.
- Failures of the network are ``OSError`` and are handled; an answer that says no is the caller's
  to read; what a handler raises is a bug and stops the node.
"""
