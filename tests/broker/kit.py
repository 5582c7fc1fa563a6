"""Brokers for tests: one that is told little, its registrations, and a life up to a state."""

from barnabas.broker.config import BrokerConfig
from barnabas.broker.lifecycle import (
    GivenEpoch,
    HeartbeatTaken,
    Lifecycle,
    MetadataApplied,
    Started,
    StorageReady,
    TimerFired,
)
from barnabas.metadata.cluster import BrokerRegistration, Endpoint
from barnabas.model.features import supported_levels
from barnabas.model.ids import Uuid

LEVEL = 30
EPOCH = 7


def uuid(letter: str) -> Uuid:
    """Return an id that is known again in a failure."""
    return Uuid(letter.encode() * 16)


OURS = uuid("o")
A, B = uuid("a"), uuid("b")

CONFIG = BrokerConfig(
    id=3,
    cluster_id="the-cluster",
    listeners=(Endpoint("PLAINTEXT", "here", 9092, 0),),
    supported_features=supported_levels(unstable=False),
    directories={"/data/a": A, "/data/b": B},
)

CATCHING_UP = HeartbeatTaken(caught_up=False, fenced=True, should_shut_down=False)
CAUGHT_UP = HeartbeatTaken(caught_up=True, fenced=True, should_shut_down=False)
UNFENCED = HeartbeatTaken(caught_up=True, fenced=False, should_shut_down=False)
LET_GO = HeartbeatTaken(caught_up=True, fenced=True, should_shut_down=True)


def registered(
    epoch: int = EPOCH,
    incarnation_id: Uuid = OURS,
    fenced: bool = False,
    directories: tuple[Uuid, ...] = (A, B),
) -> BrokerRegistration:
    """Return broker 3 as the metadata knows it."""
    return BrokerRegistration(
        id=3,
        epoch=epoch,
        incarnation_id=incarnation_id,
        listeners={},
        supported_features={},
        fenced=fenced,
        directories=directories,
    )


def applied(
    offset: int, registration: BrokerRegistration | None = None, level: int = LEVEL
) -> MetadataApplied:
    """Return metadata up to an offset; without a registration it is the usual one."""
    if registration is None:
        registration = registered(fenced=True)
    return MetadataApplied(offset, level, registration)


def starting(config: BrokerConfig = CONFIG) -> Lifecycle:
    """Return a broker that has asked to be registered."""
    broker = Lifecycle(config, OURS)
    broker.step(Started(), now_ms=0)
    return broker


def catching_up(config: BrokerConfig = CONFIG) -> Lifecycle:
    """Return a broker with an epoch, whose first heartbeat is in flight."""
    broker = starting(config)
    broker.step(GivenEpoch(EPOCH), now_ms=0)
    return broker


def recovering(config: BrokerConfig = CONFIG) -> Lifecycle:
    """Return a broker that is caught up and sees to its logs; nothing is in flight."""
    broker = catching_up(config)
    broker.step(applied(EPOCH), now_ms=0)
    broker.step(CATCHING_UP, now_ms=0)
    broker.step(CAUGHT_UP, now_ms=0)
    return broker


def running(config: BrokerConfig = CONFIG) -> Lifecycle:
    """Return a broker that serves; its next heartbeat is due at 2000."""
    broker = recovering(config)
    broker.step(StorageReady(), now_ms=0)
    broker.step(UNFENCED, now_ms=0)
    broker.step(applied(EPOCH + 1, registered()), now_ms=0)
    return broker


def beating(config: BrokerConfig = CONFIG) -> Lifecycle:
    """Return a broker that serves, with a heartbeat in flight since 2000."""
    broker = running(config)
    broker.step(TimerFired(), now_ms=2_000)
    return broker
