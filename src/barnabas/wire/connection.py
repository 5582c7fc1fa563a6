"""The two ends of a connection, without the connection: bytes in, messages out, and back.

::

    server = ServerConnection(served)                    client = ClientConnection("my-client")
    consumed, requests, error = server.receive(data)     client.send(FetchRequest(...), 12)
    server.reply(requests[0], FetchResponse(...))        consumed, responses, error = ...
    transport.send(server.to_send())                     transport.send(client.to_send())

Whoever owns the transport shows ``receive`` all bytes that were not consumed yet, and sends what
``to_send`` returns after every call.  Nothing here copies record data: a request's records are
views of the bytes shown, and a response's are handed on in parts.

The server keeps the protocol's one promise about order: answers leave in the order of their
requests, whatever the order in which they become ready.  The client checks it.

Bad bytes are returned, not raised, because requests may stand before them in the same bytes; they
are good and may be answered.  An end that has returned an error takes nothing more: close the
connection when what is to be sent has been sent.

Non-obvious:

- An ApiVersions request of a version that we do not serve is answered here, in version 0 and with
  our versions of ApiVersions, whatever its body is: that is how clients find a common version
  (KIP-511).  Any other version that is not served is an error, as in Kafka.
- A client that reads such an answer asked in a later version; the answer is still version 0.
- A produce request with acks=0 has no answer at all: ``reply(request, None)``, ``send(...,
  answered=False)``.
- A frame that is claimed to be large costs nothing until its bytes arrive: ``wanted_bytes`` says
  how many bytes ``receive`` would like to see at once, and the transport grows its buffer with
  what has come.
"""

from collections import deque
from typing import Any, Final

from barnabas.model.errors import ErrorCode, RemoteProtocolError
from barnabas.wire.apis import APIS, Api, ApiKey, ServedApis, request_class, response_class
from barnabas.wire.codec import decode, decoder
from barnabas.wire.frames import (
    FRAME_BYTES_MAX,
    REQUEST_BYTES_MIN,
    RESPONSE_BYTES_MIN,
    SIZE_BYTES,
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
    split,
)
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.structs import Request, Response


class IncomingRequest:
    """A request as the server sees it, and the place of its answer."""

    __slots__ = ("answer", "api", "client_id", "correlation_id", "message", "version")

    def __init__(
        self, api: Api, version: int, correlation_id: int, client_id: str, message: Request
    ) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.message = message
        self.answer: list[Any] | None = None
        """The frame to send, in parts; None until there is one."""

    def __repr__(self) -> str:
        return (
            f"{self.api.name} v{self.version} #{self.correlation_id} "
            f"from {self.client_id!r}: {self.message!r}"
        )


class ServerConnection:
    """The side that is asked."""

    def __init__(self, served: ServedApis, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.served = served
        self.frame_bytes_max = frame_bytes_max
        self.wanted_bytes = SIZE_BYTES
        """How many bytes must be there before the next frame is whole."""
        self.error: RemoteProtocolError | None = None
        self.unanswered: deque[IncomingRequest] = deque()

    def receive(
        self, data: memoryview
    ) -> tuple[int, list[IncomingRequest], RemoteProtocolError | None]:
        """Take the whole frames; return how many bytes they are, and their requests.

        After an error all bytes count as taken: nothing that follows can be trusted.
        """
        requests: list[IncomingRequest] = []
        if self.error is not None:
            return len(data), requests, self.error
        frames, consumed, self.wanted_bytes, error = split(
            data, self.frame_bytes_max, REQUEST_BYTES_MIN
        )
        try:
            for frame in frames:
                request = self.read(frame)
                self.unanswered.append(request)
                if request.answer is None:
                    requests.append(request)
        except RemoteProtocolError as bad_frame:
            error = bad_frame
        if error is not None:
            self.error = error
            consumed = len(data)
        return consumed, requests, error

    def read(self, frame: memoryview) -> IncomingRequest:
        """Read one request."""
        api, version, correlation_id, client_id, pos = read_request_header(frame)
        if api.key not in self.served.apis:
            raise RemoteProtocolError(f"{api.name} is not served by this {self.served.listener}")
        if version not in api.versions:
            return self.refuse_version(api, version, correlation_id, client_id)
        message, end = decoder(request_class(api.key), version)(frame, pos)
        if end != len(frame):
            raise RemoteProtocolError(
                f"{api.name} v{version}: ends after {end} of {len(frame)} bytes"
            )
        return IncomingRequest(api, version, correlation_id, client_id, message)

    def refuse_version(
        self, api: Api, version: int, correlation_id: int, client_id: str
    ) -> IncomingRequest:
        """Answer ApiVersions in version 0; refuse to go on with anything else."""
        if api.key is not ApiKey.API_VERSIONS:
            first, last = api.versions.start, api.versions.stop - 1
            raise RemoteProtocolError(f"{api.name} v{version}: {first} to {last} are served")
        request = IncomingRequest(api, 0, correlation_id, client_id, ApiVersionsRequest())
        ours = ApiVersionsResponse.ApiVersion(
            api_key=api.key,
            min_version=api.versions.start,
            max_version=api.versions.stop - 1,
        )
        answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[ours])
        request.answer = response_frame(answer, 0, correlation_id)
        return request

    def reply(self, request: IncomingRequest, response: Response | None) -> None:
        """Answer a request; None if it is one that gets no answer."""
        assert request.answer is None, f"{request.api.name} was answered twice"
        request.answer = (
            []
            if response is None
            else response_frame(response, request.version, request.correlation_id)
        )

    def to_send(self) -> list[Any]:
        """Return the parts that may leave now, in the order of the requests."""
        unanswered = self.unanswered
        parts: list[Any] = []
        while unanswered and unanswered[0].answer is not None:
            parts += unanswered.popleft().answer or ()
        return parts


