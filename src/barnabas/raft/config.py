"""What a replica is told about itself and its quorum."""

from barnabas.model.value import value
from barnabas.raft.voters import RECONFIGURABLE, STATIC, Endpoints, ReplicaKey, Voter
from barnabas.runtime.network import Address


@value
class RaftConfig:
    """Who a replica is, whom it asks first, and how long it waits; defaults are Kafka's."""

    key: ReplicaKey
    cluster_id: str
    endpoints: Endpoints = ()
    """Where this replica's own controller listeners are; none for an observer."""
    listener: str = "CONTROLLER"
    """The name of the listener through which replicas speak to each other."""
    bootstrap: tuple[Address, ...] = ()
    """Whom to ask for the leader while none is known (``controller.quorum.bootstrap.servers``)."""

    can_vote: bool = True
    """Whether this is a controller."""
    auto_join: bool = False

    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_wait_ms: int = 500
    fetch_bytes_max: int = 8 * 1024 * 1024
    fetch_snapshot_bytes_max: int = 1024 * 1024

    retention_bytes: int = 100 * 1024 * 1024
    retention_ms: int = 7 * 24 * 3_600_000
    """How much of what, and from how long ago, stays behind the newest snapshot
    (``metadata.max.retention.bytes`` and ``.ms``); below zero everything."""
    clean_interval_ms: int = 60_000

    versions: tuple[int, int] = (STATIC, RECONFIGURABLE)
    """The kraft.versions that this code can work with."""

    @property
    def voter(self) -> Voter:
        """This replica as a voters record would describe it."""
        return Voter(self.key, self.endpoints, self.versions)

    @property
    def check_quorum_ms(self) -> int:
        """After how long without a majority's fetches a leader resigns (R-27)."""
        return self.fetch_timeout_ms * 3 // 2
