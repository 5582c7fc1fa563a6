"""Requests to other nodes: one connection per address, made on demand and made again.

    ask ──▶ Question ──▶ Peer ──▶ Line ──▶ ClientConnection ──▶ the other node
                          │        ▲
                          └ queued ┘  until the line has agreed upon versions

    DOWN ──asked──▶ CONNECTING ──▶ NEGOTIATING ──▶ UP ──▶ DOWN
     ▲  after back-off   │              │                  ▲
     └───────────────────┴── failed ────┴───── lost ───────┘

A *question* is one request and whoever waits for its answer.  A *line* is one connection: many
questions may be on it, and it answers in their order.  A *peer* is an address: it has at most one
line, and keeps questions while that one is being made.

What can become of ``ask``:

the response          whatever its error code says
``Refused``           UNSUPPORTED_VERSION: the peer does not serve this, or not so that the request
                      can say what it means; nothing was sent
``TimeoutError``      no answer in time; it may have been done, or be done yet
``ConnectionError``   the connection could not be made, or was lost; the same
``OSError``           anything else that keeps one host from another (the three last are OSErrors)

Non-obvious:

- Answers are told apart by their order, so an answer that is overdue condemns the line: it is
  aborted, and all other questions on it fail too.  So do Kafka's clients.  A caller that lost
  interest changes nothing about that: the time it was given is the time the peer is given.
- While a line is being made, an impatient question only takes itself away.
- After a failure a peer is left alone for 50 ms, then twice as long each time, up to a second, give
  or take a fifth (``reconnect.backoff.ms``).  Questions wait that long, so whoever asks in a loop
  goes no faster.  A line that has agreed upon versions ends that row.
- A request that was sent is never sent again here: only who asked knows whether it may be.
"""

import asyncio
import errno
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, cast

import barnabas
from barnabas.model.errors import (
    ErrorCode,
    LocalProtocolError,
    Refused,
    UnsupportedVersionError,
)
from barnabas.model.value import value
from barnabas.net.versions import Agreement, next_version
from barnabas.runtime.clock import Timer
from barnabas.runtime.network import Address, Connection
from barnabas.runtime.runtime import Runtime
from barnabas.wire.codec import versions
from barnabas.wire.connection import ClientConnection
from barnabas.wire.frames import FRAME_BYTES_MAX
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.structs import Request, Response

API_VERSIONS_NEWEST: Final = versions(ApiVersionsRequest).stop - 1

SOFTWARE_NAME: Final = "barnabas"

# How far from its plan a back-off may be, in percent either way.
JITTER_PERCENT: Final = 20

log: Final = logging.getLogger("barnabas.net")


@value
class Patience:
    """How long a peer is given; the defaults are those of Kafka's clients."""

    connect_ms: int = 10_000
    """``socket.connection.setup.timeout.ms``, and again for the answer to ApiVersions."""
    backoff_ms: int = 50
    """``reconnect.backoff.ms``"""
    backoff_max_ms: int = 1_000
    """``reconnect.backoff.max.ms``"""
    idle_ms: int = 540_000
    """``connections.max.idle.ms``: less than a listener's, or a request could meet its end."""


KAFKAS_PATIENCE: Final = Patience()


class Peers:
    """The other nodes, as this one asks them."""

    def __init__(
        self,
        runtime: Runtime,
        client_id: str,
        *,
        patience: Patience = KAFKAS_PATIENCE,
        response_bytes_max: int = FRAME_BYTES_MAX,
    ) -> None:
        self.runtime: Final = runtime
        self.client_id: Final = client_id
        self.patience: Final = patience
        self.response_bytes_max: Final = response_bytes_max
        self.tasks: Final = runtime.tasks.child(f"peers-{client_id}")
        self._peers: Final[dict[Address, Peer]] = {}
        self._closed = False

    def __str__(self) -> str:
        return f"{self.runtime.tasks.name} {self.client_id}"

    async def ask(
        self,
        address: Address,
        request: Request,
        timeout_ms: int,
        worded: Callable[[int], Request] | None = None,
    ) -> Response:
        """Ask a node in the newest version that both know, and return its answer.

        ``worded`` is for a request that says less where the version turns out to be an old one.
        """
        try:
            return await self._asked(address, Question(request, None, worded), timeout_ms)
        except UnsupportedVersionError as why:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"{address}: {why}") from why

    async def ask_version(
        self, address: Address, request: Request, version: int, timeout_ms: int
    ) -> Response:
        """Ask in this version, whatever the node says it serves."""
        return await self._asked(address, Question(request, version), timeout_ms)

    async def close(self) -> None:
        """Ask no more: whoever waits gets a ``ConnectionAbortedError``."""
        self._closed = True
        await self.tasks.close()
        for peer in self._peers.values():
            peer.close()

    async def _asked(self, address: Address, question: "Question", timeout_ms: int) -> Response:
        if self._closed:
            raise closed_here(address)
        peer = self._peers.get(address)
        if peer is None:
            peer = self._peers[address] = Peer(self, address)
        peer.take(question, timeout_ms)
        return await question.answer


