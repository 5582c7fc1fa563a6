"""Brokers and controllers: each record by example, and what names another life."""

from typing import Any

import pytest

from barnabas.metadata.cluster import (
    EMPTY,
    BrokerRegistration,
    ClusterDelta,
    ClusterImage,
    ClusterRecord,
    ControllerRegistration,
    Endpoint,
)
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.levels import Form
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord

LOW, HIGH, NEGATIVE = (Uuid(bytes([first]) + bytes(15)) for first in (1, 2, 0x80))

BROKER = RegisterBrokerRecord(
    broker_id=3,
    is_migrating_zk_broker=True,
    incarnation_id=LOW,
    broker_epoch=40,
    end_points=[
        RegisterBrokerRecord.BrokerEndpoint(
            name="PLAINTEXT", host="b3", port=9092, security_protocol=0
        )
    ],
    features=[
        RegisterBrokerRecord.BrokerFeature(
            name="metadata.version", min_supported_version=7, max_supported_version=30
        )
    ],
    rack="r1",
    fenced=True,
    log_dirs=[HIGH, LOW, NEGATIVE],
    cordoned_log_dirs=[HIGH],
)
REGISTERED = BrokerRegistration(
    id=3,
    epoch=40,
    incarnation_id=LOW,
    listeners={"PLAINTEXT": Endpoint("PLAINTEXT", "b3", 9092, 0)},
    supported_features={"metadata.version": (7, 30)},
    rack="r1",
    fenced=True,
    is_migrating_zk_broker=True,
    # Kafka compares ids as signed numbers.
    directories=(NEGATIVE, LOW, HIGH),
    cordoned_directories=(HIGH,),
)


def after(*records: ClusterRecord, image: ClusterImage = EMPTY) -> ClusterImage:
    """Return the image after some records."""
    delta = ClusterDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply()


def broker(*records: ClusterRecord) -> BrokerRegistration:
    """Return broker 3 after its registration and some records, in one delta and in several."""
    together = after(BROKER, *records)
    image = EMPTY
    for record in (BROKER, *records):
        image = after(record, image=image)
    assert image == together
    return image.brokers[3]


def change(**fields: Any) -> BrokerRegistrationChangeRecord:  # noqa: ANN401 -- the record knows
    """Return a change of broker 3."""
    return BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=40, **fields)


def test_a_broker_is_registered_with_all_that_it_says() -> None:
    assert broker() == REGISTERED


def test_another_life_replaces_the_one_before_whole() -> None:
    again = RegisterBrokerRecord(broker_id=3, broker_epoch=90)
    assert broker(again) == BrokerRegistration(
        id=3, epoch=90, incarnation_id=Uuid(bytes(16)), listeners={}, supported_features={}, rack=""
    )


def test_a_broker_is_unregistered_and_one_that_is_not_there_is_no_error() -> None:
    gone = UnregisterBrokerRecord(broker_id=3, broker_epoch=40)
    assert after(BROKER, gone).is_empty
    assert after(gone).is_empty


def test_a_broker_is_fenced_and_unfenced_by_old_records_and_by_new_ones() -> None:
    assert not broker(UnfenceBrokerRecord(id=3, epoch=40)).fenced
    assert broker(UnfenceBrokerRecord(id=3, epoch=40), FenceBrokerRecord(id=3, epoch=40)).fenced
    assert not broker(change(fenced=-1)).fenced
    assert broker(change(fenced=-1), change(fenced=0)).fenced is False
    assert broker(change(fenced=-1), change(fenced=1)).fenced


def test_a_broker_that_shuts_down_does_so_until_its_next_life() -> None:
    assert broker(change(in_controlled_shutdown=1), change()).in_controlled_shutdown


def test_a_change_without_directories_leaves_those_there_were() -> None:
    assert broker(change()).directories == (NEGATIVE, LOW, HIGH)
    assert broker(change(log_dirs=[HIGH, LOW])).directories == (LOW, HIGH)


def test_cordoned_directories_may_be_told_to_be_none() -> None:
    assert broker(change()).cordoned_directories == (HIGH,)
    assert broker(change(cordoned_log_dirs=[])).cordoned_directories == ()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (FenceBrokerRecord(id=4, epoch=40), "broker 4 of epoch 40 is changed and not registered"),
        (UnfenceBrokerRecord(id=3, epoch=39), "of epoch 39 is changed, and epoch 40 lives"),
        (BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=41), "and epoch 40 lives"),
        (change(fenced=2), "fenced is 2, not -1, 0 or 1"),
        (change(in_controlled_shutdown=-1), "in_controlled_shutdown is -1, not 0 or 1"),
        (
            RegisterBrokerRecord(end_points=[RegisterBrokerRecord.BrokerEndpoint(host="x")]),
            "broker 0 has a listener without a name",
        ),
    ],
    ids=str,
)
def test_what_no_controller_would_say_of_a_broker_is_refused(
    record: ClusterRecord, why: str
) -> None:
    with pytest.raises(BadRecord, match=why):
        after(BROKER, record)


def test_a_change_of_a_broker_that_was_unregistered_is_refused() -> None:
    with pytest.raises(BadRecord, match="not registered"):
        after(BROKER, UnregisterBrokerRecord(broker_id=3), change())


def test_a_controller_is_registered_with_all_that_it_says() -> None:
    record = RegisterControllerRecord(
        controller_id=3000,
        incarnation_id=HIGH,
        zk_migration_ready=True,
        end_points=[
            RegisterControllerRecord.ControllerEndpoint(
                name="CONTROLLER", host="c", port=9093, security_protocol=1
            )
        ],
        features=[
            RegisterControllerRecord.ControllerFeature(
                name="kraft.version", min_supported_version=0, max_supported_version=1
            )
        ],
    )
    image = after(record)
    assert image.controllers == {
        3000: ControllerRegistration(
            3000,
            HIGH,
            {"CONTROLLER": Endpoint("CONTROLLER", "c", 9093, 1)},
            {"kraft.version": (0, 1)},
            zk_migration_ready=True,
        )
    }
    assert not image.is_empty


def test_what_a_level_has_no_words_for_is_lost_and_told() -> None:
    lost: list[str] = []
    image = after(BROKER, RegisterControllerRecord(controller_id=9))
    [(record, version)] = image.records(Form(7, lost.append))
    assert version == 1
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.is_migrating_zk_broker, record.log_dirs, record.cordoned_log_dirs) == (
        False, (), None,
    )  # fmt: skip
    assert lost == [
        "that a broker is migrating from ZooKeeper",
        "the online log directories of brokers",
        "the cordoned log directories of brokers",
        "the registrations of controllers",
    ]
