"""Who may join, who is alive, who may stop: registrations, heartbeats, fencing.

                  want_fence = false, and it has read its own registration
    ── register ──▶ FENCED ─────────────────────────────────────▶ UNFENCED
                     ▲  ▲                                            │
                     │  └── session over, want_fence, no directory ──┤
                     │                                               │ want_shut_down, and it leads
                     │          ┌────────────────────────────────────┘
                     │          ▼
                  STOPPED ◀── STOPPING     leads nothing, and all active brokers know
                  (fenced, and told so)

A broker epoch names one life of a broker: it is the offset of the record that registered it, so no
other life ever has the same, and a later one has a larger one (B-01).  Whatever a broker asks
carries its epoch, and is refused with STALE_BROKER_EPOCH once another life is registered (B-03).

A new life is fenced (B-04), and is in sync with nothing: its records come with those that take the
life before out of every ISR.  If that life did not end with a clean shutdown, which is what the
epoch that the new one remembers is for, it may have lost records that it had acknowledged; so it
is not eligible either (B-06, KIP-966).

Fixed by Kafka's ClusterControlManager.java and ReplicationControlManager.java; where we differ
stands in decision 0019.  Hard state is the image; soft state is ``heartbeats.Sessions``, which is
read here and never written to.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Final

from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import RulesInForce, came, forgotten, left, lost
from barnabas.controller.heartbeats import Heartbeat, Life, Sessions, life_of
from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration, registered_controller
from barnabas.metadata.levels import CONTROLLER_REGISTRATION, CORDONED_DIRECTORIES, DIRECTORIES
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import KRAFT_VERSION, METADATA_VERSION
from barnabas.model.ids import Uuid, is_reserved_directory, uuid_text
from barnabas.model.value import value
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from barnabas.wire.structs import Message

TELLS_CLEAN_SHUTDOWN: Final = 3
"""The version of BrokerRegistration from which on it says which life ended cleanly."""

SECURITY_PROTOCOLS: Final = range(4)
"""PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL, by Kafka's numbers."""

FENCE: Final = 1
UNFENCE: Final = -1
STOP: Final = 1
"""What a BrokerRegistrationChangeRecord says; 0 is no change."""


# --- Registration ---


@value
class Joining:
    """What a registration is judged by, beside the state."""

    cluster_id: str
    kraft_version: int
    """The quorum's own feature, which is not in the metadata."""
    version: int
    """Of the request: those before 3 do not tell how the life before ended."""
    now_ms: int


def register(
    state: ControllerState,
    next_offset: int,
    config: ControllerConfig,
    sessions: Sessions,
    joining: Joining,
    request: BrokerRegistrationRequest,
) -> Decision[Message, BrokerRegistrationResponse | Refused]:
    """Let a broker in: another life of it, or once more the life that is registered."""
    known = state.image.cluster.brokers.get(request.broker_id)
    try:
        check_broker(state, sessions, joining, request, known)
    except Refused as refused:
        return Decision((), refused)
    again = known is not None and known.incarnation_id == request.incarnation_id
    if known is not None and again:
        records = list(shrunk(state, config, known, request.log_dirs))
        epoch = known.epoch
    else:
        records = list(departed(state, config, joining, request, known))
        # The record that registers it is the last.
        epoch = next_offset + len(records)
    records.append(registration(state, request, known if again else None, epoch))
    return Decision(tuple(records), BrokerRegistrationResponse(broker_epoch=epoch))


def check_broker(
    state: ControllerState,
    sessions: Sessions,
    joining: Joining,
    request: BrokerRegistrationRequest,
    known: BrokerRegistration | None,
) -> None:
    """Refuse a broker that may not join, in Kafka's order."""
    broker = f"broker {request.broker_id}"
    if request.cluster_id != joining.cluster_id:
        raise Refused(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"{broker} is of cluster {request.cluster_id!r}, and this is {joining.cluster_id!r}: "
            "point it at its own controllers, or format it for this cluster",
        )
    if (
        known is not None
        and known.incarnation_id != request.incarnation_id
        and sessions.is_valid(life_of(known), joining.now_ms)
    ):
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"{broker} is registered as {uuid_text(known.incarnation_id)} with epoch {known.epoch} "
            f"and was heard of just now, and {uuid_text(request.incarnation_id)} wants its id: "
            "give one of the two another node.id; after a restart, the session will be over soon",
        )
    if request.is_migrating_zk_broker:
        raise Refused(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            f"{broker} comes from ZooKeeper, and there is no migration from there any more",
        )
    if state.level >= DIRECTORIES:
        check_directories(broker, request.broker_id, request.log_dirs, state.image.cluster.brokers)
    check_listeners(broker, request.listeners)
    check_features(state, joining.kraft_version, broker, request.features)


