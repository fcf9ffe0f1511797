"""The acceptor of connections of which some or all are encrypted (RocketMQ: ``NettyRemotingServer.HandshakeHandler``).

The first byte of a connection decides; it is read without being removed from the socket. So a connection begins here
when the client has sent something; from then on a plain one is the same object, on the same path, as without TLS.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from engine.runtime.future_waits import all_ended
from engine.runtime.live.live_connection import LiveConnection, format_address
from engine.runtime.live.live_tls import TLS_FIRST_BYTE, TlsMode

_log = logging.getLogger("glassmq.network")

#: The timeout of a TLS handshake.
HANDSHAKE_TIMEOUT_MS = 10_000
#: The maximum number of connections accepted from the kernel in one turn of the loop.
_ACCEPTED_AT_ONCE = 64
#: How long nothing is accepted after the machine had no resources for another connection, as in asyncio's server.
_PAUSE_MS = 1_000


class TlsAcceptor:
    """An acceptor that takes connections from a listening socket until ``close``.

    :param listening: bound and listening, not blocking.
    :param context: the TLS context of encrypted connections.
    :param mode: PERMISSIVE or ENFORCING.
    :param make_connection: creates the protocol object of each.
    :param limit: the maximum number of connections, including pending ones: without a first byte yet, or without a
        finished handshake.
    :param connection_count: returns their current number, counted likewise.
    :param first_byte_timeout_ms: the timeout of the first byte.
    """

    def __init__(
        self,
        listening: socket.socket,
        context: ssl.SSLContext,
        mode: TlsMode,
        make_connection: Callable[[], LiveConnection],
        limit: int,
        connection_count: Callable[[], int],
        first_byte_timeout_ms: int,
    ) -> None:
        self._listening = listening
        self._context = context
        self._mode = mode
        self._make_connection = make_connection
        self._limit = limit
        self._connection_count = connection_count
        self._first_byte_timeout_s = first_byte_timeout_ms / 1_000
        self._waiting: dict[asyncio.Task[None], None] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listening, self._accept)

    @property
    def socket_address(self) -> object:
        """Return the address of the listening socket."""
        return self._listening.getsockname()

    @property
    def under_way(self) -> int:
        """Return how many connections are pending."""
        return len(self._waiting)

    def close(self) -> None:
        """Stop accepting, and drop pending connections. May be called again."""
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)
            self._listening.close()
            for task in self._waiting:
                task.cancel()

    async def wait_closed(self) -> None:
        """Wait until pending connections are gone."""
        await all_ended(self._waiting)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, address = self._listening.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:  # the client has disconnected
                continue
            except OSError as failure:  # no descriptors are left, or no memory: an immediate retry would fail, too
                _log.error("no connection can be accepted for %d ms: %s", _PAUSE_MS, failure)
                self._loop.remove_reader(self._listening)
                self._loop.call_later(_PAUSE_MS / 1_000, self._accept_again)
                return
            accepted.setblocking(False)
            if self._connection_count() >= self._limit:
                _log.warning("connection of %s refused: %d are there already", format_address(address), self._limit)
                accepted.close()
                continue
            task = self._loop.create_task(self._begin(accepted, format_address(address)))
            self._waiting[task] = None
            task.add_done_callback(lambda done: self._waiting.pop(done, None))

    def _accept_again(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.add_reader(self._listening, self._accept)

    async def _begin(self, accepted: socket.socket, address: str) -> None:
        try:
            async with asyncio.timeout(self._first_byte_timeout_s):
                first = await self._first_byte(accepted)
            if not first:
                accepted.close()
            elif first == TLS_FIRST_BYTE:
                await self._loop.connect_accepted_socket(
                    self._make_connection,
                    accepted,
                    ssl=self._context,
                    ssl_handshake_timeout=HANDSHAKE_TIMEOUT_MS / 1_000,
                )
            elif self._mode is TlsMode.ENFORCING:
                _log.warning("%s is disconnected: it does not speak TLS, and the mode is enforcing", address)
                accepted.close()
            else:
                await self._loop.connect_accepted_socket(self._make_connection, accepted)
        except asyncio.CancelledError:
            accepted.close()
            raise
        except TimeoutError:
            accepted.close()
        except OSError as failure:  # ssl.SSLError is one
            _log.warning("TLS with %s failed: %s", address, str(failure) or type(failure).__name__)
            accepted.close()

    async def _first_byte(self, accepted: socket.socket) -> bytes:
        """Return the first byte, which stays in the socket; empty if the connection ended without one."""
        arrived: asyncio.Future[bytes] = self._loop.create_future()

        def look() -> None:
            try:
                first = accepted.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return
            except OSError:
                first = b""
            if not arrived.done():
                arrived.set_result(first)

        self._loop.add_reader(accepted, look)
        try:
            return await arrived
        finally:
            self._loop.remove_reader(accepted)
