"""A broker: how it comes to serve, how long it may, and how it leaves.

    net.peers ⇄ shell ⇄ lifecycle      registers, heartbeats, waits, leaves
                  │ ⇅ assignments      tells which directory each replica lies in
                  ▲
               metadata                how far it is, and how we are registered

The controllers decide who is a broker; this package asks them and obeys.  What it serves to clients
comes with the data plane.

Read in this order:

``config``       what a broker is told about itself, and tells when it registers
``lifecycle``    the machine: from the first registration to the last heartbeat
``assignments``  the machine that tells the controllers where replicas lie, in batches
``shell``        performs what both decide: requests, timers, news of the metadata

Non-obvious:

- A broker has two sources that may disagree for a while: answers to its requests, and the metadata
  log.  Answers move it through its states; what its *registration* is worth is judged by metadata
  alone, and only by what lies at or behind its own registration.  Everything before speaks of
  earlier lives.
- A broker epoch is the offset of a registration in the metadata log.  Whoever carries an older one
  is refused everywhere, which is why a process that slept through its replacement is harmless
  before it notices anything.
- Fenced is not stopped: a running broker that is fenced goes on, asks to be let in again, and is,
  under the same epoch.
- Leaving takes as long as it takes others to lead what this broker led.  Meanwhile it goes on
  obeying the metadata.
"""
