"""A server's end of a Kafka client's connection (Kafka: ``Processor`` of ``SocketServer``): requests are read and
answered in order, and unsupported ones are refused.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.wire.api_key import BETWEEN_BROKERS, VERSIONS, ApiKey
from engine.kafka.wire.cluster import ApiVersionRange, ApiVersionsResponse
from engine.kafka.wire.fetch import FetchRequest
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import UnsupportedVersion, decode_request, encode_response
from engine.kafka.wire.produce import ProduceRequest
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Connection, DiskFault

#: Most requests of one connection that wait for their turn. A Kafka client has at most 5 in flight; a client with more
#: than this is disconnected.
REQUESTS_WAITING_MAX = 100

_log = logging.getLogger("glassmq.kafka")


def api_versions(code: KafkaErrorCode) -> ApiVersionsResponse:
    """Return the requests and versions that clients may use."""
    supported = [ApiVersionRange(key, one, one) for key, one in VERSIONS.items() if key not in BETWEEN_BROKERS]
    return ApiVersionsResponse(code, tuple(supported))


class ServerConnection:
    """Answer a client's requests in order: one that waits delays the next, as in Kafka.

    :param answer: handles a request; returns None if no response is expected.
    :param supported: the requests that are supported.
    """

    def __init__(
        self,
        tasks: BackgroundTasks,
        answer: Callable[[KafkaMessage], Awaitable[KafkaMessage | None]],
        supported: Collection[ApiKey],
    ) -> None:
        self._tasks = tasks
        self._answer_to = answer
        self._supported = supported
        self._connection: Connection | None = None
        self._waiting: deque[bytes] = deque()
        self._is_busy = False

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection

    def connection_lost(self, reason: str) -> None:
        """Stop reading. Requests that have arrived are still carried out, unless a response is expected: Kafka does not
        read on while it works on a request (it "mutes" the connection), and then finds the client gone.
        """
        self._connection = None

    def frame_received(self, frame: bytes) -> None:
        if len(self._waiting) >= REQUESTS_WAITING_MAX:
            self._close(f"{len(self._waiting)} requests wait for their turn")
            return
        self._waiting.append(frame)
        if not self._is_busy:
            self._is_busy = True
            self._tasks.spawn(self._serve(), "answers a connection")

    async def _serve(self) -> None:
        try:
            while self._waiting:
                await self._answer(self._waiting.popleft())
        finally:
            self._is_busy = False

    async def _answer(self, frame: bytes) -> None:
        try:
            header, request = decode_request(frame)
            if header.api_key not in self._supported:
                raise UnsupportedVersion(header)
        except UnsupportedVersion as refusal:
            if refusal.header.api_key == ApiKey.API_VERSIONS:
                # This request must be answered in any version: the response says which versions to use.
                self._send(
                    encode_response(api_versions(KafkaErrorCode.UNSUPPORTED_VERSION), refusal.header.correlation_id)
                )
            else:
                self._close(str(refusal))
            return
        except KafkaRefusal as refusal:
            self._close(str(refusal))
            return
        if self._connection is None and _wants_answer(request):
            return  # no client is left to wait for it
        try:
            response = await self._answer_to(request)
        except DiskFault as fault:
            self._close(str(fault))  # the client does not know whether the request was carried out
            return
        if response is not None:
            self._send(encode_response(response, header.correlation_id))

    def _send(self, frame: bytes) -> None:
        if self._connection is not None:
            self._connection.send_frame(frame)

    def _close(self, reason: str) -> None:
        """Disconnect, as Kafka does after a request that it cannot read: no response could say so."""
        if self._connection is not None:
            _log.warning("connection from %s closed: %s", self._connection.remote_address, reason)
            self._connection.close()
            self._connection = None
        self._waiting.clear()


def _wants_answer(request: KafkaMessage) -> bool:
    return isinstance(request, FetchRequest) or (isinstance(request, ProduceRequest) and request.acks != 0)
