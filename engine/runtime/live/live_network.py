"""The live implementation of the port's ``Network``: TCP."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable

from engine.runtime.connection_limits import CONNECTIONS_LIMIT, IDLE_TIMEOUT_MS, UNSENT_ALL_LIMIT_BYTES
from engine.runtime.live.live_connection import LiveConnection, format_address
from engine.runtime.live.live_tls import ClientTls, ServerTls
from engine.runtime.live.live_tls_listener import TlsAcceptor
from engine.runtime.live.open_connections import OpenConnections
from engine.runtime.port import AddressInUse, ConnectFailed, Connection, FrameHandler, RuntimeFault
from engine.runtime.started_parts import end_all

_log = logging.getLogger("glassmq.network")

#: File descriptors reserved for files and everything else.
_RESERVED_DESCRIPTORS = 128
#: The backlog: connections that the kernel keeps for a listener that has not accepted them yet.
_BACKLOG = 1_024


class LiveListener:
    """A listening address, perhaps with additional ports, and the connections accepted there.

    :param connections: all accepted connections.
    :param open_source: listens at a port; returns the source of connections, and the address.
    :ivar address: the address of the first port.
    """

    def __init__(
        self,
        connections: OpenConnections,
        open_source: Callable[[int], Awaitable[tuple[asyncio.Server | TlsAcceptor, object]]],
    ) -> None:
        self.address = ""
        self._sources: list[asyncio.Server | TlsAcceptor] = []
        self._connections = connections
        self._open_source = open_source

    @property
    def unsent_bytes(self) -> int:
        return self._connections.budget.total_bytes

    @property
    def cut_connections(self) -> int:
        return self._connections.budget.cut_connections

    @property
    def connection_count(self) -> int:
        """Return the number of connections at all ports, including those being accepted."""
        under_way = sum(source.under_way for source in self._sources if isinstance(source, TlsAcceptor))
        return len(self._connections) + under_way

    async def listen_also(self, port: int) -> str:
        source, socket_address = await self._open_source(port)
        self._sources.append(source)
        return format_address(socket_address)

    async def close(self) -> None:
        for source in self._sources:
            source.close()
        try:
            await self._connections.close()
        finally:
            for source in self._sources:
                await source.wait_closed()


class LiveNetwork:
    """The network of one live node.

    ``server_tls`` encrypts accepted connections, ``client_tls`` outgoing ones. Raises
    :class:`~engine.runtime.live.live_tls.TlsUnusable` for unusable certificates and keys.
    """

    def __init__(
        self,
        idle_timeout_ms: int = IDLE_TIMEOUT_MS,
        server_tls: ServerTls | None = None,
        client_tls: ClientTls | None = None,
    ) -> None:
        self._idle_timeout_ms = idle_timeout_ms
        descriptors = _descriptor_limit()
        # Where there are few, half of them.
        self._limit = min(CONNECTIONS_LIMIT, descriptors - min(_RESERVED_DESCRIPTORS, descriptors // 2))
        self._connected = OpenConnections(self._limit, idle_timeout_ms, waits_for_readers=False)
        self._listeners: list[LiveListener] = []
        self._server_tls = server_tls or ServerTls()
        self._server_context = self._server_tls.context()
        self._client_context = None if client_tls is None else client_tls.context()

    async def listen(
        self,
        host: str,
        port: int,
        handler_factory: Callable[[], FrameHandler],
        unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES,
    ) -> LiveListener:
        """Listen as the port requires. Raises :class:`RuntimeFault` for addresses that this machine does not have."""
        connections = OpenConnections(
            self._limit, self._idle_timeout_ms, unsent_limit_bytes=unsent_limit_bytes, waits_for_readers=True
        )

        def make_connection() -> LiveConnection:
            return LiveConnection(handler_factory(), connections)

        async def open_source(port: int) -> tuple[asyncio.Server | TlsAcceptor, object]:
            try:
                if self._server_context is None:
                    server = await asyncio.get_running_loop().create_server(
                        make_connection, host, port, reuse_address=True, backlog=_BACKLOG, start_serving=False
                    )
                    try:
                        # asyncio waits once more when it already listens: a caller cancelled there would not get the
                        # listener.
                        await server.start_serving()
                    except BaseException:
                        server.close()
                        raise
                    return server, server.sockets[0].getsockname()
                acceptor = await self._accept_tls(self._server_context, host, port, make_connection, listener)
                return acceptor, acceptor.socket_address
            except (OSError, OverflowError, ValueError) as failure:  # UnicodeError, a ValueError: no host has the name
                if isinstance(failure, OSError) and failure.errno == errno.EADDRINUSE:
                    raise AddressInUse(f"{host}:{port} is in use already") from failure
                raise RuntimeFault(f"cannot listen at {host}:{port}: {_reason(failure)}") from failure

        listener = LiveListener(connections, open_source)
        listener.address = await listener.listen_also(port)
        self._listeners.append(listener)
        return listener

    async def _accept_tls(
        self,
        context: ssl.SSLContext,
        host: str,
        port: int,
        make_connection: Callable[[], LiveConnection],
        listener: LiveListener,
    ) -> TlsAcceptor:
        found = await asyncio.get_running_loop().getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, address = found[0]
        listening = socket.create_server(address, family=family, backlog=_BACKLOG)
        listening.setblocking(False)
        mode = self._server_tls.mode
        limit, timeout_ms = self._limit, self._idle_timeout_ms
        return TlsAcceptor(
            listening, context, mode, make_connection, limit, lambda: listener.connection_count, timeout_ms
        )

    async def connect(self, address: str, handler: FrameHandler, timeout_ms: int) -> Connection:
        host, _, port_text = address.rpartition(":")
        if not host or not port_text.isdigit() or not 0 < int(port_text) < 65_536:
            raise ConnectFailed(f"cannot connect to {address!r}: an address is host:port, port 1 to 65535")
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: LiveConnection(handler, self._connected),
                    host.strip("[]"),
                    int(port_text),
                    ssl=self._client_context,
                )
        except TimeoutError:
            raise ConnectFailed(f"cannot connect to {address}: no answer within {timeout_ms} ms") from None
        except (OSError, ValueError) as failure:  # UnicodeError, a ValueError: a name that no host can have
            raise ConnectFailed(f"cannot connect to {address}: {_reason(failure)}") from failure
        if connection.is_refused:
            raise ConnectFailed(f"cannot connect to {address}: {self._limit} connections are open already")
        return connection

    async def close(self) -> None:
        """Close every listener and connection of the node."""
        listeners, self._listeners = self._listeners, []
        await end_all((*(listener.close for listener in listeners), self._connected.close), "the network")


def _descriptor_limit() -> int:
    """Return how many descriptors this process may have, after raising the limit as far as allowed."""
    wanted = CONNECTIONS_LIMIT + _RESERVED_DESCRIPTORS
    try:
        import resource  # not in a browser
    except ImportError:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    return wanted if soft == resource.RLIM_INFINITY else soft


def _reason(failure: Exception) -> str:
    if isinstance(failure, ConnectionResetError) and not failure.args:  # asyncio's, while it waits for the handshake
        return "the other end closed the connection during the TLS handshake; does it speak TLS?"
    if isinstance(failure, UnicodeError):  # its text is about the codec of host names
        return "no host can have that name"
    return getattr(failure, "strerror", None) or str(failure)
