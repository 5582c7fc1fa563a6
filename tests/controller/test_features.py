"""Levels of features: raised to what everybody can work at, lowered where nothing is lost."""

from collections.abc import Mapping
from typing import Any

import pytest

from barnabas.controller.config import ControllerConfig
from barnabas.controller.features import QuorumFacts, Upgrade, update
from barnabas.controller.state import ControllerState
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.model.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    TRANSACTION_VERSION,
    supported_levels,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from barnabas.wire.structs import Message
from tests.controller.scene import broker, cluster, level, setting, topic, uuid

CONFIG = ControllerConfig(9, static={"min.insync.replicas": "2"})
QUORUM = QuorumFacts(kraft_version=0, voters=(9,))
ELR = ELIGIBLE_LEADER_REPLICAS_VERSION
UP, SAFELY_DOWN, UNSAFELY_DOWN = Upgrade
EVERYTHING = supported_levels(unstable=True)


def controller(node_id: int, features: Mapping[str, tuple[int, int]]) -> RegisterControllerRecord:
    """Return a registration of a controller."""
    return RegisterControllerRecord(
        controller_id=node_id,
        incarnation_id=uuid(node_id),
        features=[
            RegisterControllerRecord.ControllerFeature(
                name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in features.items()
        ],
    )


def state(*records: Message, at: int = 25) -> ControllerState:
    """Return a cluster with a broker that can work with everything."""
    return cluster(broker(1, features=EVERYTHING), *records, at=at)


def change(partition: int, **fields: Any) -> PartitionChangeRecord:  # noqa: ANN401 -- as the record has them
    """Return a change of a partition of topic 1."""
    return PartitionChangeRecord(topic_id=uuid(1), partition_id=partition, **fields)


def updated(
    before: ControllerState,
    *wanted: tuple[str, int] | tuple[str, int, int],
    config: ControllerConfig = CONFIG,
    quorum: QuorumFacts = QUORUM,
    caller: Caller = ANYBODY,
    validate_only: bool = False,
) -> tuple[ControllerState, UpdateFeaturesResponse]:
    """Return the state after levels were asked for, and the answer."""
    request = UpdateFeaturesRequest(
        feature_updates=[
            UpdateFeaturesRequest.FeatureUpdateKey(
                feature=one[0],
                max_version_level=one[1],
                upgrade_type=one[2] if len(one) > 2 else UP,
            )
            for one in wanted
        ],
        validate_only=validate_only,
    )
    decision = update(before, config, quorum, request, caller)
    if decision.reply.error_code:
        assert not decision.records
        assert decision.reply.error_message
        assert not decision.reply.results
    return before.apply(decision.records), decision.reply


def test_levels_are_raised_together() -> None:
    after, reply = updated(state(), (METADATA_VERSION, 30), (GROUP_VERSION, 1))
    assert reply.error_code == 0
    assert [one.feature for one in reply.results] == [METADATA_VERSION, GROUP_VERSION]
    assert after.level == 30
    assert after.image.features.level(GROUP_VERSION) == 1


def test_nothing_changes_when_it_is_only_asked() -> None:
    after, reply = updated(state(), (METADATA_VERSION, 30), validate_only=True)
    assert reply.error_code == 0
    assert after.level == 25
    _, reply = updated(state(), (METADATA_VERSION, 99), validate_only=True)
    assert reply.error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_one_level_that_cannot_be_keeps_all_others_from_changing() -> None:
    after, reply = updated(state(), (GROUP_VERSION, 1), ("no.such", 1))
    assert reply.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "The update failed for all features" in str(reply.error_message)
    assert after.image.features.level(GROUP_VERSION) == 0


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ((METADATA_VERSION, 6), "without setting the upgrade type"),
        ((METADATA_VERSION, 6, SAFELY_DOWN), "only supports versions 7-30"),
        ((METADATA_VERSION, 31), "only supports versions 7-30"),
        ((METADATA_VERSION, 24), "without setting the upgrade type"),
        ((METADATA_VERSION, 26, SAFELY_DOWN), "Can't downgrade to a newer version"),
        ((METADATA_VERSION, 22, SAFELY_DOWN), "Refusing to perform the requested downgrade"),
        ((METADATA_VERSION, 22, UNSAFELY_DOWN), "to force it is not supported"),
        ((GROUP_VERSION, -1), "cannot be less than 0"),
        ((GROUP_VERSION, 2), "only supports versions 0-1"),
        ((GROUP_VERSION, 1, 0), "does not support the given upgrade type"),
        ((GROUP_VERSION, 1, 9), "does not support the given upgrade type"),
        (("no.such", 1), "does not support this feature"),
        ((KRAFT_VERSION, 2), "only supports versions 0-1"),
    ],
)
def test_levels_that_cannot_be_are_refused(
    wanted: tuple[str, int] | tuple[str, int, int], why: str
) -> None:
    after, reply = updated(state(), wanted)
    assert reply.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert why in str(reply.error_message)
    assert after.image.features == state().image.features