def check_directories(
    broker: str,
    broker_id: int,
    directories: Sequence[Uuid],
    brokers: Mapping[int, BrokerRegistration],
) -> None:
    """Refuse log directories that are none, or another's (B-14)."""
    code = ErrorCode.INVALID_REGISTRATION
    if not directories:
        raise Refused(code, f"{broker} has no log directory: it needs one that is online")
    for place in directories:
        if is_reserved_directory(place):
            why = f"{broker} has log directory {uuid_text(place)}, an id that none may have"
            raise Refused(code, f"{why}: format the directory")
    if len(set(directories)) != len(directories):
        told = ", ".join(map(uuid_text, directories))
        raise Refused(code, f"{broker} has two log directories of one id: {told}; one is a copy")
    for other in brokers.values():
        if other.id != broker_id:
            for place in directories:
                if place in other.directories:
                    why = f"{broker} has log directory {uuid_text(place)}, and so has {other.id}"
                    raise Refused(code, f"broker {why}: one of the two is a copy")


def check_listeners(
    node: str,
    listeners: Sequence[
        BrokerRegistrationRequest.Listener | ControllerRegistrationRequest.Listener
    ],
) -> None:
    """Refuse listeners at which nobody could be reached."""
    code = ErrorCode.INVALID_REGISTRATION
    if not listeners:
        raise Refused(code, f"{node} has no listener: it needs one at which it can be reached")
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise Refused(code, f"{node} has two listeners of one name: {', '.join(names)}")
    for at in listeners:
        if not at.name:
            raise Refused(code, f"{node} has a listener without a name, at {at.host}:{at.port}")
        if not at.host.strip() or not at.port:
            why = f"{node} has listener {at.name} at {at.host!r}:{at.port}"
            raise Refused(code, f"{why}: a host and a port have to be advertised")
        if at.security_protocol not in SECURITY_PROTOCOLS:
            why = f"{node} has listener {at.name} of security protocol {at.security_protocol}"
            raise Refused(code, f"{why}: there are 0 to {SECURITY_PROTOCOLS[-1]}")


def check_features(
    state: ControllerState,
    kraft_version: int,
    broker: str,
    told: Sequence[BrokerRegistrationRequest.Feature],
) -> None:
    """Refuse a broker that cannot work at the levels in force."""
    levels = dict(state.image.features.levels)
    levels[METADATA_VERSION], levels[KRAFT_VERSION] = state.level, kraft_version
    ranges = {each.name: (each.min_supported_version, each.max_supported_version) for each in told}
    for name, (least, most) in ranges.items():
        check_level(broker, name, levels.pop(name, 0), least, most)
    if METADATA_VERSION not in ranges:
        raise Refused(
            ErrorCode.INVALID_REGISTRATION,
            f"{broker} does not say which levels of {METADATA_VERSION} it can work at",
        )
    for name, level in sorted(levels.items()):
        check_level(broker, name, level, 0, 0)


def check_level(broker: str, feature: str, level: int, least: int, most: int) -> None:
    """Refuse a broker that cannot work at the level of a feature."""
    if not least <= level <= most:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"{broker} can work with {feature} {least} to {most}, and the cluster is at {level}: "
            "run a release that knows it, or change the level of the feature",
        )


def departed(
    state: ControllerState,
    config: ControllerConfig,
    joining: Joining,
    request: BrokerRegistrationRequest,
    known: BrokerRegistration | None,
) -> Iterator[Message]:
    """Yield what becomes of partitions now that another life of a broker begins."""
    tells = joining.version >= TELLS_CLEAN_SHUTDOWN
    clean = tells and known is not None and known.epoch == request.previous_broker_epoch
    # Without ELR, a request that cannot tell how the life before ended is given the benefit of the
    # doubt: else no broker of an old release could ever be restarted without losing a partition.
    doubtful = not tells and not RulesInForce(state, config).elr
    if clean or doubtful:
        return left(state, config, request.broker_id)
    return forgotten(state, config, request.broker_id)


def shrunk(
    state: ControllerState,
    config: ControllerConfig,
    known: BrokerRegistration,
    directories: Sequence[Uuid],
) -> Iterator[Message]:
    """Yield what becomes of partitions whose directory a broker does not have any more."""
    gone = [place for place in known.directories if place not in directories]
    if state.level < DIRECTORIES or not gone:
        return iter(())
    return lost(state, config, known.id, gone)


