"""What clients are told of an image: pure functions from an image and a request to the reply.

Brokers and controllers answer the same questions about the same image, each from its own copy; so
the answers are here, below both, and the handlers on either side only say which image is meant.

Read in this order:

``configs``  what is in force, and where it comes from (``barnabas.views.configs``)
``quotas``   how much clients may use (``barnabas.views.quotas``)
``acls``     who may do what (``barnabas.views.acls``)
``scram``    what users are recognised by (``barnabas.views.scram``)
``tokens``   who may act for whom (``barnabas.views.tokens``)

Non-obvious:

- Nothing here decides or changes anything.  What a request wants to change is the controller's.
- Whoever may not know of a thing is told so, or is not told of it, as Kafka does for that request.
"""
