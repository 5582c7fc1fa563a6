"""Who there is: brokers with their epochs, controllers with their listeners.

A registration of a broker stands for one life of it: another life of the same broker replaces the
registration whole, with a new epoch, which is the offset of its record.  So a record that fences,
unfences or changes a broker names the epoch it means, and one that means another life than the one
registered cannot have been written by any controller.

A broker may say that it is fenced, that it is about to stop (KIP-841), which log directories it has
online (KIP-858), and which of them are to be given nothing new (from 4.3; None is "not told yet").

Fixed by Kafka's ClusterDelta.java, BrokerRegistration.java and ControllerRegistration.java.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from barnabas.metadata.faults import BadRecord
from barnabas.metadata.levels import (
    CONTROLLER_REGISTRATION,
    CORDONED_DIRECTORIES,
    DIRECTORIES,
    MIGRATION,
    Form,
)
from barnabas.metadata.table import changed, difference
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.structs import Message

FENCING: Final = {-1: False, 0: None, 1: True}
STOPPING: Final = {0: None, 1: True}
"""What a change says of fencing, and of stopping, which only a new life ends."""

ORDER: Final = struct.Struct(">qq")
"""Kafka sorts ids as two signed numbers."""


@value
class Endpoint:
    """Where a listener is reached; the security protocol is Kafka's number."""

    name: str
    host: str
    port: int
    security_protocol: int


@value
class BrokerRegistration:
    """One life of a broker."""

    id: int
    epoch: int
    incarnation_id: Uuid
    listeners: Mapping[str, Endpoint]
    supported_features: Mapping[str, tuple[int, int]]
    """By name, the lowest and the highest level it can work with."""
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[Uuid, ...] = ()
    """Its log directories that are online, in Kafka's order of ids."""
    cordoned_directories: tuple[Uuid, ...] | None = None

    def record(self, form: Form) -> tuple[Message, int]:
        """Return the registration as a record."""
        migrating, directories, cordoned = (
            self.is_migrating_zk_broker,
            self.directories,
            self.cordoned_directories,
        )
        if migrating and form.level < MIGRATION:
            form.lose("that a broker is migrating from ZooKeeper")
            migrating = False
        if directories and form.level < DIRECTORIES:
            form.lose("the online log directories of brokers")
            directories = ()
        if cordoned is not None and form.level < CORDONED_DIRECTORIES:
            form.lose("the cordoned log directories of brokers")
            cordoned = None
        return form.versioned(
            RegisterBrokerRecord(
                broker_id=self.id,
                broker_epoch=self.epoch,
                incarnation_id=self.incarnation_id,
                end_points=[
                    RegisterBrokerRecord.BrokerEndpoint(
                        name=name,
                        host=at.host,
                        port=at.port,
                        security_protocol=at.security_protocol,
                    )
                    for name, at in sorted(self.listeners.items())
                ],
                features=[
                    RegisterBrokerRecord.BrokerFeature(
                        name=name, min_supported_version=least, max_supported_version=most
                    )
                    for name, (least, most) in sorted(self.supported_features.items())
                ],
                rack=self.rack,
                fenced=self.fenced,
                in_controlled_shutdown=self.in_controlled_shutdown,
                is_migrating_zk_broker=migrating,
                log_dirs=directories,
                cordoned_log_dirs=cordoned,
            )
        )


@value
class ControllerRegistration:
    """A controller that has told the cluster where it is and what it can (KIP-919)."""

    id: int
    incarnation_id: Uuid
    listeners: Mapping[str, Endpoint]
    supported_features: Mapping[str, tuple[int, int]]
    zk_migration_ready: bool = False

    def record(self, form: Form) -> tuple[Message, int]:
        """Return the registration as a record."""
        return form.versioned(
            RegisterControllerRecord(
                controller_id=self.id,
                incarnation_id=self.incarnation_id,
                zk_migration_ready=self.zk_migration_ready,
                end_points=[
                    RegisterControllerRecord.ControllerEndpoint(
                        name=name,
                        host=at.host,
                        port=at.port,
                        security_protocol=at.security_protocol,
                    )
                    for name, at in sorted(self.listeners.items())
                ],
                features=[
                    RegisterControllerRecord.ControllerFeature(
                        name=name, min_supported_version=least, max_supported_version=most
                    )
                    for name, (least, most) in sorted(self.supported_features.items())
                ],
            )
        )