def registration(
    state: ControllerState,
    request: BrokerRegistrationRequest,
    again: BrokerRegistration | None,
    epoch: int,
) -> RegisterBrokerRecord:
    """Return the record of a registration; of the same life again, it stands where it stood."""
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            RegisterBrokerRecord.BrokerEndpoint(
                name=at.name,
                host=at.host,
                port=at.port,
                security_protocol=at.security_protocol,
            )
            for at in request.listeners
        ],
        features=[
            RegisterBrokerRecord.BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
        rack=request.rack,
        fenced=again is None or again.fenced,
        in_controlled_shutdown=again is not None and again.in_controlled_shutdown,
        log_dirs=request.log_dirs if state.level >= DIRECTORIES else (),
        cordoned_log_dirs=again.cordoned_directories if again else None,
    )


# --- Heartbeats ---


class Standing(Enum):
    """Where a broker stands."""

    FENCED = auto()
    UNFENCED = auto()
    STOPPING = auto()
    """In controlled shutdown: it leads nothing any more, and others have yet to learn who does."""
    STOPPED = auto()
    """Fenced, and told that it should stop now."""


@value
class Answered:
    """The answer to a heartbeat, and what it told: the handler notes that with the sessions."""

    response: BrokerHeartbeatResponse
    heartbeat: Heartbeat


def heartbeat(
    state: ControllerState,
    next_offset: int,
    config: ControllerConfig,
    sessions: Sessions,
    request: BrokerHeartbeatRequest,
) -> Decision[Message, Answered | Refused]:
    """Answer a heartbeat: let a broker serve, or take it out, as it wants and may."""
    broker = state.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision((), stale(request.broker_id, request.broker_epoch, broker))
    before = standing(broker)
    after = next_standing(state, sessions, broker, request)
    offline = [place for place in broker.directories if place in request.offline_log_dirs]
    change = changed_registration(state, broker, request, before, after, offline)
    records: list[Message] = []
    if before is Standing.FENCED or before is after:
        if change is not None:
            records.append(change)
        if before is Standing.FENCED and after is Standing.UNFENCED:
            # Directories that are offline now make nobody a leader.
            known = state.apply(records)
            records += came(known, config, broker.id)
        elif offline:
            records = [*lost(state, config, broker.id, offline), *records]
    else:
        assert change is not None, f"{broker} goes from {before} to {after} without a record"
        records = [*left(state, config, broker.id), change]
    last_offset = next_offset + len(records) - 1
    response = BrokerHeartbeatResponse(
        is_caught_up=has_read_registration(broker, request),
        is_fenced=after in (Standing.FENCED, Standing.STOPPED),
        should_shut_down=after is Standing.STOPPED,
    )
    told = Heartbeat(
        life=life_of(broker),
        metadata_offset=request.current_metadata_offset,
        shutdown_offset=last_offset if after is Standing.STOPPING else None,
        stops=after is Standing.STOPPED,
    )
    return Decision(tuple(records), Answered(response, told))


def standing(broker: BrokerRegistration) -> Standing:
    """Return where a broker stands by its registration."""
    if broker.fenced:
        return Standing.FENCED
    return Standing.STOPPING if broker.in_controlled_shutdown else Standing.UNFENCED


def next_standing(
    state: ControllerState,
    sessions: Sessions,
    broker: BrokerRegistration,
    request: BrokerHeartbeatRequest,
) -> Standing:
    """Return where a broker will stand after its heartbeat."""
    # A broker that has lost every directory has nothing to serve from, whatever it wants.
    bare = bool(broker.directories) and set(broker.directories) <= set(request.offline_log_dirs)
    fenced = request.want_fence or bare
    match standing(broker):
        case Standing.FENCED:
            if request.want_shut_down:
                return Standing.STOPPED
            ready = not fenced and has_read_registration(broker, request)
            return Standing.UNFENCED if ready else Standing.FENCED
        case Standing.STOPPING:
            return Standing.STOPPED if may_stop(state, sessions, broker) else Standing.STOPPING
        case _ if request.want_shut_down:
            leads = state.index.leads(broker.id) and not fenced
            return Standing.STOPPING if leads else Standing.STOPPED
        case _:
            return Standing.FENCED if fenced else Standing.UNFENCED


