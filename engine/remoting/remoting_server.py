"""The server that accepts connections and has processors answer requests (RocketMQ: ``NettyRemotingServer``)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.protocol.command.remoting_command import RemotingCommand
from engine.remoting.channel import Channel, Processor
from engine.remoting.processor import ProcessorTable
from engine.runtime.connection_limits import UNSENT_ALL_LIMIT_BYTES

if TYPE_CHECKING:
    from engine.runtime.port import Listener, Runtime

logger = logging.getLogger("glassmq.remoting")


class RemotingServer:
    """One listening address with its processors and its open channels.

    :param runtime: the node it runs on.
    :param name: the name in the log ("broker-a", "name server").
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._name = name
        self._listener: Listener | None = None
        self._closed_callbacks: list[Callable[[Channel], None]] = []
        self._channels: dict[Channel, None] = {}
        self.processors = ProcessorTable()

    def register_processor(self, code: int, processor: Processor) -> None:
        """Register ``processor`` for requests of ``code``."""
        self.processors.register(code, processor)

    def on_connection_closed(self, callback: Callable[[Channel], None]) -> None:
        """Have ``callback`` called with every channel that was closed, by either side."""
        self._closed_callbacks.append(callback)

    async def start(self, host: str, port: int, unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES) -> None:
        """Listen at ``host:port`` (0: any free port), with the port's limit of unsent bytes. Raises
        ``AddressInUse``.
        """
        self._listener = await self._runtime.network.listen(host, port, self._new_channel, unsent_limit_bytes)
        logger.info("%s listens on %s", self._name, self._listener.address)

    async def listen_also(self, port: int) -> str:
        """Serve another port of the same host, with the same processors and limits; return ``"ip:port"``.

        Raises ``AddressInUse``.
        """
        assert self._listener is not None, "the server was not started"
        return await self._listener.listen_also(port)

    @property
    def address(self) -> str:
        """Return the ``"ip:port"`` that is really bound."""
        assert self._listener is not None, "the server was not started"
        return self._listener.address

    @property
    def unsent_bytes(self) -> int:
        """Return the number of bytes that clients have not read yet."""
        return 0 if self._listener is None else self._listener.unsent_bytes

    @property
    def cut_connections(self) -> int:
        """Return how many connections were closed because clients did not read."""
        return 0 if self._listener is None else self._listener.cut_connections

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Return the open channels, oldest first."""
        return tuple(channel for channel in self._channels if channel.is_open)

    async def ask_unguarded(self, request: RemotingCommand, remote_address: str) -> RemotingCommand:
        """Return the server's reply to a request of its own process, without a guard; not for requests that it parks.

        :param remote_address: the address of the requester.
        """
        channel = Channel(self.processors.find)
        channel.remote_address = remote_address
        try:
            answer = self.processors.find_unguarded(request.code)(channel, request)
            reply = answer if answer is None or isinstance(answer, RemotingCommand) else await answer
        except Exception as error:
            reply = channel.answer_to_failure(request, error)
        assert reply is not None, "it is answered when it is carried out"
        return reply

    async def shutdown(self) -> None:
        """Stop listening and close every channel."""
        if self._listener is not None:
            await self._listener.close()

    def _new_channel(self) -> Channel:
        channel = Channel(self.processors.find, self._channel_closed)
        self._channels[channel] = None
        return channel

    def _channel_closed(self, channel: Channel) -> None:
        self._channels.pop(channel, None)
        for callback in self._closed_callbacks:
            callback(channel)