class Question:
    """A request and whoever waits for its answer."""

    __slots__ = ("answer", "request", "timer", "version", "worded")

    timer: Timer

    def __init__(
        self,
        request: Request,
        version: int | None,
        worded: Callable[[int], Request] | None = None,
    ) -> None:
        self.request: Final = request
        self.version: Final = version
        """The version asked for; None for the newest that both know."""
        self.worded: Final = worded
        """What to say in a version that was agreed upon, if that is not always the request."""
        self.answer: Final[asyncio.Future[Response]] = asyncio.get_running_loop().create_future()

    def answered(self, response: Response) -> None:
        """Hand over the answer."""
        self.timer.cancel()
        # Who asked may have been cancelled since.
        if not self.answer.done():
            self.answer.set_result(response)

    def failed(self, error: Exception) -> None:
        """Hand over why there is none."""
        self.timer.cancel()
        if not self.answer.done():
            self.answer.set_exception(error)


class Peer:
    """One address: at most one line, and the questions that wait for it."""

    def __init__(self, peers: Peers, address: Address) -> None:
        self.peers: Final = peers
        self.address: Final = address
        self.line: Line | None = None
        self._runtime: Final = peers.runtime
        self._patience: Final = peers.patience
        # Kept while there is no line to send on; ordered, the values say nothing.
        self._queued: Final[dict[Question, None]] = {}
        self._connecting = False
        self._failures = 0
        self._next_attempt_ms = 0

    def __str__(self) -> str:
        return f"{self.address}"

    def take(self, question: Question, timeout_ms: int) -> None:
        """Send a question as soon as that is possible; fail it when its time is up."""
        clock = self._runtime.clock
        question.timer = clock.call_at(
            clock.now_ms() + timeout_ms, lambda: self._overdue(question, timeout_ms)
        )
        line = self.line
        if line is not None and line.idle_for_ms() >= self._patience.idle_ms:
            line.hang_up()
            line = None
        if line is not None and line.agreement is not None:
            line.ask(question)
            return
        self._queued[question] = None
        if line is None and not self._connecting:
            self._connecting = True
            self.peers.tasks.spawn(self._connect(), f"connect-{self.address}")

    def agreed(self, line: "Line") -> None:
        """Send what has waited for this line."""
        probes = self._runtime.probes
        probes.trace("peers.up", host=self.address.host, port=self.address.port)
        if self._failures:
            log.info("[%s] up peer=%s failures=%s", self.peers, self, self._failures)
        self._failures = 0
        self._next_attempt_ms = 0
        queued = list(self._queued)
        self._queued.clear()
        for question in queued:
            if question.answer.done():
                # Who asked was cancelled while it waited: it need not be said at all.
                question.timer.cancel()
            else:
                line.ask(question)

    def down(self, number: int, why: str, expected: bool) -> None:
        """Do without a line: fail what has waited for it, and leave the peer alone for a while."""
        probes = self._runtime.probes
        probes.trace("peers.down", host=self.address.host, port=self.address.port)
        # The first failure is news, more of the same is not.
        level = logging.DEBUG if expected or self._failures else logging.INFO
        log.log(level, "[%s] down peer=%s why=%s", self.peers, self, why)
        self.line = None
        if not expected:
            self._next_attempt_ms = self._runtime.clock.now_ms() + self._backoff_ms()
            self._failures += 1
        queued = list(self._queued)
        self._queued.clear()
        for question in queued:
            question.failed(OSError(number, why))

    def close(self) -> None:
        """Fail everybody who waits and hang up."""
        for question in list(self._queued):
            question.failed(closed_here(self.address))
        self._queued.clear()
        if self.line is not None:
            self.line.hang_up()

    async def _connect(self) -> None:
        """Make a line, unless everybody has lost patience before it may be tried."""
        clock = self._runtime.clock
        if clock.now_ms() < self._next_attempt_ms:
            await clock.sleep_until(self._next_attempt_ms)
        self._connecting = False
        if not self._queued:
            return
        self.line = line = Line(self)
        try:
            await self._runtime.network.connect(self.address, line, self._patience.connect_ms)
        except OSError as error:
            self.down(error.errno or errno.ECONNRESET, error.strerror or str(error), False)

    def _backoff_ms(self) -> int:
        planned_ms = min(
            self._patience.backoff_max_ms, self._patience.backoff_ms << min(self._failures, 30)
        )
        jitter_ms = planned_ms * JITTER_PERCENT // 100
        return self._runtime.entropy.between(planned_ms - jitter_ms, planned_ms + jitter_ms)

    def _overdue(self, question: Question, timeout_ms: int) -> None:
        late = OSError(errno.ETIMEDOUT, f"{self} did not answer within {timeout_ms} ms")
        if question in self._queued:
            del self._queued[question]
            question.failed(late)
            return
        line = self.line
        assert line is not None, f"{question.request} to {self} is overdue and was not failed"
        question.failed(late)
        line.break_off(errno.ECONNABORTED, f"{self} left an earlier request unanswered")