def may_stop(state: ControllerState, sessions: Sessions, broker: BrokerRegistration) -> bool:
    """Tell whether a broker in controlled shutdown leads nothing, and all others know (B-12)."""
    offset = sessions.shutdown_offset(life_of(broker))
    if state.index.leads(broker.id) or offset is None:
        return False
    read = sessions.lowest_active_offset(state.image.cluster.brokers)
    return read is None or read >= offset


def has_read_registration(broker: BrokerRegistration, request: BrokerHeartbeatRequest) -> bool:
    """Tell whether a broker has come to its own registration, whose offset is its epoch.

    Not to the end of the log: on a busy one it would never be there (KAFKA-13959).
    """
    return request.current_metadata_offset >= broker.epoch


def changed_registration(
    state: ControllerState,
    broker: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    before: Standing,
    after: Standing,
    offline: Sequence[Uuid],
) -> BrokerRegistrationChangeRecord | None:
    """Return what is new about a broker after its heartbeat; None if nothing is."""
    fenced = stopping = 0
    match before, after:
        case Standing.FENCED, Standing.UNFENCED:
            fenced = UNFENCE
        case Standing.FENCED, _:
            pass
        case _, Standing.FENCED | Standing.STOPPED:
            fenced = FENCE
        case Standing.UNFENCED, Standing.STOPPING:
            stopping = STOP
        case _:
            pass
    online: tuple[Uuid, ...] = ()
    if offline and state.level >= DIRECTORIES:
        # No record can say that none is left; a broker of which none is left is fenced.
        online = tuple(place for place in broker.directories if place not in offline)
    cordoned = request.cordoned_log_dirs
    if cordoned is not None:
        known = broker.cordoned_directories
        if state.level < CORDONED_DIRECTORIES or (
            known is not None and set(known) == set(cordoned)
        ):
            cordoned = None
    if not fenced and not stopping and not online and cordoned is None:
        return None
    return BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=stopping,
        log_dirs=online,
        cordoned_log_dirs=cordoned,
    )


def stale(broker_id: int, epoch: int, known: BrokerRegistration | None) -> Refused:
    """Return the refusal of a broker that is not the life that is registered (B-03)."""
    found = "no broker of this id is registered" if known is None else f"epoch {known.epoch} lives"
    why = f"broker {broker_id} of epoch {epoch} asks, and {found}: it has to register again"
    return Refused(ErrorCode.STALE_BROKER_EPOCH, why)


# --- Fencing, and leaving for good ---


def fence(state: ControllerState, config: ControllerConfig, life: Life) -> Decision[Message, bool]:
    """Fence a life whose session is over; reply whether there was any need to."""
    broker = state.image.cluster.brokers.get(life.broker)
    if broker is None or broker.epoch != life.epoch or broker.fenced:
        return Decision((), reply=False)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=FENCE
    )
    return Decision((*left(state, config, broker.id), change), reply=True)


def unregister(
    state: ControllerState, config: ControllerConfig, request: UnregisterBrokerRequest
) -> Decision[Message, UnregisterBrokerResponse]:
    """Forget a broker, which need not be dead.

    It stays eligible where it was: should it come back, it may still have every record.
    """
    broker = state.image.cluster.brokers.get(request.broker_id)
    if broker is None:
        code = ErrorCode.BROKER_ID_NOT_REGISTERED
        why = f"broker {request.broker_id} is not registered"
        return Decision((), UnregisterBrokerResponse(error_code=code, error_message=why))
    gone = UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    return Decision((*left(state, config, broker.id), gone), UnregisterBrokerResponse())


# --- Controllers ---


def register_controller(
    state: ControllerState, request: ControllerRegistrationRequest
) -> Decision[Message, ControllerRegistrationResponse]:
    """Let everybody know where a controller is and what it can (KIP-919)."""
    node = f"controller {request.controller_id}"
    try:
        if state.level < CONTROLLER_REGISTRATION:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{node} wants to register, and {METADATA_VERSION} is {state.level}: controllers "
                f"do from {CONTROLLER_REGISTRATION} on",
            )
        check_listeners(node, request.listeners)
    except Refused as refused:
        reply = ControllerRegistrationResponse(error_code=refused.code, error_message=refused.why)
        return Decision((), reply)
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=[
            RegisterControllerRecord.ControllerEndpoint(
                name=at.name,
                host=at.host,
                port=at.port,
                security_protocol=at.security_protocol,
            )
            for at in request.listeners
        ],
        features=[
            RegisterControllerRecord.ControllerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
    )
    known = state.image.cluster.controllers.get(request.controller_id)
    told = known == registered_controller(record)
    return Decision(() if told else (record,), ControllerRegistrationResponse())
