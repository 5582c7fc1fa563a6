"""The tree of an image, in the words of Kafka's metadata shell."""

import math
import struct
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.metadata.cluster import BrokerRegistration, ControllerRegistration, Endpoint
from barnabas.metadata.configs import ConfigResource
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.paths import (
    AS_KAFKA,
    AS_OPERATOR,
    Directory,
    Node,
    View,
    broker_text,
    config_text,
    controller_text,
    double_text,
    entity_text,
    leaves,
    partition_text,
    paths,
    range_text,
    resource_text,
    time_text,
    tree,
)
from barnabas.metadata.quotas import entity
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.structs import Message
from tests.metadata.histories import history
from tests.metadata.shell import Shell

TOPIC, RULE, PLACE = (Uuid(bytes([n] * 16)) for n in (1, 2, 3))
ONES, TWOS, THREES = "AQEBAQEBAQEBAQEBAQEBAQ", "AgICAgICAgICAgICAgICAg", "AwMDAwMDAwMDAwMDAwMDAw"

NOTHING = {
    "/image/provenance": "offset -1, epoch -1, time 1969-12-31T23:59:59.999Z[UTC]",
    "/image/features/metadataVersion": "Optional.empty",
    "/image/producerIds/nextProducerId": "-1",
}


def image(*records: Message) -> MetadataImage:
    """Return the image of some records."""
    delta = Delta(EMPTY)
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance(41, 3, 1_767_323_045_000, batch_aligned=True))


def shown(*records: Message) -> dict[str, str]:
    """Return the paths of some records that are not there without them."""
    return dict(sorted(set(paths(image(*records))) - set(paths(image()))))


def at(root: Node | None, *names: str) -> Node | None:
    """Go down a tree; None if there is no such place."""
    for name in names:
        root = root.child(name) if isinstance(root, Directory) else None
    return root


def test_nothing_has_a_provenance_a_level_and_a_next_producer_id_all_the_same() -> None:
    assert dict(paths(EMPTY)) == NOTHING


def test_a_provenance_tells_the_last_offset_its_epoch_and_its_time() -> None:
    assert dict(paths(image()))["/image/provenance"] == (
        "offset 41, epoch 3, time 2026-01-02T03:04:05Z[UTC]"
    )


def test_metadata_version_is_told_apart_from_the_other_levels() -> None:
    level = FeatureLevelRecord(name="metadata.version", feature_level=30)
    group = FeatureLevelRecord(name="group.version", feature_level=1)
    assert shown(level, group) == {
        "/image/features/finalized_group.version": "1",
        "/image/features/metadataVersion": "Optional[4.3-IV0]",
    }


def test_a_topic_is_under_its_name_and_under_its_id() -> None:
    partition = PartitionRecord(
        topic_id=TOPIC, partition_id=0, replicas=(1, 2), isr=(2,), leader=2, leader_epoch=4,
        partition_epoch=5, directories=(PLACE, TOPIC),
    )  # fmt: skip
    text = (
        f"PartitionRegistration(replicas=[1, 2], directories=[{THREES}, {ONES}], isr=[2], "
        "removingReplicas=[], addingReplicas=[], elr=[], lastKnownElr=[], leader=2, "
        "leaderRecoveryState=RECOVERED, leaderEpoch=4, partitionEpoch=5)"
    )
    assert shown(TopicRecord(name="orders", topic_id=TOPIC), partition) == {
        f"/image/topics/byId/{ONES}/0": text,
        f"/image/topics/byId/{ONES}/id": ONES,
        f"/image/topics/byId/{ONES}/name": "orders",
        "/image/topics/byName/orders/0": text,
        "/image/topics/byName/orders/id": ONES,
        "/image/topics/byName/orders/name": "orders",
    }


def test_what_is_unusual_about_a_partition_is_told_too() -> None:
    partition = PartitionRegistration((1,), (PLACE,), (), -1, 0, 9, ((2,), (3,), (4,), (5,), 1))
    assert partition_text(partition) == (
        f"PartitionRegistration(replicas=[1], directories=[{THREES}], isr=[], "
        "removingReplicas=[2], addingReplicas=[3], elr=[4], lastKnownElr=[5], leader=-1, "
        "leaderRecoveryState=RECOVERING, leaderEpoch=0, partitionEpoch=9)"
    )


def test_a_broker_is_told_with_its_listeners_and_features_in_order() -> None:
    broker = BrokerRegistration(
        id=1,
        epoch=12,
        incarnation_id=TOPIC,
        listeners={
            "OUT": Endpoint("OUT", "b1", 9093, 3),
            "IN": Endpoint("IN", "b1", 9092, 0),
        },
        supported_features={"metadata.version": (7, 30), "group.version": (1, 1)},
        rack="a",
        directories=(PLACE,),
    )
    assert broker_text(broker) == (
        f"BrokerRegistration(id=1, epoch=12, incarnationId={ONES}, "
        "listeners=[Endpoint(listenerName='IN', securityProtocol=PLAINTEXT, host='b1', port=9092), "
        "Endpoint(listenerName='OUT', securityProtocol=SASL_SSL, host='b1', port=9093)], "
        "supportedFeatures={group.version: 1, metadata.version: 7-30}, rack=Optional[a], "
        "fenced=true, inControlledShutdown=false, isMigratingZkBroker=false, "
        f"directories=[{THREES}], cordonedDirectories=null)"
    )