class Line:
    """One connection to a peer, from the attempt to its end."""

    def __init__(self, peer: Peer) -> None:
        self.agreement: Agreement | None = None
        self._peer: Final = peer
        self._clock: Final = peer.peers.runtime.clock
        self._wire: Final = ClientConnection(peer.peers.client_id, peer.peers.response_bytes_max)
        self._connection: Connection | None = None
        # What was asked and not answered yet, in order.
        self._asked: Final[deque[Question]] = deque()
        self._active_ms = self._clock.now_ms()
        self._over = False
        # While versions are negotiated: the version asked in, and the end of our patience.
        self._negotiating_in = API_VERSIONS_NEWEST
        self._negotiation: Timer | None = None

    # ---- what the peer does with it

    def ask(self, question: Question) -> None:
        """Send a question, if it can be said."""
        assert self.agreement is not None
        request, version = question.request, question.version
        try:
            if version is None:
                version = self.agreement.version(request)
                if question.worded is not None:
                    request = question.worded(version)
            self._wire.send(request, version)
        except (Refused, LocalProtocolError) as why:
            question.failed(why)
            return
        self._asked.append(question)
        self._send()

    def idle_for_ms(self) -> int:
        """Return for how long nothing has been asked or answered; 0 while somebody waits."""
        if self.agreement is None or self._asked:
            return 0
        return self._clock.now_ms() - self._active_ms

    def break_off(self, number: int, why: str) -> None:
        """End because the peer does not keep its promises."""
        self._end(number, why, False)
        if self._connection is not None:
            self._connection.abort()

    def hang_up(self) -> None:
        """End because we want it."""
        self._end(errno.ECONNABORTED, f"the connection to {self._peer} was closed here", True)
        if self._connection is not None:
            self._connection.close()

    # ---- what the network does with it

    def opened(self, connection: Connection) -> None:
        """Begin to negotiate versions."""
        self._connection = connection
        if self._over:
            connection.close()
            return
        patience_ms = self._peer.peers.patience.connect_ms
        self._negotiation = self._clock.call_at(
            self._clock.now_ms() + patience_ms,
            lambda: self.break_off(
                errno.ETIMEDOUT,
                f"{self._peer} did not answer ApiVersions within {patience_ms} ms",
            ),
        )
        self._ask_versions()

    def received(self, data: memoryview) -> int:
        """Hand answers to whoever asked."""
        consumed, responses, error = self._wire.receive(data)
        self._active_ms = self._clock.now_ms()
        for response in responses:
            if self.agreement is not None:
                self._asked.popleft().answered(response.message)
            else:
                # There is one question at a time until there is an agreement.
                self._negotiated(cast(ApiVersionsResponse, response.message))
        if error is not None:
            self.break_off(errno.ECONNABORTED, f"{self._peer} broke the protocol: {error}")
        elif consumed < len(data) and self._connection is not None:
            self._connection.expect(self._wire.wanted_bytes)
        return consumed

    def closed(self, error: Exception | None) -> None:
        """Learn that the connection is over."""
        waiting = len(self._asked)
        self._end(
            errno.ECONNRESET,
            f"the connection to {self._peer} was lost with {waiting} requests unanswered: "
            f"{error or 'closed by the peer'}",
            error is None and not waiting and self.agreement is not None,
        )

    # ---- inside

    def _send(self) -> None:
        assert self._connection is not None
        self._active_ms = self._clock.now_ms()
        self._connection.send(self._wire.to_send())

    def _ask_versions(self) -> None:
        self._wire.send(
            ApiVersionsRequest(
                client_software_name=SOFTWARE_NAME, client_software_version=barnabas.__version__
            ),
            self._negotiating_in,
        )
        self._send()

    def _negotiated(self, response: ApiVersionsResponse) -> None:
        if response.error_code == ErrorCode.NONE:
            if self._negotiation is not None:
                self._negotiation.cancel()
            self.agreement = Agreement(response)
            self._peer.agreed(self)
            return
        version: int | None = None
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            version = next_version(self._negotiating_in, response)
        if version is None:
            code = response.error_code
            self.break_off(
                errno.ECONNABORTED,
                f"{self._peer} answered ApiVersions v{self._negotiating_in} with error {code}",
            )
            return
        self._negotiating_in = version
        self._ask_versions()

    def _end(self, number: int, why: str, expected: bool) -> None:
        """End once: fail who waits, tell the peer."""
        if self._over:
            return
        self._over = True
        if self._negotiation is not None:
            self._negotiation.cancel()
        self._peer.down(number, why, expected)
        while self._asked:
            self._asked.popleft().failed(OSError(number, why))


def closed_here(address: Address) -> OSError:
    """Return what is told to those who ask while nobody is asked any more."""
    return OSError(errno.ECONNABORTED, f"{address} is not asked: this node closes its connections")
