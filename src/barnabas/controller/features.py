"""Features: at which level the cluster uses each (KIP-584, KIP-778, KIP-1022).

    asked ─▶ known here? ─▶ by every broker and controller? ─▶ up, or down and safe? ─▶ needs met?

All features of a request change together or none does: they may need each other.  A level is only
ever raised to what everybody who is registered can work at, and every voter has to be registered,
so that whoever leads next can.  (Before controllers registered, nobody could know.)

``metadata.version`` may come down only as long as no level in between brought anything into the
records: whoever runs an older release would find records in the log that it cannot read, even if
nothing of what they say is left.  Kafka knows a way to force that and refuses it, and so do we.

``kraft.version`` is the quorum's: it is judged here with the rest, and whoever asks that it rise
is refused, for it cannot while the quorum runs.

Eligible leader replicas mean something as long as ``min.insync.replicas`` is the same for all, so
using them sets it for all.  Using them no more forgets those there are: nobody would keep them up.
Either way partitions that nobody leads remember somebody who may: in the ELR, or else in the ISR.

Fixed by Kafka's FeatureControlManager.java and QuorumFeatures.java.
"""

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from typing import Final, TypeAlias

from barnabas.controller.config import ControllerConfig
from barnabas.controller.configs import forgotten_elrs, safe_for_elr
from barnabas.controller.elections import Memory, moved
from barnabas.controller.partitions import Aim, Election, Leaders
from barnabas.controller.state import ControllerState
from barnabas.metadata.levels import CONTROLLER_REGISTRATION, ELIGIBLE_LEADERS, LevelChange
from barnabas.metadata.snapshot import losses
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.acls import Operation
from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Misconfigured, Refused
from barnabas.model.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES_BY_NAME,
    KRAFT_VERSION,
    METADATA_VERSION,
    check_needs,
    supported_levels,
    version_of_level,
)
from barnabas.model.value import value
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from barnabas.wire.structs import Message

Update: TypeAlias = UpdateFeaturesRequest.FeatureUpdateKey

UNSTABLE: Final = BROKER_CONFIGS["unstable.feature.versions.enable"]
NOT_AT_ALL: Final = (0, 0)


class Upgrade(IntEnum):
    """Which way a level may go, by Kafka's numbers."""

    UP = 1
    SAFELY_DOWN = 2
    UNSAFELY_DOWN = 3


@value
class QuorumFacts:
    """What the quorum knows, and its metadata does not."""

    kraft_version: int
    voters: Collection[int]


def update(
    state: ControllerState,
    config: ControllerConfig,
    quorum: QuorumFacts,
    request: UpdateFeaturesRequest,
    caller: Caller,
) -> Decision[Message, UpdateFeaturesResponse]:
    """Answer UpdateFeatures."""
    # Whoever names a feature twice means the last of it, as in Kafka.
    updates = {one.feature: one for one in request.feature_updates}
    try:
        caller.check_cluster(Operation.ALTER)
        records = tuple(updated(state, config, quorum, updates))
    except Refused as refused:
        why = "The update failed for all features since the following feature had an error: "
        return Decision(
            (), UpdateFeaturesResponse(error_code=refused.code, error_message=why + refused.why)
        )
    return Decision(
        () if request.validate_only else records,
        UpdateFeaturesResponse(
            results=[
                UpdateFeaturesResponse.UpdatableFeatureResult(feature=name) for name in updates
            ]
        ),
    )


def updated(
    state: ControllerState,
    config: ControllerConfig,
    quorum: QuorumFacts,
    updates: Mapping[str, Update],
) -> Iterator[Message]:
    """Yield the records of new levels; ``Refused`` if one of them cannot be."""
    before = {
        **state.image.features.levels,
        METADATA_VERSION: state.level,
        KRAFT_VERSION: quorum.kraft_version,
    }
    after = before | {name: one.max_version_level for name, one in updates.items()}
    for name, one in updates.items():
        level, current = one.max_version_level, before.get(name, 0)
        check_direction(name, level, current, one)
        check_supported(state, config, quorum, name, level)
        if name == KRAFT_VERSION and level > current:
            raise Refused(
                ErrorCode.FEATURE_UPDATE_FAILED,
                f"{name} is {current} and stays so while the quorum runs: format a new cluster at "
                f"{level}",
            )
        if name == METADATA_VERSION:
            check_metadata_version(state, LevelChange(current, level))
    check_all_needs(after)
    elr = ELIGIBLE_LEADER_REPLICAS_VERSION
    if after.get(elr, 0) > 0 and elr in updates:
        yield from begun_elrs(state, config)
    elif before.get(elr, 0) > 0 and elr in updates:
        yield from forgotten_elrs(state)
    for name, one in updates.items():
        # The quorum has it already, and tells it in records of its own.
        if name != KRAFT_VERSION:
            yield FeatureLevelRecord(name=name, feature_level=one.max_version_level)


