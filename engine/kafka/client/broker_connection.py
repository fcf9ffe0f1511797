"""A client's connection to a broker, and the requests on it (Kafka: ``NetworkClient`` for one node)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from engine.kafka.client.errors import Disconnected
from engine.kafka.client.in_flight_requests import ClientRequest, InFlightRequests
from engine.kafka.records.error_code import KafkaRefusal
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import correlation_id_of, decode_response, encode_request, key_of
from engine.runtime.port import ConnectFailed, Connection, Runtime

#: ``socket.connection.setup.timeout.ms``
CONNECT_TIMEOUT_MS = 10_000
#: ``reconnect.backoff.ms``. Kafka doubles it up to a second; here it stays.
RECONNECT_BACKOFF_MS = 50

_log = logging.getLogger("glassmq.kafka")


class BrokerConnection:
    """A connection that is opened when it is needed, and again after it was lost.

    :ivar unsent: requests that wait for it.
    :ivar in_flight: requests that were sent.
    :param news: called when a response has arrived or the connection is lost.
    """

    def __init__(
        self,
        runtime: Runtime,
        address: str,
        client_id: str,
        request_timeout_ms: int,
        connect_timeout_ms: int,
        max_in_flight: int,
        news: Callable[[], None],
    ) -> None:
        self.unsent: deque[ClientRequest] = deque()
        self.in_flight = InFlightRequests(max_in_flight)
        self._runtime = runtime
        self._address = address
        self._client_id = client_id
        self._request_timeout_ms = request_timeout_ms
        self._connect_timeout_ms = connect_timeout_ms
        self._news = news
        self._connection: Connection | None = None
        self._receiver: _Receiver | None = None
        self._answers: deque[bytes] = deque()
        self._lost: str | None = None
        self._connect_from_ms = 0

    @property
    def has_news(self) -> bool:
        """Return whether ``exchange`` has anything to report."""
        return bool(self._answers) or self._lost is not None

    async def connect(self) -> int:
        """Connect if not connected. Return how many requests have failed as a result."""
        if self._connection is not None:
            return 0
        wait_ms = self._connect_from_ms - self._runtime.clock.now_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1_000)
        self._connect_from_ms = self._runtime.clock.now_ms() + RECONNECT_BACKOFF_MS
        try:
            receiver = self._receiver = _Receiver(self)
            self._connection = await self._runtime.network.connect(self._address, receiver, self._connect_timeout_ms)
        except ConnectFailed as failure:
            _log.info("%s", failure)
            # None of these was sent, but their senders must not wait forever: they decide whether to try again.
            unsent = list(self.unsent)
            self.unsent.clear()
            return _report(unsent, Disconnected(str(failure)))
        return 0

    def exchange(self) -> int:
        """Send what may be sent and hand out responses. Return how many requests have completed."""
        return self._send_unsent() + self._hand_out()

    def _send_unsent(self) -> int:
        reported = 0
        while self.unsent and self._connection is not None and self.in_flight.can_send_more:
            request = self.unsent.popleft()
            request.sent_ms = self._runtime.clock.now_ms()
            self._connection.send_frame(encode_request(request.request, request.correlation_id, self._client_id))
            if request.needs_answer:
                self.in_flight.add(request)
            else:
                reported += _report([request], None)
        return reported

    def _hand_out(self) -> int:
        reported = 0
        while self._answers:
            frame = self._answers.popleft()
            if not self._answers_oldest(frame):
                # Nothing that comes after it can be trusted (Kafka: ``CorrelationIdMismatchException``).
                _log.warning("%s answered a request other than the oldest one", self._address)
                return reported + self.close()
            request = self.in_flight.complete_next()
            try:
                answer: KafkaMessage | Disconnected = decode_response(frame, key_of(request.request))
            except KafkaRefusal as refusal:
                answer = Disconnected(f"an unreadable answer: {refusal}")
            reported += _report([request], answer)
        if self.deadline_ms() <= 0:
            reported += self.close()
        if self._lost is not None:
            reported += self._lose(self._lost)
        return reported

    def _answers_oldest(self, frame: bytes) -> bool:
        try:
            return correlation_id_of(frame) in [one.correlation_id for one in self.in_flight.requests[:1]]
        except KafkaRefusal:
            return False

    def deadline_ms(self) -> int:
        """Return the ms until the oldest request times out."""
        requests = self.in_flight.requests
        if not requests:
            return self._request_timeout_ms
        return requests[0].sent_ms + self._request_timeout_ms - self._runtime.clock.now_ms()

    def close(self) -> int:
        """Close the connection. Return how many requests have failed with :class:`Disconnected`."""
        if self._connection is not None:
            self._connection.close()
        reported = self._lose("closed by this end")
        unsent = list(self.unsent)
        self.unsent.clear()
        return reported + _report(unsent, Disconnected("closed before it was sent"))

    def _lose(self, reason: str) -> int:
        if self._receiver is not None:
            self._receiver.connection = None
        self._connection = None
        self._lost = None
        self._answers.clear()
        return _report(self.in_flight.clear(), Disconnected(f"connection to {self._address} lost: {reason}"))

    # --- called by the connection ------------------------------------------------------------------------------------

    def answer_arrived(self, frame: bytes) -> None:
        """Handle a response frame, given without its length."""
        self._answers.append(frame)
        self._news()

    def connection_ended(self, reason: str) -> None:
        """Note that the connection is lost."""
        self._lost = reason
        self._news()


def _report(requests: list[ClientRequest], answer: KafkaMessage | Disconnected | None) -> int:
    for request in requests:
        request.answered(answer)
    return len(requests)


class _Receiver:
    """Receiver of one connection; frames of an older connection are ignored."""

    def __init__(self, connection: BrokerConnection) -> None:
        self.connection: BrokerConnection | None = connection

    def connection_made(self, connection: Connection) -> None: ...

    def frame_received(self, frame: bytes) -> None:
        if self.connection is not None:
            self.connection.answer_arrived(frame)

    def connection_lost(self, reason: str) -> None:
        if self.connection is not None:
            self.connection.connection_ended(reason)
            self.connection = None
