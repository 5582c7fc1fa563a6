"""Barnabas: an event-streaming cluster in Python that speaks Kafka's protocol."""

__version__ = "0.1.0"