def test_a_level_comes_down_as_long_as_no_record_was_written_otherwise() -> None:
    after, reply = updated(state(at=25), (METADATA_VERSION, 23, SAFELY_DOWN))
    assert (reply.error_code, after.level) == (0, 23)
    elr = state(*topic("a", 1, (1,)), at=25).apply(
        [change(0, isr=(), leader=-1, eligible_leader_replicas=(1,))]
    )
    _, reply = updated(elr, (METADATA_VERSION, 22, SAFELY_DOWN))
    assert "it would lose the eligible leaders of partitions" in str(reply.error_message)
    _, reply = updated(state(at=25), (METADATA_VERSION, 22, SAFELY_DOWN))
    assert "the log may hold newer records" in str(reply.error_message)


def test_the_first_version_of_the_request_said_that_a_level_may_come_down() -> None:
    one = UpdateFeaturesRequest.FeatureUpdateKey(
        feature=METADATA_VERSION, max_version_level=24, allow_downgrade=True
    )
    decision = update(
        state(), CONFIG, QUORUM, UpdateFeaturesRequest(feature_updates=[one]), ANYBODY
    )
    assert decision.records == (level(24),)


def test_every_broker_and_controller_has_to_know_a_level() -> None:
    old = {METADATA_VERSION: (7, 25)}
    for record, who in (
        (broker(2, features=old), "Broker 2 only supports versions 7-25"),
        (broker(2, features={}), "Broker 2 does not support this feature"),
        (controller(8, old), "Controller 8 only supports versions 7-25"),
    ):
        _, reply = updated(state(record), (METADATA_VERSION, 26))
        assert who in str(reply.error_message)
    after, _ = updated(state(controller(8, EVERYTHING)), (METADATA_VERSION, 26))
    assert after.level == 26


def test_every_voter_has_to_be_registered_from_the_level_on_that_controllers_are() -> None:
    quorum = QuorumFacts(kraft_version=0, voters=(8, 9))
    _, reply = updated(state(), (METADATA_VERSION, 26), quorum=quorum)
    assert "controller 8 has not registered" in str(reply.error_message)
    after, _ = updated(state(controller(8, EVERYTHING)), (METADATA_VERSION, 26), quorum=quorum)
    assert after.level == 26
    older, reply = updated(state(at=14), (METADATA_VERSION, 15), quorum=quorum)
    assert (reply.error_code, older.level) == (0, 15)


def test_levels_that_are_not_stable_are_known_to_who_wants_them() -> None:
    config = ControllerConfig(9, static={"unstable.feature.versions.enable": "true"})
    after, reply = updated(state(), (METADATA_VERSION, 31), config=config)
    assert (reply.error_code, after.level) == (0, 31)