def begun_elrs(state: ControllerState, config: ControllerConfig) -> Iterator[Message]:
    """Yield what has to be so before eligible leader replicas are used.

    There is one number in sync for all; and whoever was left in an ISR only to be remembered there
    is eligible from now on instead (C-06).
    """
    settings = list(safe_for_elr(state, config))
    yield from settings
    level = FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=1)
    new = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=ELIGIBLE_LEADERS)]
    after = state.apply([*(new if state.level < ELIGIBLE_LEADERS else ()), level, *settings])
    brokers = state.image.cluster.brokers
    active = {
        broker.id
        for broker in brokers.values()
        if not broker.fenced and not broker.in_controlled_shutdown
    }

    def aim(partition: PartitionRegistration, election: Election) -> Aim | None:
        left = tuple(replica for replica in partition.isr if replica in active)
        return None if left == partition.isr else Aim(isr=left, election=election)

    memory = Memory(Leaders(brokers), aim)
    moves = list(moved(after, config, state.index.leaderless, memory))
    if moves and state.level < ELIGIBLE_LEADERS:
        raise invalid(
            ELIGIBLE_LEADER_REPLICAS_VERSION,
            1,
            f"{len(moves)} partitions are led by nobody, and metadata.version {state.level} cannot "
            f"say who may lead them: raise it to {ELIGIBLE_LEADERS} or higher first, and then this",
        )
    yield from moves


def check_direction(name: str, level: int, current: int, one: Update) -> None:
    """Refuse a level that lies in another direction than the one that was said."""
    # The first version knew only that it may go down.
    how = Upgrade.SAFELY_DOWN if one.allow_downgrade else one.upgrade_type
    if how not in tuple(Upgrade):
        raise invalid(name, level, f"The controller does not support the given upgrade type {how}.")
    if level < 0:
        raise invalid(name, level, "A feature version cannot be less than 0.")
    if level < current and name == KRAFT_VERSION:
        raise invalid(name, level, f"Can't downgrade the version of this feature from {current}.")
    if level < current and how == Upgrade.UP:
        raise invalid(
            name,
            level,
            f"Can't downgrade the version of this feature from {current} without setting the "
            "upgrade type to either safe or unsafe downgrade.",
        )
    if level > current and how != Upgrade.UP:
        raise invalid(name, level, f"Can't downgrade to a newer version than {current}.")


def check_supported(
    state: ControllerState,
    config: ControllerConfig,
    quorum: QuorumFacts,
    name: str,
    level: int,
) -> None:
    """Refuse a level that somebody in the cluster cannot work at."""
    own = supported_levels(UNSTABLE.flag(config.static))
    check_range(f"Local controller {config.node_id}", own.get(name, NOT_AT_ALL), name, level)
    cluster = state.image.cluster
    for broker_id, broker in sorted(cluster.brokers.items()):
        told = broker.supported_features.get(name, NOT_AT_ALL)
        check_range(f"Broker {broker_id}", told, name, level)
    if state.level < CONTROLLER_REGISTRATION:
        return
    for controller_id, controller in sorted(cluster.controllers.items()):
        if controller_id != config.node_id:
            told = controller.supported_features.get(name, NOT_AT_ALL)
            check_range(f"Controller {controller_id}", told, name, level)
    for voter in sorted(quorum.voters):
        if voter != config.node_id and voter not in cluster.controllers:
            raise invalid(
                name,
                level,
                f"controller {voter} has not registered, and may not support this feature",
            )


def check_range(who: str, told: tuple[int, int], name: str, level: int) -> None:
    """Refuse a level that somebody cannot work at."""
    least, most = told
    if least <= level <= most:
        return
    if not most:
        raise invalid(name, level, f"{who} does not support this feature.")
    raise invalid(name, level, f"{who} only supports versions {least}-{most}")


def check_metadata_version(state: ControllerState, change: LevelChange) -> None:
    """Refuse to go below a level at which records of the log were written."""
    assert change.after is not None
    if not change.is_downgrade or change.is_safe:
        return
    lost = losses(state.image, change.after)
    what = f"it would lose {', '.join(lost)}" if lost else "the log may hold newer records"
    raise Refused(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Unsupported metadata.version downgrade from {change.before} to {change.after}. Refusing "
        f"to perform the requested downgrade because {what}, and to force it is not supported.",
    )


def check_all_needs(levels: Mapping[str, int]) -> None:
    """Refuse levels whose needs others do not meet, those that do not change among them."""
    for name, level in sorted(levels.items()):
        try:
            if name == METADATA_VERSION:
                version_of_level(level)
            elif level and name in FEATURES_BY_NAME:
                check_needs(name, FEATURES_BY_NAME[name].at(level), levels)
        except Misconfigured as misfit:
            raise invalid(name, level, str(misfit)) from misfit


def invalid(name: str, level: int, why: str) -> Refused:
    """Return the refusal of a level."""
    return Refused(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {level} for feature {name}. {why}",
    )