def test_a_broker_without_a_rack_has_an_empty_one_and_cordons_an_empty_list() -> None:
    broker = BrokerRegistration(
        1, 12, TOPIC, {}, {}, fenced=False, in_controlled_shutdown=True, cordoned_directories=()
    )
    assert broker_text(broker) == (
        f"BrokerRegistration(id=1, epoch=12, incarnationId={ONES}, listeners=[], "
        "supportedFeatures={}, rack=Optional.empty, fenced=false, inControlledShutdown=true, "
        "isMigratingZkBroker=false, directories=[], cordonedDirectories=[])"
    )


def test_a_controller_is_told_with_where_it_is_and_an_odd_protocol_as_null() -> None:
    controller = ControllerRegistration(
        3000, PLACE, {"C": Endpoint("C", "::1", 9093, 7)}, {"kraft.version": (0, 1)}
    )
    assert controller_text(controller) == (
        f"ControllerRegistration(id=3000, incarnationId={THREES}, zkMigrationReady=false, "
        "listeners=[Endpoint(listenerName='C', securityProtocol=null, host='::1', port=9093)], "
        "supportedFeatures={kraft.version: 0-1})"
    )


def test_a_feature_without_a_highest_level_is_open_above() -> None:
    assert [range_text(0, 0), range_text(1, 4), range_text(1, 32_767)] == ["0", "1-4", "1+"]


def test_a_config_is_under_its_resource_and_that_of_all_brokers_has_no_name() -> None:
    records = [
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="7"),
        ConfigRecord(resource_type=4, resource_name="", name="num.io.threads", value="8"),
    ]
    assert shown(*records) == {
        "/image/configs/BROKER/num.io.threads": "8",
        "/image/configs/TOPIC:orders/retention.ms": "7",
    }


def test_a_resource_of_a_type_that_nobody_knows_is_called_so() -> None:
    assert resource_text(ConfigResource(32, "g")) == "GROUP:g"
    assert resource_text(ConfigResource(64, "g")) == "UNKNOWN:g"


def quota(limit: float, **parts: str | None) -> ClientQuotaRecord:
    """Return a quota of an entity."""
    return ClientQuotaRecord(
        entity=[
            ClientQuotaRecord.EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
            for kind, name in parts.items()
        ],
        key="producer_byte_rate",
        value=limit,
    )


def test_a_quota_is_under_the_parts_of_its_entity_in_kafkas_order() -> None:
    assert shown(quota(1024.0, user="alice", client_id="c(1)"), quota(0.5, ip="10.0.0.1")) == {
        "/image/clientQuotas/clientId(c\\(1\\))_user(alice)/producer_byte_rate": "1024.0",
        "/image/clientQuotas/ip(10.0.0.1)/producer_byte_rate": "0.5",
    }


def test_a_quota_of_everybody_is_shown_to_operators_and_not_by_kafka() -> None:
    records = [quota(1.0, user=None), quota(2.0, user="alice", client_id=None)]
    assert shown(*records) == {}
    assert {
        path[2]: text
        for path, text in leaves(tree(image(*records), AS_OPERATOR))
        if path[1] == "clientQuotas"
    } == {"user": "1.0", "clientId_user(alice)": "2.0"}


def test_no_name_can_be_taken_for_another_entity() -> None:
    entities = [
        entity({"user": "a)_ip(b"}),
        entity({"user": "a", "ip": "b"}),
        entity({"user": "a\\)_ip(b"}),
        entity({"user": None, "client-id": "user"}),
        entity({"user": "", "client-id": "user"}),
    ]
    assert len({entity_text(each) for each in entities}) == len(entities)


def test_a_rule_is_told_in_kafkas_words_and_numbers_without_a_word_as_unknown() -> None:
    rule = AccessControlEntryRecord(
        id=RULE, resource_type=2, resource_name="orders", pattern_type=4, principal="User:alice",
        host="*", operation=15, permission_type=99,
    )  # fmt: skip
    assert shown(rule) == {
        f"/image/acls/byId/{TWOS}": (
            "StandardAcl[resourceType=TOPIC, resourceName=orders, patternType=PREFIXED, "
            "principal=User:alice, host=*, operation=TWO_PHASE_COMMIT, permissionType=UNKNOWN]"
        )
    }


def credential(mechanism: int) -> UserScramCredentialRecord:
    """Return a credential of alice."""
    return UserScramCredentialRecord(
        name="alice", mechanism=mechanism, salt=b"\x01", stored_key=b"\x02\xff", server_key=b"\x03",
        iterations=4096,
    )  # fmt: skip


