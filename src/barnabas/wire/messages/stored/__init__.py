"""What is written to logs and files, or travels inside other messages.

Metadata records, the keys and values of the coordinators' logs (one module for a key and its
value), control records, the quorum's state, and what members of a group say to one another.
"""
