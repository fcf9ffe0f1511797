"""One client of a server of Kafka (Kafka: ``Processor`` of ``SocketServer``): its requests are read, answered in their
order, and refused where they are not spoken here."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.wire.api_key import BETWEEN_BROKERS, VERSIONS, ApiKey
from engine.kafka.wire.cluster import ApiVersionRange, ApiVersionsResponse
from engine.kafka.wire.fetch import FetchRequest
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import UnspokenVersion, decode_request, encode_response
from engine.kafka.wire.produce import ProduceRequest
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Connection, DiskFault

#: Requests of one connection that wait for their turn. A client of Kafka has at most 5 on their way; one that has more
#: than this is disconnected.
REQUESTS_WAITING_MAX = 100

_log = logging.getLogger("glassmq.kafka")


def api_versions(code: KafkaErrorCode) -> ApiVersionsResponse:
    """What clients may say."""
    spoken = [ApiVersionRange(key, one, one) for key, one in VERSIONS.items() if key not in BETWEEN_BROKERS]
    return ApiVersionsResponse(code, tuple(spoken))


class ServerConnection:
    """Its requests are answered in their order: one that waits holds up the next one, as in Kafka.

    :param answer: what is done with a request; None: nobody waits for an answer.
    :param spoken: the requests that there are answers to.
    """

    def __init__(
        self,
        tasks: BackgroundTasks,
        answer: Callable[[KafkaMessage], Awaitable[KafkaMessage | None]],
        spoken: Collection[ApiKey],
    ) -> None:
        self._tasks = tasks
        self._answer_to = answer
        self._spoken = spoken
        self._connection: Connection | None = None
        self._waiting: deque[bytes] = deque()
        self._is_busy = False

    def connection_made(self, connection: Connection) -> None:
        """See the port."""
        self._connection = connection

    def connection_lost(self, reason: str) -> None:
        """See the port. What has come is done all the same, unless somebody wants to know how it ends: Kafka does not
        read on while it works on a request (it "mutes" the connection), and then finds nobody there."""
        self._connection = None

    def frame_received(self, frame: bytes) -> None:
        """See the port."""
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
            if header.api_key not in self._spoken:
                raise UnspokenVersion(header)
        except UnspokenVersion as refusal:
            if refusal.header.api_key == ApiKey.API_VERSIONS:
                # This one must be answered in whatever version it comes: the client learns what to speak.
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
            return  # nobody is there to wait for it
        try:
            response = await self._answer_to(request)
        except DiskFault as fault:
            self._close(str(fault))  # whoever asked does not know what became of it
            return
        if response is not None:
            self._send(encode_response(response, header.correlation_id))

    def _send(self, frame: bytes) -> None:
        if self._connection is not None:
            self._connection.send_frame(frame)

    def _close(self, reason: str) -> None:
        """Kafka does the same with a request that it cannot read: there is no answer that could say so."""
        if self._connection is not None:
            _log.warning("connection from %s closed: %s", self._connection.remote_address, reason)
            self._connection.close()
            self._connection = None
        self._waiting.clear()


def _wants_answer(request: KafkaMessage) -> bool:
    return isinstance(request, FetchRequest) or (isinstance(request, ProduceRequest) and request.acks != 0)
