"""The client that calls servers, with one connection per address (RocketMQ: ``NettyRemotingClient``)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.protocol.command.remoting_command import RemotingCommand, SerializeType
from engine.protocol.enums import LanguageCode
from engine.remoting.channel import Channel, Processor
from engine.remoting.errors import RemotingConnectFailed, RemotingShutDown, RemotingTimeout
from engine.remoting.processor import ProcessorTable
from engine.runtime.background_tasks import wait_until_ended
from engine.runtime.future_waits import shield
from engine.runtime.port import ConnectFailed

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

logger = logging.getLogger("glassmq.remoting")

#: The connect timeout (RocketMQ: ``com.rocketmq.remoting.client.connect.timeout``).
CONNECT_TIMEOUT_MS = 3_000


class RemotingClient:
    """A client with connections to any number of servers, made when first needed.

    :param runtime: the node it runs on.
    :param name: the name in the log.
    :param language: the programming language that requests report.
    :param serialize_type: how the headers of requests are encoded.
    :param close_on_timeout: close a connection on which a call timed out, so that the next one uses a new connection
        (RocketMQ: ``com.rocketmq.remoting.client.closeSocketIfTimeout``, true).
    :param request_hook: called with every request just before it is sent (RocketMQ: ``RPCHook.doBeforeRequest``).
    """

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        *,
        language: LanguageCode = LanguageCode.PYTHON,
        serialize_type: SerializeType = SerializeType.JSON,
        close_on_timeout: bool = True,
        request_hook: Callable[[RemotingCommand], None] | None = None,
    ) -> None:
        self._runtime = runtime
        self._name = name
        self._language = language
        self._serialize_type = serialize_type
        self._close_on_timeout = close_on_timeout
        self._request_hook = request_hook
        self._channels: dict[str, Channel] = {}
        self._connecting: dict[str, asyncio.Task[Channel]] = {}
        self._closed_callbacks: list[Callable[[str, Channel], None]] = []
        self._shut_down = False
        self.processors = ProcessorTable()

    def register_processor(self, code: int, processor: Processor) -> None:
        """Register ``processor`` for requests of ``code`` that a server sends."""
        self.processors.register(code, processor)

    def on_connection_closed(self, callback: Callable[[str, Channel], None]) -> None:
        """Have ``callback`` called with the address and the channel of every connection that ended."""
        self._closed_callbacks.append(callback)

    async def call(self, address: str, command: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        """Send ``command`` to ``"host:port"`` and wait for the reply; ``timeout_ms`` includes connecting.

        Raises a :class:`~engine.remoting.errors.RemotingError`, which says whether the outcome is known.
        """
        clock = self._runtime.clock
        started_us = clock.monotonic_us()
        channel = await self._channel(address, timeout_ms)
        self._stamp(command)
        left_ms = timeout_ms - (clock.monotonic_us() - started_us) // 1000
        try:
            return await channel.call(command, max(1, left_ms))
        except RemotingTimeout:
            if self._close_on_timeout:
                channel.close()
            raise RemotingTimeout(f"no reply from {address} within {timeout_ms} ms") from None

    async def send_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send ``command`` without a reply. Raises :class:`RemotingConnectFailed`; later losses go unnoticed."""
        channel = await self._channel(address, CONNECT_TIMEOUT_MS)
        self._stamp(command)
        channel.send_oneway(command)

    @property
    def connected_addresses(self) -> list[str]:
        """Return the addresses with an open connection, sorted."""
        return sorted(address for address, channel in self._channels.items() if channel.is_open)

    async def shutdown(self) -> None:
        """Close every connection; later calls raise :class:`RemotingShutDown`."""
        self._shut_down = True
        connecting = list(self._connecting.values())
        for task in connecting:
            task.cancel()
        for channel in list(self._channels.values()):
            channel.close()
        await wait_until_ended(connecting)

    def _stamp(self, command: RemotingCommand) -> None:
        command.language = self._language
        command.serialize_type = self._serialize_type
        if self._request_hook is not None:
            self._request_hook(command)

    async def _channel(self, address: str, timeout_ms: int) -> Channel:
        if self._shut_down:
            raise RemotingShutDown(f"{self._name} was shut down")
        channel = self._channels.get(address)
        if channel is not None and channel.is_open:
            return channel
        # Calls that arrive while a connection is being made share it. The task is shielded: cancelling one call must
        # not cancel the connection for the others.
        task = self._connecting.get(address)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._connect(address, min(timeout_ms, CONNECT_TIMEOUT_MS)))
            self._connecting[address] = task
            task.add_done_callback(lambda done: self._connection_tried(address, done))
        try:
            return await shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and self._shut_down:
                raise RemotingShutDown(f"{self._name} was shut down") from None
            raise

    def _connection_tried(self, address: str, task: asyncio.Task[Channel]) -> None:
        self._connecting.pop(address, None)
        if not task.cancelled():
            # All its callers may be gone: then no code retrieves its exception, and asyncio would complain.
            task.exception()

    async def _connect(self, address: str, timeout_ms: int) -> Channel:
        def closed(channel: Channel) -> None:
            if self._channels.get(address) is channel:
                del self._channels[address]
            for callback in self._closed_callbacks:
                callback(address, channel)

        channel = Channel(self.processors.find, closed)
        try:
            await self._runtime.network.connect(address, channel, timeout_ms)
        except ConnectFailed as error:
            raise RemotingConnectFailed(str(error)) from error
        self._channels[address] = channel
        return channel
