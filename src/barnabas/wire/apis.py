"""Which APIs there are, and which versions of them a listener serves.

The table says what a broker or a controller *may* serve: the versions that Kafka 4.3 serves and
calls stable.  What a listener does serve is the part of it that somebody handles
(``ServedApis``), so an API is advertised when its handler exists and not before.

Non-obvious:

- ApiVersions tells clients that Produce is served from version 0.  It is not, but librdkafka
  takes a broker without Produce 0 for one that speaks no record batches (KAFKA-18659), and Kafka
  4 tells the same lie for the same reason.
- A header is flexible when its body is, with two exceptions that predate the rule: answers to
  ApiVersions never are, since a client must be able to read them before it knows anything, and
  ControlledShutdown 0 has a header without even a client id.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final, Literal, cast

from barnabas.model.value import value
from barnabas.wire.layout import parse_versions
from barnabas.wire.messages import message_class
from barnabas.wire.messages.index import APIS as ROWS
from barnabas.wire.messages.index import ApiKey
from barnabas.wire.structs import Request, Response

__all__ = [
    "APIS",
    "Api",
    "ApiKey",
    "Listener",
    "ServedApis",
    "request_class",
    "request_header_version",
    "response_class",
    "response_header_version",
]

Listener = Literal["broker", "controller"]
"""The two faces of a cluster: brokers serve clients, controllers serve brokers and operators."""


@value
class Api:
    """What is known of an API without loading its messages."""

    key: ApiKey
    name: str
    versions: range
    """What a listener may serve; the codec knows older ones too."""
    flexible: range
    listeners: frozenset[str]

    @property
    def advertised(self) -> range:
        """The versions that ApiVersions tells."""
        first = 0 if self.key is ApiKey.PRODUCE else self.versions.start
        return range(first, self.versions.stop)


APIS: Final[dict[int, Api]] = {
    key: Api(
        ApiKey(key), name, parse_versions(served), parse_versions(flexible), frozenset(listeners)
    )
    for key, name, served, flexible, listeners in ROWS
}


@cache
def request_class(key: ApiKey) -> type[Request]:
    """Return the class of an API's request, loading its module if need be."""
    return cast(type[Request], message_class(f"{APIS[key].name}Request"))


@cache
def response_class(key: ApiKey) -> type[Response]:
    """Return the class of an API's response, loading its module if need be."""
    return cast(type[Response], message_class(f"{APIS[key].name}Response"))


@cache
def request_header_version(key: int, version: int) -> int:
    """Say which header a request has: 2 has tags, 1 a client id, 0 neither."""
    if version in APIS[key].flexible:
        return 2
    return 0 if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0 else 1


@cache
def response_header_version(key: int, version: int) -> int:
    """Say which header a response has: 1 has tags, 0 has none."""
    return 1 if version in APIS[key].flexible and key != ApiKey.API_VERSIONS else 0


class ServedApis:
    """What one listener serves: the part of its table that is handled.

    One of these is shared by all connections of a listener.
    """

    def __init__(self, listener: Listener, handled: Iterable[ApiKey]) -> None:
        self.listener: Final = listener
        self.apis: Final = {key: APIS[key] for key in sorted(handled)}
        strange = [api.name for api in self.apis.values() if listener not in api.listeners]
        assert not strange, f"a {listener} does not serve {', '.join(strange)}"

    def advertised(self) -> list[tuple[ApiKey, range]]:
        """List what ApiVersions answers: keys in order, each with its versions."""
        return [(key, api.advertised) for key, api in self.apis.items()]