def test_features_need_each_other() -> None:
    _, reply = updated(state(at=22), (ELR, 1))
    assert "depends on metadata.version level 23" in str(reply.error_message)
    after, reply = updated(state(at=22), (ELR, 1), (METADATA_VERSION, 23))
    assert (reply.error_code, after.level, after.image.features.level(ELR)) == (0, 23, 1)


def test_a_level_of_zero_is_no_level() -> None:
    one = state(level(2, TRANSACTION_VERSION))
    after, reply = updated(one, (TRANSACTION_VERSION, 0, SAFELY_DOWN))
    assert reply.error_code == 0
    assert TRANSACTION_VERSION not in after.image.features.levels


@pytest.mark.parametrize("validate_only", [False, True])
def test_the_quorums_version_is_judged_and_stays_what_it_is(validate_only: bool) -> None:
    key = UpdateFeaturesRequest.FeatureUpdateKey(feature=KRAFT_VERSION, max_version_level=1)
    request = UpdateFeaturesRequest(feature_updates=[key], validate_only=validate_only)
    decision = update(state(), CONFIG, QUORUM, request, ANYBODY)
    assert decision.records == ()
    assert decision.reply.error_code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "stays so while the quorum runs" in str(decision.reply.error_message)
    raised = QuorumFacts(kraft_version=1, voters=(9,))
    _, reply = updated(state(), (KRAFT_VERSION, 0, UNSAFELY_DOWN), quorum=raised)
    assert "Can't downgrade the version of this feature" in str(reply.error_message)
    _, reply = updated(state(), (KRAFT_VERSION, 1), quorum=raised)
    assert reply.error_code == 0


def test_eligible_leaders_are_used_with_one_number_in_sync_for_all() -> None:
    one = state(setting(4, "1", "min.insync.replicas", "1"))
    after, reply = updated(one, (ELR, 1))
    assert reply.error_code == 0
    assert after.image.configs.of(4, "") == {"min.insync.replicas": "2"}
    assert not after.image.configs.of(4, "1")
    again, _ = updated(after, (ELR, 1))
    assert again.image == after.image


def test_eligible_leaders_that_are_used_no_more_leave_somebody_in_sync() -> None:
    before = state(
        broker(2, features=EVERYTHING), *topic("a", 1, (1, 2), (2, 1), (1, 2)), level(1, ELR),
        setting(4, "", "min.insync.replicas", "2"),
    ).apply(
        [
            change(0, isr=(1,), eligible_leader_replicas=(2,)),
            change(1, isr=(), leader=-1, eligible_leader_replicas=(1, 2)),
            change(2, isr=(), leader=-1, last_known_elr=(1,)),
        ]
    )  # fmt: skip
    request = UpdateFeaturesRequest(
        feature_updates=[
            UpdateFeaturesRequest.FeatureUpdateKey(
                feature=ELR, max_version_level=0, upgrade_type=SAFELY_DOWN
            )
        ]
    )
    decision = update(before, CONFIG, QUORUM, request, ANYBODY)
    assert decision.records == (
        change(0, eligible_leader_replicas=()),
        change(1, isr=(2,), eligible_leader_replicas=()),
        level(0, ELR),
    )
    found = before.apply(decision.records).image.topics.topics[uuid(1)]
    assert [one.isr for _, one in found.partitions()] == [(1,), (2,), ()]
    assert [one.elr for _, one in found.partitions()] == [()] * 3
    # Who led last is remembered: it may be asked when it comes back.
    assert found.stored[2][6][3] == (1,)


def test_who_may_not_alter_the_cluster_changes_no_levels() -> None:
    caller = Caller("User:m", lambda operation, kind, name: False)
    _, reply = updated(state(), (METADATA_VERSION, 26), caller=caller)
    assert reply.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_change_that_is_tried_again_ends_in_the_same() -> None:
    once, _ = updated(state(), (METADATA_VERSION, 30), (ELR, 1))
    again, reply = updated(once, (METADATA_VERSION, 30), (ELR, 1))
    assert reply.error_code == 0
    assert again.image == once.image
