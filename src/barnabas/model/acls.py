"""The words of ACLs: kinds of resources, patterns, operations, permissions, by Kafka's numbers.

``ANY`` and ``MATCH`` stand in filters only; ``UNKNOWN`` is what a newer release has and this has
not.  ``ALL`` stands for every operation.

Fixed by Kafka's ResourceType.java, PatternType.java, AclOperation.java and AclPermissionType.java.
"""

from enum import IntEnum
from typing import Final

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of its kind."""
ANY_NAME: Final = "*"
"""What stands for every name, every principal and every host."""


class AclResource(IntEnum):
    """What is protected."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Pattern(IntEnum):
    """How a name is meant."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What is done."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Whether it may be done."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3