@value
class ClusterImage:
    """The nodes that are registered, by id."""

    brokers: Mapping[int, BrokerRegistration]
    controllers: Mapping[int, ControllerRegistration]

    @property
    def is_empty(self) -> bool:
        """Whether nobody is registered."""
        return not self.brokers and not self.controllers

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the registrations as records."""
        for _, broker in sorted(self.brokers.items()):
            yield broker.record(form)
        if self.controllers and form.level < CONTROLLER_REGISTRATION:
            form.lose("the registrations of controllers")
            return
        for _, controller in sorted(self.controllers.items()):
            yield controller.record(form)


EMPTY: Final = ClusterImage({}, {})

ClusterRecord: TypeAlias = (
    BrokerRegistrationChangeRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RegisterControllerRecord
)


class ClusterDelta:
    """Registrations that are others; None for a node that is not registered any more."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.brokers: dict[int, BrokerRegistration | None] = {}
        self.controllers: dict[int, ControllerRegistration | None] = {}

    @staticmethod
    def between(image: ClusterImage, later: ClusterImage) -> "ClusterDelta":
        """Return what leads from one image to another."""
        delta = ClusterDelta(image)
        delta.brokers = difference(image.brokers, later.brokers)
        delta.controllers = difference(image.controllers, later.controllers)
        return delta

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """Return how a broker is registered by now."""
        if broker_id in self.brokers:
            return self.brokers[broker_id]
        return self.image.brokers.get(broker_id)

    def replay(self, record: ClusterRecord) -> None:
        """Take a record about a node."""
        match record:
            case BrokerRegistrationChangeRecord():
                self._change(record)
            case FenceBrokerRecord(id=broker_id, epoch=epoch):
                self.brokers[broker_id] = replace(self._living(broker_id, epoch), fenced=True)
            case UnfenceBrokerRecord(id=broker_id, epoch=epoch):
                self.brokers[broker_id] = replace(self._living(broker_id, epoch), fenced=False)
            case RegisterBrokerRecord():
                self.brokers[record.broker_id] = registered_broker(record)
            case UnregisterBrokerRecord(broker_id=broker_id):
                self.brokers[broker_id] = None
            case RegisterControllerRecord():
                self.controllers[record.controller_id] = registered_controller(record)

    def apply(self) -> ClusterImage:
        """Return the registrations afterwards."""
        return ClusterImage(
            changed(self.image.brokers, self.brokers),
            changed(self.image.controllers, self.controllers),
        )

    def _change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._living(record.broker_id, record.broker_epoch)
        if record.fenced not in FENCING:
            raise BadRecord(f"broker {broker.id}: fenced is {record.fenced}, not -1, 0 or 1")
        if record.in_controlled_shutdown not in STOPPING:
            stopping = record.in_controlled_shutdown
            raise BadRecord(f"broker {broker.id}: in_controlled_shutdown is {stopping}, not 0 or 1")
        fenced = FENCING[record.fenced]
        cordoned = record.cordoned_log_dirs
        self.brokers[broker.id] = replace(
            broker,
            fenced=broker.fenced if fenced is None else fenced,
            in_controlled_shutdown=(
                broker.in_controlled_shutdown or bool(STOPPING[record.in_controlled_shutdown])
            ),
            # Nobody has no directories at all, so that none says that they are the same.
            directories=ordered(record.log_dirs) or broker.directories,
            cordoned_directories=(
                broker.cordoned_directories if cordoned is None else tuple(cordoned)
            ),
        )

    def _living(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """Return the registration of this very life of a broker."""
        broker = self.broker(broker_id)
        if broker is None:
            raise BadRecord(f"broker {broker_id} of epoch {epoch} is changed and not registered")
        if broker.epoch != epoch:
            raise BadRecord(
                f"broker {broker_id} of epoch {epoch} is changed, and epoch {broker.epoch} lives"
            )
        return broker


def registered_broker(record: RegisterBrokerRecord) -> BrokerRegistration:
    """Return the registration that a record tells."""
    cordoned = record.cordoned_log_dirs
    return BrokerRegistration(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        listeners=listeners(f"broker {record.broker_id}", record.end_points),
        supported_features=supported(record.features),
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        is_migrating_zk_broker=record.is_migrating_zk_broker,
        directories=ordered(record.log_dirs),
        cordoned_directories=None if cordoned is None else tuple(cordoned),
    )


def registered_controller(record: RegisterControllerRecord) -> ControllerRegistration:
    """Return the registration that a record tells."""
    return ControllerRegistration(
        id=record.controller_id,
        incarnation_id=record.incarnation_id,
        listeners=listeners(f"controller {record.controller_id}", record.end_points),
        supported_features=supported(record.features),
        zk_migration_ready=record.zk_migration_ready,
    )


def listeners(
    node: str,
    told: Sequence[
        RegisterBrokerRecord.BrokerEndpoint | RegisterControllerRecord.ControllerEndpoint
    ],
) -> Mapping[str, Endpoint]:
    """Return the listeners of a node by their names."""
    if any(not at.name for at in told):
        raise BadRecord(f"{node} has a listener without a name")
    return {at.name: Endpoint(at.name, at.host, at.port, at.security_protocol) for at in told}


def supported(
    told: Sequence[RegisterBrokerRecord.BrokerFeature | RegisterControllerRecord.ControllerFeature],
) -> Mapping[str, tuple[int, int]]:
    """Return the range of levels of each feature."""
    return {each.name: (each.min_supported_version, each.max_supported_version) for each in told}


def ordered(directories: Iterable[Uuid]) -> tuple[Uuid, ...]:
    """Return directories in Kafka's order."""
    return tuple(sorted(directories, key=ORDER.unpack))
