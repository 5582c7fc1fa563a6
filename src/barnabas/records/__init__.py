"""Record batches: the bytes that disk and wire share.

A batch is made by a producer, stored, replicated and handed to consumers as the same bytes; a
broker reads its header and stamps its offset.  Nothing in this package waits, opens or draws.

Read in this order:

``batch``        the header of a batch, where the next one begins, its checksum, its stamping
``checksum``     CRC-32C, the door to the package that computes it
"""
