"""One connection with requests and replies in both directions (RocketMQ: ``NettyRemotingAbstract`` on a Channel).

Both ends send requests on the same connection. Each numbers its own (``opaque``), so a reply is matched only against
the requests of this end. A request is processed inside ``frame_received``: decode, process, encode, send, with no task
in between. Only a processor that must wait needs a task.

Simplified against RocketMQ: one event loop instead of a thread pool per kind of request, hence no queue of waiting
requests that could be rejected with SYSTEM_BUSY; back-pressure comes from the connection, which stops reading.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from engine.protocol.command.remoting_command import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    RemotingCommand,
    SerializeType,
    decode_command,
    encode_command,
)
from engine.protocol.errors import MalformedFrame, ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import (
    RemotingReplyUnreadable,
    RemotingSendFailed,
    RemotingTimeout,
    RemotingTooManyRequests,
    RequestRefused,
)
from engine.remoting.waiting import call_and_wait, wait_and_answer
from engine.runtime.port import DiskFault

if TYPE_CHECKING:
    from engine.runtime.port import Connection

logger = logging.getLogger("glassmq.remoting")

#: The maximum number of unanswered calls of one end on a connection (RocketMQ: 65535 permits for asynchronous calls).
MAX_PENDING_CALLS: Final = 65_535
#: The maximum number of a connection's requests that wait inside processors; beyond it they are answered SYSTEM_BUSY.
MAX_WAITING_REQUESTS: Final = 10_000
_OPAQUE_MASK: Final = 0x7FFF_FFFF

#: A processor is called synchronously with the channel and the request. It returns the reply; or an awaitable of it if
#: it must wait (for a disk, for a replica); or None if there is nothing to reply, or if it calls
#: ``channel.send_command`` itself later (long polling).
Processor = Callable[["Channel", RemotingCommand], RemotingCommand | Awaitable[RemotingCommand | None] | None]


class Channel:
    """One end of a connection. Implements ``FrameHandler`` of the runtime port.

    :param find_processor: returns the processor of a request code.
    """

    def __init__(
        self,
        find_processor: Callable[[int], Processor],
        on_closed: Callable[[Channel], None] | None = None,
    ) -> None:
        self._find_processor = find_processor
        self._on_closed = on_closed
        self._connection: Connection | None = None
        self._opaque = 0
        self._pending: dict[int, asyncio.Future[RemotingCommand]] = {}
        self._waiting: dict[asyncio.Task[None], None] = {}
        self.remote_address = ""
        self.local_address = ""
        self.closed_reason: str | None = None
        self.frames_in = 0
        self.frames_out = 0
        #: Language and protocol version that the peer stated in its last request.
        self.peer_language = 0
        self.peer_version = 0
        #: The account of the peer's last accepted request; a broker with access rules sets it.
        self.signed_for = ""

    # --- FrameHandler ---------------------------------------------------------------------------------------------

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection
        self.remote_address = connection.remote_address
        self.local_address = connection.local_address

    def frame_received(self, frame: bytes) -> None:
        self.frames_in += 1
        try:
            command = decode_command(frame)
        except MalformedFrame as error:
            self._take_malformed(error)
            return
        if command.flag & RESPONSE_FLAG:
            self._take_reply(command)
        else:
            self._process(command)

    def command_received(self, command: RemotingCommand) -> None:
        """Handle a frame that was already decoded in front of this channel."""
        self.frames_in += 1
        if command.flag & RESPONSE_FLAG:
            self._take_reply(command)
        else:
            self._process(command)

    def _take_malformed(self, error: MalformedFrame) -> None:
        """Answer a malformed frame if its number is known, and continue: the start of the next frame is known in any
        case.
        """
        head = error.head
        if head is None:
            logger.warning("closing %s: %s", self.remote_address, error)
            self.close()
        elif head.flag & RESPONSE_FLAG:
            future = self._pending.pop(head.opaque, None)
            if future is not None and not future.done():
                future.set_exception(RemotingReplyUnreadable(f"{self.remote_address} replied, but {error}"))
        else:
            kind = SerializeType.ROCKETMQ if head.is_binary else SerializeType.JSON
            request = RemotingCommand(0, head.opaque, head.flag, serialize_type=kind)
            self.reply_to(request, request.reply(ResponseCode.SYSTEM_ERROR, str(error)))

    def connection_lost(self, reason: str) -> None:
        self.closed_reason = reason
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(
                    RemotingSendFailed(f"connection to {self.remote_address} lost before the reply: {reason}")
                )
        if self._on_closed is not None:
            self._on_closed(self)

    # --- requests of the other end --------------------------------------------------------------------------------

    def _process(self, request: RemotingCommand) -> None:
        self.peer_language = request.language
        self.peer_version = request.version
        try:
            result = self._find_processor(request.code)(self, request)
        except Exception as error:
            result = self.answer_to_failure(request, error)
        if result is None:
            return
        if type(result) is RemotingCommand:
            if not request.flag & ONEWAY_FLAG:
                self.send_command(result)
            return
        self._answer_later(request, result)  # type: ignore[arg-type]  # the union is narrowed by the exact type above

    def _answer_later(self, request: RemotingCommand, result: Awaitable[RemotingCommand | None]) -> None:
        if len(self._waiting) >= MAX_WAITING_REQUESTS:
            asyncio.ensure_future(result).cancel()
            busy = f"[OVERLOAD]{MAX_WAITING_REQUESTS} requests of this connection wait already"
            self.reply_to(request, request.reply(ResponseCode.SYSTEM_BUSY, busy))
            return
        waiting = wait_and_answer(self, request.without_content(), result)
        task = asyncio.get_running_loop().create_task(waiting)
        self._waiting[task] = None
        task.add_done_callback(self._forget_waiting)

    def _forget_waiting(self, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task, None)

    def answer_to_failure(self, request: RemotingCommand, error: Exception) -> RemotingCommand:
        """Return the reply for an ``error`` that kept a processor from answering."""
        if isinstance(error, RequestRefused):
            return request.reply(error.code, error.remark)
        if isinstance(error, ProtocolError):
            return request.reply(ResponseCode.SYSTEM_ERROR, str(error))
        if isinstance(error, DiskFault):
            logger.error("request %d of %s: %s", request.code, self.remote_address, error)
            return request.reply(ResponseCode.SYSTEM_ERROR, str(error))
        logger.error("request %d of %s failed", request.code, self.remote_address, exc_info=error)
        return request.reply(ResponseCode.SYSTEM_ERROR, f"internal error: {type(error).__name__}: {error}")

    def reply_to(self, request: RemotingCommand, response: RemotingCommand) -> None:
        """Send ``response`` unless ``request`` was oneway, which is never answered."""
        if not request.flag & ONEWAY_FLAG:
            self.send_command(response)

    # --- sending --------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Return True between the connection's start and its end."""
        return self._connection is not None and self.closed_reason is None and not self._connection.is_closing

    @property
    def unsent_bytes(self) -> int:
        """Return the number of bytes that wait for the other end to read."""
        return 0 if self._connection is None else self._connection.unsent_bytes

    @property
    def has_room(self) -> bool:
        """Return False while the other end has not read its share: then unrequested frames have to wait."""
        connection = self._connection
        return connection is None or connection.is_closing or connection.has_room

    def send_command(self, command: RemotingCommand) -> None:
        """Send ``command`` as it is: a response, or a request whose opaque is set. It is lost if the connection is."""
        if self._connection is None or self.closed_reason is not None:
            return
        frame = encode_command(command)
        self.frames_out += 1
        self._connection.send_frame(frame)

    def send_oneway(self, command: RemotingCommand) -> None:
        """Send a request without a reply."""
        command.opaque = self._next_opaque()
        command.flag |= ONEWAY_FLAG
        self.send_command(command)

    def call(self, command: RemotingCommand, timeout_ms: int) -> Coroutine[Any, Any, RemotingCommand]:
        """Send a request and wait for its reply.

        Raises :class:`RemotingTimeout` after ``timeout_ms``, :class:`RemotingSendFailed` if the connection is or gets
        lost, :class:`RemotingTooManyRequests` beyond :data:`MAX_PENDING_CALLS`.
        """
        return call_and_wait(self, command, timeout_ms)

    def begin_call(
        self, command: RemotingCommand, timeout_ms: int
    ) -> tuple[asyncio.Future[RemotingCommand], asyncio.TimerHandle]:
        """Send a request; return the future of its reply, and the timer of its timeout. Raises as :meth:`call`
        immediately.
        """
        if not self.is_open:
            raise RemotingSendFailed(f"connection to {self.remote_address} is closed: {self.closed_reason}")
        if len(self._pending) >= MAX_PENDING_CALLS:
            raise RemotingTooManyRequests(f"{MAX_PENDING_CALLS} calls to {self.remote_address} wait already")
        loop = asyncio.get_running_loop()
        command.opaque = opaque = self._next_opaque()
        reply: asyncio.Future[RemotingCommand] = loop.create_future()
        self._pending[opaque] = reply
        timer = loop.call_later(timeout_ms / 1000, self._time_out, opaque, timeout_ms)
        self.send_command(command)
        return reply, timer

    def forget_call(self, opaque: int) -> None:
        """Stop waiting for a reply."""
        self._pending.pop(opaque, None)

    def close(self) -> None:
        """Close the connection after everything queued was sent."""
        if self._connection is not None:
            self._connection.close()

    def _next_opaque(self) -> int:
        self._opaque = (self._opaque + 1) & _OPAQUE_MASK
        return self._opaque

    def _time_out(self, opaque: int, timeout_ms: int) -> None:
        future = self._pending.pop(opaque, None)
        if future is not None and not future.done():
            future.set_exception(RemotingTimeout(f"no reply from {self.remote_address} within {timeout_ms} ms"))

    def _take_reply(self, response: RemotingCommand) -> None:
        future = self._pending.pop(response.opaque, None)
        if future is None:
            logger.debug("%s replied to %d, which nobody waits for", self.remote_address, response.opaque)
        elif not future.done():
            future.set_result(response)
