"""Requests: messages sent with a wait for the reply (RocketMQ: ``DefaultMQProducerImpl.request``, and the part of
``ClientRemotingProcessor`` that takes replies)::

    request ── CORRELATION_ID, REPLY_TO_CLIENT, TTL ──> topic ──> one consumer of the responding group
    reply   <── 326 to the connection of REPLY_TO_CLIENT <── broker <── 325 ── the same consumer

It is a remote call over topics: the responder may be any member of a group, may be offline for a while, and may receive
the request twice. The requester must stay connected: otherwise the reply is lost.

Different from RocketMQ: an asynchronous request calls back once. In RocketMQ the callback is also called as soon as the
request is *sent*, without a message (``executeRequestCallback`` in ``onSuccess`` of the send).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from engine.client.callbacks.send_result import SendResult
from engine.client.foundation.errors import ClientNotRunning, MQClientError, RequestFailed
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.producer.request_future_table import (
    FIRST_SCAN_AFTER_MS,
    SCAN_INTERVAL_MS,
    RequestFutureTable,
    RequestResponseFuture,
)
from engine.protocol.command.headers import ReplyMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_ARRIVE_TIME,
    PROPERTY_CORRELATION_ID,
    PROPERTY_REPLY_TO_CLIENT,
    PROPERTY_TTL,
    decode_properties,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import MESSAGE_COMPRESSED
from engine.remoting.channel import Channel
from engine.runtime.future_waits import all_ended, shield

_log = logging.getLogger("glassmq.client")

#: A callback for the reply and None, or None and the error; a plain or a coroutine function.
RequestCallback = Callable[[MessageExt | None, Exception | None], Any]
#: Sends the request within the remaining milliseconds.
SendRequest = Callable[[int], Awaitable[SendResult]]


class Requester:
    """The requests of one producer.

    :param find_route: requests the route of a topic, raising :class:`MQClientError` if it has no route.
    :param waiting_max: the maximum number of waiting requests.
    """

    def __init__(
        self, instance: MQClientInstance, find_route: Callable[[str], Awaitable[object]], waiting_max: int
    ) -> None:
        self._instance = instance
        self._find_route = find_route
        self._correlation_ids = instance.runtime.random_for("correlation ids")
        self._table = RequestFutureTable(instance.runtime.clock, waiting_max)
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._heartbeat: asyncio.Task[None] | None = None
        self._scans = False
        instance.remoting_client.register_processor(
            RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, self.push_reply_message_to_client
        )

    @property
    def waiting(self) -> int:
        """Return how many requests have no reply yet."""
        return len(self._table)

    def mark(self, message: Message, timeout_ms: int) -> str:
        """Turn ``message`` into a request (``prepareSendRequest``). Return its correlation id, a random UUID."""
        digits = f"{self._correlation_ids.getrandbits(128):032x}"
        variant = "89ab"[int(digits[16], 16) % 4]
        correlation_id = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
        message.properties[PROPERTY_CORRELATION_ID] = correlation_id
        message.properties[PROPERTY_REPLY_TO_CLIENT] = self._instance.client_id
        message.properties[PROPERTY_TTL] = str(timeout_ms)
        return correlation_id

    async def request(self, correlation_id: str, topic: str, send: SendRequest, timeout_ms: int) -> MessageExt:
        """Send, and wait for the reply.

        Raises :class:`~engine.client.foundation.errors.RequestTimedOut` if none arrives within ``timeout_ms``,
        including the send; :class:`~engine.client.foundation.errors.TooManyPendingRequests`; and what the send raises.
        """
        pending = self._table.put(correlation_id, topic, timeout_ms)
        try:
            await self._send(pending, send)
            try:
                async with asyncio.timeout(self._left_ms(pending) / 1_000):
                    return await pending.response
            except TimeoutError:
                raise pending.timed_out() from None
        finally:
            self._table.take(correlation_id)

    def request_async(
        self, correlation_id: str, topic: str, send: SendRequest, callback: RequestCallback, timeout_ms: int
    ) -> None:
        """Send as ``request`` does; ``callback`` is called once with the outcome.

        A missing reply is detected by a scan once a second, so up to a second late, as in RocketMQ. Raises
        :class:`~engine.client.foundation.errors.TooManyPendingRequests`.
        """
        pending = self._table.put(correlation_id, topic, timeout_ms)
        if not self._scans:
            # RocketMQ scans from the start of the first producer on, even without requests.
            self._scans = True
            scan = self._table.scan_expired_requests
            self._instance.background.every(SCAN_INTERVAL_MS, scan, "request scan", FIRST_SCAN_AFTER_MS)
        task = asyncio.create_task(self._run(pending, send, callback), name="request")
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def fail_all(self) -> None:
        """Fail all requests, because the producer shuts down."""
        error = ClientNotRunning("the producer was shut down before the reply came")
        error.outcome_is_known = False  # it may have been sent, and its reply will be discarded
        self._table.fail_all(error)

    async def finish(self) -> None:
        """Wait until the callbacks of asynchronous requests have been called."""
        await all_ended(self._tasks)

    async def _run(self, pending: RequestResponseFuture, send: SendRequest, callback: RequestCallback) -> None:
        reply: MessageExt | None = None
        failure: Exception | None = None
        try:
            await self._send(pending, send)
            reply = await pending.response
        except Exception as error:  # a user's selector may raise anything
            failure = error
        self._table.take(pending.correlation_id)
        try:
            await self._instance.runtime.call_listener(callback, reply, failure)
        except Exception:
            _log.exception("the callback of a request failed")

    async def _send(self, pending: RequestResponseFuture, send: SendRequest) -> None:
        try:
            await self._make_reachable(pending.topic)
            left_ms = self._left_ms(pending)
            if left_ms <= 0:
                raise RequestFailed(
                    f"the request to topic {pending.topic!r} ran out of its {pending.timeout_ms} ms before it was sent",
                    outcome_is_known=True,
                )
            await send(left_ms)
        except MQClientError:
            # The reply may have arrived although the broker's reply to the send got lost.
            if not pending.response.done():
                raise

    def _left_ms(self, pending: RequestResponseFuture) -> int:
        return (pending.expires_us - self._instance.runtime.clock.monotonic_us()) // 1_000

    async def _make_reachable(self, topic: str) -> None:
        """Send a heartbeat to the brokers of ``topic``, which find the requester by its client id.

        RocketMQ sends it only when the topic's route is unknown: a request right after the first send, or after a
        broker's restart, gets no reply there.
        """
        await self._find_route(topic)
        instance = self._instance
        connected = instance.remoting_client.connected_addresses
        addresses = instance.route_table.brokers_of_topic(topic)
        if all(address in instance.broker_versions and address in connected for address in addresses):
            return
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = asyncio.create_task(instance.send_heartbeat_to_all_brokers(), name="heartbeat")
        await shield(self._heartbeat)

    # --- replies ---------------------------------------------------------------------------------------------------

    def push_reply_message_to_client(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Handle a reply (code 326). It is confirmed even if no request waits for it any more, as in RocketMQ."""
        try:
            reply = self._read(request)
        except ProtocolError as error:
            _log.warning("broker %s: a reply cannot be read: %s", channel.remote_address, error)
            return request.reply(ResponseCode.SYSTEM_ERROR, "process reply message fail")
        pending = self._table.take(reply.properties.get(PROPERTY_CORRELATION_ID))
        if pending is None:
            _log.warning("a reply of %s that nobody waits for: %s", reply.born_host, reply)
        else:
            pending.put_response(reply)
        return request.reply(ResponseCode.SUCCESS)

    def _read(self, request: RemotingCommand) -> MessageExt:
        header = ReplyMessageRequestHeader.decode(request.ext_fields)
        properties = decode_properties(header.properties or "")
        properties[PROPERTY_ARRIVE_TIME] = str(self._instance.runtime.clock.now_ms())
        body = request.body
        if header.sys_flag & MESSAGE_COMPRESSED:
            body = decompress_body(body, header.sys_flag)
        return MessageExt(
            topic=header.topic,
            body=body,
            properties=properties,
            queue_id=header.queue_id,
            queue_offset=0,
            commit_log_offset=0,
            born_timestamp=header.born_timestamp,
            born_host=header.born_host,
            store_timestamp=header.store_timestamp,
            store_host=header.store_host,
            flag=header.flag,
            reconsume_times=header.reconsume_times or 0,
        )
