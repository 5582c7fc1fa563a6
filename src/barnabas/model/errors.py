"""What can go wrong, in kinds that are never mixed.

- ``Refused``: a peer asked for what cannot be.  Raised or returned wherever that is noticed, made
  a code of in one place, the handler; the connection goes on.
- ``ProtocolError``: the bytes themselves are wrong.  ``RemoteProtocolError`` if the peer sent
  them, ``LocalProtocolError`` if we were about to; the connection is closed.
- ``CorruptLog``: the disk gave back other bytes than it was given.  The log's directory goes
  offline; the node may live.
- ``Misconfigured``: what an operator wrote or asked for cannot be.  The command ends with its text,
  a node does not start.
- A bug is an ``assert``, and nobody catches it.

``ErrorCode`` is Kafka 4.3's table: numbers and names are Kafka's, the words are ours.  A client
tries again by itself where a code is ``retriable``, so that flag is part of the protocol too.
"""

from enum import IntEnum
from typing import Final

AGAIN: Final = True
"""Marks the codes after which trying again may help."""


class ErrorCode(IntEnum):
    """A code that an answer may carry, with what it means."""

    words: str
    retriable: bool

    def __new__(cls, code: int, words: str = "", retriable: bool = False) -> "ErrorCode":
        """Make an int that knows its meaning.

        Only the lines below give words; ``ErrorCode(35)`` looks a code up and needs none.
        """
        member = int.__new__(cls, code)
        member._value_ = code
        member.words = words
        member.retriable = retriable
        return member

    UNKNOWN_SERVER_ERROR = -1, "the server failed in a way it did not foresee"
    NONE = 0, "no error"
    OFFSET_OUT_OF_RANGE = 1, "the offset is before the start or behind the end of the log"
    CORRUPT_MESSAGE = 2, "a record batch is damaged, or lacks a key that its topic demands", AGAIN
    UNKNOWN_TOPIC_OR_PARTITION = 3, "no such topic or partition here", AGAIN
    INVALID_FETCH_SIZE = 4, "the fetch size makes no sense"
    LEADER_NOT_AVAILABLE = 5, "the partition has no leader at the moment", AGAIN
    NOT_LEADER_OR_FOLLOWER = 6, "this broker does not hold the role the request needs", AGAIN
    REQUEST_TIMED_OUT = 7, "the request took longer than it was allowed", AGAIN
    BROKER_NOT_AVAILABLE = 8, "the broker is not there"
    REPLICA_NOT_AVAILABLE = 9, "this broker has no usable replica of the partition", AGAIN
    MESSAGE_TOO_LARGE = 10, "a record batch is larger than the topic allows"
    STALE_CONTROLLER_EPOCH = 11, "another controller has taken over"
    OFFSET_METADATA_TOO_LARGE = 12, "the text committed with an offset is too long"
    NETWORK_EXCEPTION = 13, "the connection broke before the answer came", AGAIN
    COORDINATOR_LOAD_IN_PROGRESS = 14, "the coordinator is still reading its log", AGAIN
    COORDINATOR_NOT_AVAILABLE = 15, "there is no coordinator at the moment", AGAIN
    NOT_COORDINATOR = 16, "another broker coordinates this", AGAIN
    INVALID_TOPIC_EXCEPTION = 17, "a topic cannot be called that, or not be used like this"
    RECORD_LIST_TOO_LARGE = 18, "the record batches exceed a log segment"
    NOT_ENOUGH_REPLICAS = 19, "too few replicas are in sync; nothing was written", AGAIN
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "written, but to too few replicas in sync", AGAIN
    INVALID_REQUIRED_ACKS = 21, "acks must be -1, 0 or 1"
    ILLEGAL_GENERATION = 22, "the group is in another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, "the member shares no protocol with its group"
    INVALID_GROUP_ID = 24, "a group cannot be called that"
    UNKNOWN_MEMBER_ID = 25, "the group has no such member"
    INVALID_SESSION_TIMEOUT = 26, "the session timeout is outside of what the broker allows"
    REBALANCE_IN_PROGRESS = 27, "the group is rebalancing; join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, "what is committed is too large"
    TOPIC_AUTHORIZATION_FAILED = 29, "not allowed on this topic"
    GROUP_AUTHORIZATION_FAILED = 30, "not allowed on this group"
    CLUSTER_AUTHORIZATION_FAILED = 31, "not allowed on this cluster"
    INVALID_TIMESTAMP = 32, "a record's timestamp is out of bounds"
    UNSUPPORTED_SASL_MECHANISM = 33, "the broker does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, "not now: authentication is at another step"
    UNSUPPORTED_VERSION = 35, "this version of the API is not served"
    TOPIC_ALREADY_EXISTS = 36, "there is a topic of this name"
    INVALID_PARTITIONS = 37, "the number of partitions makes no sense"
    INVALID_REPLICATION_FACTOR = (
        38,
        "the replication factor is below 1 or above what there are brokers",
    )
    INVALID_REPLICA_ASSIGNMENT = 39, "the assignment of replicas makes no sense"
    INVALID_CONFIG = 40, "a config has no such name or value"
    NOT_CONTROLLER = 41, "another node is the active controller", AGAIN
    INVALID_REQUEST = 42, "the request contradicts itself or the protocol"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "the record format does not know this"
    POLICY_VIOLATION = 44, "a policy of this cluster forbids it"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "a sequence number was left out"
    DUPLICATE_SEQUENCE_NUMBER = 46, "this sequence number was written before"
    INVALID_PRODUCER_EPOCH = 47, "a newer epoch of this producer exists"
    INVALID_TXN_STATE = 48, "the transaction is in no state to do that"
    INVALID_PRODUCER_ID_MAPPING = 49, "the producer id does not belong to this transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, "the transaction timeout is above what the broker allows"
    CONCURRENT_TRANSACTIONS = 51, "another step of this transaction is under way", AGAIN
    TRANSACTION_COORDINATOR_FENCED = 52, "another broker coordinates this producer by now"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "not allowed with this transactional id"
    SECURITY_DISABLED = 54, "this cluster has no authorizer"
    OPERATION_NOT_ATTEMPTED = 55, "not tried, because of another error in the same request"
    KAFKA_STORAGE_ERROR = 56, "the disk failed", AGAIN
    LOG_DIR_NOT_FOUND = 57, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, "authentication failed"
    UNKNOWN_PRODUCER_ID = 59, "nothing is left of this producer's records"
    REASSIGNMENT_IN_PROGRESS = 60, "the partition is being reassigned"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "delegation tokens are switched off"
    DELEGATION_TOKEN_NOT_FOUND = 62, "no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "neither owner nor renewer of this delegation token"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "not over a connection like this one"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "not allowed with this delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, "the delegation token has expired"
    INVALID_PRINCIPAL_TYPE = 67, "principals of this type do not exist"
    NON_EMPTY_GROUP = 68, "the group has members"
    GROUP_ID_NOT_FOUND = 69, "no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, "no such fetch session", AGAIN
    INVALID_FETCH_SESSION_EPOCH = 71, "the fetch session is at another epoch", AGAIN
    LISTENER_NOT_FOUND = 72, "the leader does not have the listener you came through", AGAIN
    TOPIC_DELETION_DISABLED = 73, "deleting topics is switched off"
    FENCED_LEADER_EPOCH = 74, "the leader epoch is older than the partition's", AGAIN
    UNKNOWN_LEADER_EPOCH = 75, "the leader epoch is newer than this broker knows", AGAIN
    UNSUPPORTED_COMPRESSION_TYPE = 76, "the client's version cannot read this compression"
    STALE_BROKER_EPOCH = 77, "the broker has registered anew since"
    OFFSET_NOT_AVAILABLE = 78, "the new leader does not know its high watermark yet", AGAIN
    MEMBER_ID_REQUIRED = 79, "join again with the member id in this answer"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "the preferred leader is not available", AGAIN
    GROUP_MAX_SIZE_REACHED = 81, "the group is full"
    FENCED_INSTANCE_ID = 82, "another member has this instance id by now"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "no replica that may lead is available", AGAIN
    ELECTION_NOT_NEEDED = 84, "the partition is led as it should be", AGAIN
    NO_REASSIGNMENT_IN_PROGRESS = 85, "the partition is not being reassigned"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "the group is subscribed to this topic"
    INVALID_RECORD = 87, "a record does not follow the rules of its topic"
    UNSTABLE_OFFSET_COMMIT = 88, "a transaction that commits offsets is not decided yet", AGAIN
    THROTTLING_QUOTA_EXCEEDED = 89, "too much for this quota; wait", AGAIN
    PRODUCER_FENCED = 90, "a newer producer uses this transactional id"
    RESOURCE_NOT_FOUND = 91, "what the request names does not exist"
    DUPLICATE_RESOURCE = 92, "the request names the same thing twice"
    UNACCEPTABLE_CREDENTIAL = 93, "the credential does not meet the rules"
    INCONSISTENT_VOTER_SET = 94, "sender and receiver do not agree on who votes"
    INVALID_UPDATE_VERSION = 95, "the version to update to, or from, is wrong"
    FEATURE_UPDATE_FAILED = 96, "the feature could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "the forwarded principal cannot be read"
    SNAPSHOT_NOT_FOUND = 98, "no such snapshot"
    POSITION_OUT_OF_RANGE = 99, "the position lies outside of the snapshot"
    UNKNOWN_TOPIC_ID = 100, "no topic of this id here", AGAIN
    DUPLICATE_BROKER_REGISTRATION = 101, "a live broker uses this id"
    BROKER_ID_NOT_REGISTERED = 102, "no broker of this id is registered"
    INCONSISTENT_TOPIC_ID = 103, "the log belongs to another topic id", AGAIN
    INCONSISTENT_CLUSTER_ID = 104, "this is another cluster"
    TRANSACTIONAL_ID_NOT_FOUND = 105, "no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "the fetch session mixes names and ids", AGAIN
    INELIGIBLE_REPLICA = 107, "a replica in the new set may not be in sync"
    NEW_LEADER_ELECTED = 108, "done, and the partition has a new leader"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "the offset is in remote storage"
    FENCED_MEMBER_EPOCH = 110, "give up all partitions and join again"
    UNRELEASED_INSTANCE_ID = 111, "a member still uses this instance id"
    UNSUPPORTED_ASSIGNOR = 112, "the group coordinator has no such assignor"
    STALE_MEMBER_EPOCH = 113, "the member has a newer epoch; ask for it by heartbeat"
    MISMATCHED_ENDPOINT_TYPE = 114, "brokers and controllers answer this differently"
    UNSUPPORTED_ENDPOINT_TYPE = 115, "endpoints of this type do not exist"
    UNKNOWN_CONTROLLER_ID = 116, "no such controller"
    UNKNOWN_SUBSCRIPTION_ID = 117, "the telemetry subscription is unknown or out of date"
    TELEMETRY_TOO_LARGE = 118, "the telemetry is larger than the broker accepts"
    INVALID_REGISTRATION = 119, "the registration contradicts itself or the cluster"
    TRANSACTION_ABORTABLE = 120, "the transaction failed and can be aborted"
    INVALID_RECORD_STATE = 121, "the record is in no state to be acknowledged"
    SHARE_SESSION_NOT_FOUND = 122, "no such share session", AGAIN
    INVALID_SHARE_SESSION_EPOCH = 123, "the share session is at another epoch", AGAIN
    FENCED_STATE_EPOCH = 124, "the share group's state is at another epoch"
    INVALID_VOTER_KEY = 125, "this voter has another directory id"
    DUPLICATE_VOTER = 126, "it votes already"
    VOTER_NOT_FOUND = 127, "it does not vote"
    INVALID_REGULAR_EXPRESSION = 128, "the regular expression cannot be read"
    REBOOTSTRAP_REQUIRED = 129, "the client's metadata is too old; bootstrap again"
    STREAMS_INVALID_TOPOLOGY = 130, "the topology makes no sense"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "the topology epoch makes no sense"
    STREAMS_TOPOLOGY_FENCED = 132, "the group has a newer topology"
    SHARE_SESSION_LIMIT_REACHED = 133, "too many share sessions", AGAIN


class Refused(Exception):  # noqa: N818 -- it is what happened to the request, not an error of ours
    """A peer asked for what cannot be: the code to answer with, and why in one sentence."""

    def __init__(self, code: ErrorCode, why: str = "") -> None:
        super().__init__(code, why)
        self.code = code
        self.why = why or code.words

    def __str__(self) -> str:
        return f"{self.code.name}: {self.why}"


class ProtocolError(Exception):
    """Somebody broke the protocol; the connection cannot go on."""


class RemoteProtocolError(ProtocolError):
    """The peer sent bytes that cannot be."""


class LocalProtocolError(ProtocolError):
    """We were about to send bytes that cannot be; the bytes were not made."""


class UnsupportedVersionError(LocalProtocolError):
    """We meant to say what the version agreed upon cannot carry."""


class CorruptLog(Exception):  # noqa: N818 -- the state of a log, as Refused is that of a request
    """A log holds bytes that we did not write there: where, and what was expected."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Misconfigured(Exception):  # noqa: N818 -- the state of a configuration, as its neighbours are
    """What an operator wrote or asked for cannot be: what was found, and what to do."""
