"""SCRAM credentials as clients are told of them: that there are some, and never what they are.

Fixed by Kafka's ScramImage.java.
"""

from collections import Counter
from collections.abc import Mapping

from barnabas.metadata.image import MetadataImage
from barnabas.model.acls import Operation
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)


def describe(
    image: MetadataImage, request: DescribeUserScramCredentialsRequest, caller: Caller
) -> DescribeUserScramCredentialsResponse:
    """Answer DescribeUserScramCredentials; of all users, if none are named."""
    try:
        caller.check_cluster(Operation.DESCRIBE)
    except Refused as refused:
        return DescribeUserScramCredentialsResponse(
            error_code=refused.code, error_message=refused.why
        )
    found: dict[str, dict[int, int]] = {}
    for (mechanism, user), credential in image.scram.credentials.items():
        found.setdefault(user, {})[mechanism] = credential.iterations
    times = Counter(user.name for user in request.users or ()) or Counter(sorted(found))
    return DescribeUserScramCredentialsResponse(
        results=[described(user, count, found.get(user, {})) for user, count in times.items()]
    )


def described(
    user: str, times: int, credentials: Mapping[int, int]
) -> DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult:
    """Return what is told of a user that was named so many times."""
    result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
    if times > 1:
        return result(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"Cannot describe SCRAM credentials for the same user twice: {user}",
        )
    if not credentials:
        return result(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    return result(
        user=user,
        credential_infos=[
            DescribeUserScramCredentialsResponse.CredentialInfo(
                mechanism=mechanism, iterations=iterations
            )
            for mechanism, iterations in sorted(credentials.items())
        ],
    )
