"""Requests refused as a whole: every API says so where whoever asked looks for it."""

from typing import Any

import pytest

from barnabas.controller.refusals import MIRRORED, OWN, refusal
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.wire import codec
from barnabas.wire.apis import APIS, ApiKey, request_class, response_class
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.structs import Request, Struct

REFUSED = Refused(ErrorCode.NOT_CONTROLLER, "somebody else leads")
ID = Uuid(bytes(15) + b"\7")


def errors_in(struct: Struct) -> list[int]:
    """Return the errors in an answer, the whole's and those of its parts."""
    found = [struct.error_code] if "error_code" in struct.FIELDS else []  # type: ignore[attr-defined]  # -- asked before
    for name in struct.FIELDS:
        inner = getattr(struct, name)
        if isinstance(inner, list | tuple):
            found += [each for it in inner if isinstance(it, Struct) for each in errors_in(it)]
    return found


@pytest.mark.parametrize(
    ("request_", "things"),
    [
        (CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="a")] * 2), 2),
        (
            DeleteTopicsRequest(
                topic_names=["a"],
                topics=[DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=ID)],
            ),
            2,
        ),
        (
            IncrementalAlterConfigsRequest(
                resources=[
                    IncrementalAlterConfigsRequest.AlterConfigsResource(
                        resource_type=2, resource_name="a"
                    )
                ]
            ),
            1,
        ),
        (
            AlterClientQuotasRequest(
                entries=[
                    AlterClientQuotasRequest.EntryData(
                        entity=[
                            AlterClientQuotasRequest.EntityData(
                                entity_type="user", entity_name="anna"
                            )
                        ]
                    )
                ]
            ),
            1,
        ),
        (CreateAclsRequest(creations=[CreateAclsRequest.AclCreation()] * 3), 3),
        (
            AlterPartitionReassignmentsRequest(
                topics=[
                    AlterPartitionReassignmentsRequest.ReassignableTopic(
                        name="a",
                        partitions=[
                            AlterPartitionReassignmentsRequest.ReassignablePartition(
                                partition_index=4, replicas=[1]
                            )
                        ],
                    )
                ]
            ),
            2,
        ),
        (
            ElectLeadersRequest(
                topic_partitions=[ElectLeadersRequest.TopicPartitions(topic="a", partitions=[1, 2])]
            ),
            3,
        ),
        (
            AlterUserScramCredentialsRequest(
                deletions=[
                    AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="b", mechanism=1)
                ],
                upsertions=[
                    AlterUserScramCredentialsRequest.ScramCredentialUpsertion(name="a"),
                    AlterUserScramCredentialsRequest.ScramCredentialUpsertion(name="b"),
                ],
            ),
            2,
        ),
    ],
)
def test_each_thing_that_was_asked_about_bears_the_error(request_: Request, things: int) -> None:
    told = errors_in(refusal(request_, APIS[request_.API_KEY].versions[-1], REFUSED))
    assert told == [ErrorCode.NOT_CONTROLLER] * things


def test_things_are_named_as_they_were_asked_about() -> None:
    quotas: Any = refusal(
        AlterClientQuotasRequest(
            entries=[
                AlterClientQuotasRequest.EntryData(
                    entity=[AlterClientQuotasRequest.EntityData(entity_type="ip", entity_name=None)]
                )
            ]
        ),
        1,
        REFUSED,
    )
    [entity] = quotas.entries[0].entity
    assert (entity.entity_type, entity.entity_name) == ("ip", None)
    assert quotas.entries[0].error_message == "somebody else leads"
    deleted: Any = refusal(
        DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=ID)]),
        6,
        REFUSED,
    )
    assert (deleted.responses[0].name, deleted.responses[0].topic_id) == (None, ID)


@pytest.mark.parametrize(
    "key",
    [
        key
        for key, api in APIS.items()
        if "controller" in api.listeners and key not in (ApiKey.ENVELOPE, ApiKey.FETCH_SNAPSHOT)
    ],
)
def test_every_api_has_a_refusal_that_can_be_written_in_every_version(key: ApiKey) -> None:
    for version in APIS[key].versions:
        answer = refusal(request_class(key)(), version, REFUSED)
        again = codec.decode(response_class(key), version, codec.encode(answer, version))
        assert isinstance(again, response_class(key))


def test_every_api_without_a_place_for_an_error_of_the_whole_has_one_for_each_thing() -> None:
    for key, api in APIS.items():
        if "controller" in api.listeners and "error_code" not in response_class(key).FIELDS:
            assert key in MIRRORED or key in OWN or key in (ApiKey.ENVELOPE, ApiKey.FETCH_SNAPSHOT)