class IncomingResponse:
    """An answer as the client sees it."""

    __slots__ = ("api", "correlation_id", "message", "version")

    def __init__(self, api: Api, version: int, correlation_id: int, message: Response) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.message = message

    def __repr__(self) -> str:
        return f"answer to {self.api.name} v{self.version} #{self.correlation_id}: {self.message!r}"


class ClientConnection:
    """The side that asks."""

    def __init__(self, client_id: str | None, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.client_id = client_id
        self.frame_bytes_max = frame_bytes_max
        self.wanted_bytes = SIZE_BYTES
        """How many bytes must be there before the next frame is whole."""
        self.error: RemoteProtocolError | None = None
        self.next_correlation_id = 0
        self.awaited: deque[tuple[int, Api, int]] = deque()
        """What was asked: correlation id, API and version, in the order of the answers."""
        self.outgoing: list[Any] = []

    def send(self, request: Request, version: int, answered: bool = True) -> int:
        """Ask; return the correlation id.  A request that gets no answer must say so."""
        correlation_id = self.next_correlation_id
        self.outgoing += request_frame(request, version, correlation_id, self.client_id)
        # Nothing is remembered of a request that could not be written.
        self.next_correlation_id = (correlation_id + 1) & CORRELATION_ID_MAX
        if answered:
            self.awaited.append((correlation_id, APIS[request.API_KEY], version))
        return correlation_id

    def to_send(self) -> list[Any]:
        """Return the parts that were not returned yet."""
        parts, self.outgoing = self.outgoing, []
        return parts

    def receive(
        self, data: memoryview
    ) -> tuple[int, list[IncomingResponse], RemoteProtocolError | None]:
        """Take the whole frames; return how many bytes they are, and their responses.

        After an error all bytes count as taken: nothing that follows can be trusted.
        """
        responses: list[IncomingResponse] = []
        if self.error is not None:
            return len(data), responses, self.error
        frames, consumed, self.wanted_bytes, error = split(
            data, self.frame_bytes_max, RESPONSE_BYTES_MIN
        )
        try:
            for frame in frames:
                responses.append(self.read(frame))  # noqa: PERF401 -- what stands before an error is kept
        except RemoteProtocolError as bad_frame:
            error = bad_frame
        if error is not None:
            self.error = error
            consumed = len(data)
        return consumed, responses, error

    def read(self, frame: memoryview) -> IncomingResponse:
        """Read one answer, which must be the one that is due."""
        if not self.awaited:
            raise RemoteProtocolError("an answer came to no question")
        expected, api, version = self.awaited.popleft()
        correlation_id, pos = read_response_header(frame, api, version)
        if correlation_id != expected:
            raise RemoteProtocolError(
                f"answer #{correlation_id} came where #{expected} was due ({api.name} v{version})"
            )
        kind = response_class(api.key)
        body = frame[pos:]
        try:
            message = decode(kind, version, body)
        except RemoteProtocolError:
            # A server that does not know the version of an ApiVersions request answers in
            # version 0, and a client must be ready for that.
            if api.key is not ApiKey.API_VERSIONS or version == 0:
                raise
            message, version = decode(kind, 0, body), 0
        return IncomingResponse(api, version, correlation_id, message)


CORRELATION_ID_MAX: Final = 0x7FFFFFFF
"""Correlation ids start again from 0 behind the largest positive int32."""