def test_a_credential_is_told_whole_as_kafkas_shell_does_under_a_mechanism_that_it_knows() -> None:
    assert shown(credential(2), credential(7)) == {
        "/image/scram/SCRAM-SHA-512/alice": (
            "ScramCredentialData(salt=01, storedKey=02ff, serverKey=03, iterations=4096)"
        )
    }


def test_operators_are_not_shown_secrets() -> None:
    records = [
        credential(1),
        ConfigRecord(resource_type=4, name="listener.name.x.ssl.key.password", value="hush"),
    ]
    texts = dict(leaves(tree(image(*records), AS_OPERATOR)))
    assert texts["image", "scram", "SCRAM-SHA-256", "alice"] == (
        "ScramCredentialData(salt=[redacted], storedKey=[redacted], serverKey=[redacted], "
        "iterations=4096)"
    )
    assert texts["image", "configs", "BROKER", "listener.name.x.ssl.key.password"] == "[redacted]"


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("ssl.keystore.key", True),
        ("listener.name.a.scram-sha-256.sasl.jaas.config", True),
        ("sasl.oauthbearer.client.credentials.client.secret", True),
        ("ssl.truststore.certificates", True),
        ("ssl.keystore.type", False),
        ("ssl.keystore.location", False),
        ("cleanup.policy", False),
    ],
)
def test_passwords_and_keys_are_secrets_and_other_configs_are_not(key: str, secret: bool) -> None:
    assert config_text(key, "x", AS_OPERATOR) == ("[redacted]" if secret else "x")
    assert config_text(key, "x", AS_KAFKA) == "x"


def test_a_token_is_told_with_kafkas_own_parentheses() -> None:
    token = DelegationTokenRecord(
        owner="User:alice", requester="User:bob", renewers=("User:c", "User:d"), issue_timestamp=1,
        max_timestamp=2, expiration_timestamp=3, token_id="t",
    )  # fmt: skip
    assert shown(token) == {
        "/image/delegationToken/t": (
            "DelegationTokenDatatokenId=t(owner=User:alice(tokenRequester=User:bob"
            "(renewers=User:c User:d, issueTimestamp=1, maxTimestamp=2), expiryTimestamp=3"
        )
    }


def test_the_next_producer_id_is_a_number() -> None:
    assert shown(ProducerIdsRecord(next_producer_id=1000)) == {
        "/image/producerIds/nextProducerId": "1000"
    }


def test_names_come_in_javas_order_of_strings() -> None:
    # U+FF5E is one unit, and the face two that begin at U+D83D, which is less.
    names = ["10", "9", "a", "\U0001f600", "\uff5e"]
    assert Directory(lambda: reversed(names), lambda _: None).sorted() == names


@pytest.mark.parametrize("view", [AS_KAFKA, AS_OPERATOR])
@pytest.mark.parametrize("seed", range(10))
def test_everything_that_is_listed_is_there_and_nothing_else_is(seed: int, view: View) -> None:
    shell = Shell()
    shell.commit(history(seed, length=120).cut())
    root = tree(shell.image, view)
    found = list(leaves(root))
    assert len(found) == len(set(found)) > 15
    for path, text in found:
        assert at(root, *path) == text
        assert at(root, *path, "further") is None
        assert at(root, *path[:-1], "nobody") is None
        assert at(root, *path[:-1], "-0") is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.5, "0.5"), (1048576.0, "1048576.0"),
        (9999999.0, "9999999.0"), (1e7, "1.0E7"), (12345678.9, "1.23456789E7"),
        (-1e7, "-1.0E7"), (123456789012345680.0, "1.2345678901234568E17"), (1e21, "1.0E21"),
        (1.5e300, "1.5E300"), (0.001, "0.001"), (0.00099, "9.9E-4"), (1e-5, "1.0E-5"),
        (1e100, "1.0E100"), (float("inf"), "Infinity"), (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)  # fmt: skip
def test_numbers_are_spelled_as_java_does(number: float, text: str) -> None:
    assert double_text(number) == text


@given(st.integers(0, 2**64 - 1))
@example(0x7FEFFFFFFFFFFFFF)
@example(1)
def test_a_spelled_number_is_the_number(bits: int) -> None:
    [number] = struct.unpack("d", bits.to_bytes(8, "little"))
    text = double_text(number)
    assert struct.pack("d", float(text)) == struct.pack("d", number) or math.isnan(number)
    assert text.removeprefix("-")[:1] in "0123456789IN"


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
@example(0)
@example(-1)
@example(951_782_400_000)  # the 29th of February 2000
def test_times_are_those_of_the_calendar(ms: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    iso = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    whole, _, fraction = iso.partition(".")
    behind = fraction.rstrip("0")
    assert time_text(ms) == (f"{whole}.{behind}Z" if behind else f"{whole}Z")


def test_times_beyond_the_calendars_last_year_have_a_sign() -> None:
    assert time_text(253_402_300_800_000) == "+10000-01-01T00:00:00Z"
