"""A request refused as a whole: the answer of each API that says so, as Kafka's has it.

Most answers have one place for an error.  Those to requests about many things have one for each
thing, and then all of them bear the same error: whoever asked finds it where it looks.  An answer
names each thing by the same fields as the request does, so most are made by copying those.

Handlers use it for what is not about any one thing: NOT_CONTROLLER above all.

Fixed by ``getErrorResponse`` of Kafka's requests.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from barnabas.model.errors import Refused
from barnabas.wire.apis import ApiKey, response_class
from barnabas.wire.layout import parse_versions
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.wire.structs import ArrayOf, Request, Response, Struct, StructOf

Fields = dict[str, Any]
"""Fields of a response or of a part of it, by name, as its class takes them."""

MIRRORED: Final[Mapping[ApiKey, tuple[str, str]]] = {
    ApiKey.CREATE_TOPICS: ("topics", "topics"),
    ApiKey.CREATE_PARTITIONS: ("topics", "results"),
    ApiKey.ALTER_CONFIGS: ("resources", "responses"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("resources", "responses"),
    ApiKey.DESCRIBE_CONFIGS: ("resources", "results"),
    ApiKey.ALTER_CLIENT_QUOTAS: ("entries", "entries"),
    ApiKey.CREATE_ACLS: ("creations", "results"),
    ApiKey.DELETE_ACLS: ("filters", "filter_results"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("topics", "responses"),
}
"""Where a request names the things that it is about, and where the answer does."""


def refusal(request: Request, version: int, refused: Refused) -> Response:
    """Return the answer that refuses a request of some version as a whole."""
    key = ApiKey(request.API_KEY)
    response = response_class(key)
    fields = {
        # The first version of some has no place for an error of the whole.
        name: content
        for name, content in error_of(response, refused).items()
        if version in parse_versions(response.FIELDS[name].versions)
    }
    if key in OWN:
        fields |= OWN[key](request, refused)
    elif key in MIRRORED:
        asked, told = MIRRORED[key]
        fields[told] = mirrored(getattr(request, asked), response, told, refused)
    return response(**fields)


def error_of(struct: type[Struct], refused: Refused) -> Fields:
    """Return the fields in which a struct tells an error, if it does."""
    error: Fields = {"error_code": refused.code, "error_message": refused.why}
    return {name: content for name, content in error.items() if name in struct.FIELDS}


def mirrored(
    items: Sequence[Struct], response: type[Struct], name: str, refused: Refused
) -> list[Struct]:
    """Return what a field of a response says of the things that a request named."""
    struct = element_of(response, name)
    results = []
    for item in items:
        fields = error_of(struct, refused)
        for each in struct.FIELDS.keys() & item.FIELDS.keys():
            inner = getattr(item, each)
            if isinstance(struct.FIELDS[each].kind, ArrayOf):
                inner = mirrored(inner, struct, each, refused)
            fields[each] = inner
        results.append(struct(**fields))
    return results


def element_of(struct: type[Struct], name: str) -> type[Struct]:
    """Return the class of what a field repeats."""
    kind = struct.FIELDS[name].kind
    assert isinstance(kind, ArrayOf), f"{struct.__name__}.{name} repeats nothing"
    assert isinstance(kind.element, StructOf), f"{struct.__name__}.{name} repeats no struct"
    return cast(type[Struct], getattr(struct.MESSAGE, kind.element.name))


# --- Those that name things otherwise than they were asked ----------------------------------------


def delete_topics(request: DeleteTopicsRequest, refused: Refused) -> Fields:
    """Refuse each topic, by whatever it was named."""
    result = DeleteTopicsResponse.DeletableTopicResult
    error = error_of(result, refused)
    named = [result(name=name, **error) for name in request.topic_names]
    told = [result(name=it.name, topic_id=it.topic_id, **error) for it in request.topics]
    return {"responses": named + told}


def alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, refused: Refused
) -> Fields:
    """Refuse each user."""
    result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    users = {it.name for it in request.deletions} | {it.name for it in request.upsertions}
    error = error_of(result, refused)
    return {"results": [result(user=user, **error) for user in sorted(users)]}


def elect_leaders(request: ElectLeadersRequest, refused: Refused) -> Fields:
    """Refuse each partition; of "all of them" there is nothing to name."""
    result = ElectLeadersResponse.PartitionResult
    error = error_of(result, refused)
    return {
        "replica_election_results": [
            ElectLeadersResponse.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[result(partition_id=it, **error) for it in topic.partitions],
            )
            for topic in request.topic_partitions or ()
        ]
    }


OWN: Final[Mapping[ApiKey, Callable[[Any, Refused], Fields]]] = {
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
    ApiKey.ELECT_LEADERS: elect_leaders,
}
