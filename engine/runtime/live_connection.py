"""One end of a TCP connection. The hot path of the whole broker: every request and every reply goes through
here.

How a read is handled: the bytes are cut into frames, each frame is handed to the handler, and whatever the
handler sends meanwhile is collected and written in one piece at the end. No task is created, and nothing is
awaited.

Backpressure: while more than ``UNSENT_HIGH_WATER_BYTES`` wait for the peer nothing more is read from it, so
that it cannot ask faster than it reads; at ``UNSENT_LIMIT_BYTES`` it is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import TypeVar, cast

from engine.runtime.connection_limits import UNSENT_HIGH_WATER_BYTES, UNSENT_LIMIT_BYTES
from engine.runtime.frame_splitter import FRAME_MIN_LENGTH_BYTES, LENGTH_PREFIX, FrameSplitter
from engine.runtime.port import FRAME_MAX_LENGTH_BYTES, FrameHandler

_Argument = TypeVar("_Argument")
_log = logging.getLogger("glassmq.network")

#: While frames are handled, replies are collected up to so many bytes before a piece of them is written: a
#: large read full of pull requests must not pile up gigabytes of answers.
_COLLECTED_LIMIT_BYTES = 1024 * 1024
_read_length = LENGTH_PREFIX.unpack_from


def format_address(socket_address: object) -> str:
    """``"ip:port"``; an IPv6 address is put in brackets, an IPv4 address in IPv6 clothes is undressed."""
    if not isinstance(socket_address, tuple) or len(socket_address) < 2:
        return "unknown:0"
    ip, port = str(socket_address[0]).removeprefix("::ffff:"), socket_address[1]
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


class LiveConnection(asyncio.Protocol):
    """The port's ``Connection`` and asyncio's protocol in one object: a call less for each frame."""

    def __init__(
        self,
        handler: FrameHandler,
        on_open: Callable[[LiveConnection], str | None],
        on_lost: Callable[[LiveConnection], None],
        on_unfinished: Callable[[int], str | None] = lambda change: None,
    ) -> None:
        """``on_open`` may refuse the connection by returning a reason. ``on_unfinished`` is told by how many bytes the
        part of an unfinished frame held here has changed; it may end the connection in the same way.
        """
        self.remote_address = "unknown:0"
        self.local_address = "unknown:0"
        #: Set whenever something was read or written; the sweep that looks for idle connections resets it.
        self.was_active = True
        #: How many sweeps in a row found it inactive.
        self.idle_sweeps = 0
        #: True when there were too many connections already; the handler never hears of it.
        self.is_refused = False
        self._handler = handler
        self._on_open = on_open
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._on_unfinished = on_unfinished
        self._unfinished_bytes = 0
        self._splitter = FrameSplitter()
        self._is_closing = False
        self._is_handling = False
        self._is_over_high_water = False
        self._collected: list[bytes] = []
        self._collected_bytes = 0
        self._close_reason = "closed by the other end"

    # ------------------------------------------------------------------------------ the port's Connection

    @property
    def is_closing(self) -> bool:
        """See the port."""
        return self._is_closing

    @property
    def unsent_bytes(self) -> int:
        """See the port."""
        if self._transport is None:
            return 0
        return self._collected_bytes + self._transport.get_write_buffer_size()

    def send_frame(self, frame: bytes) -> None:
        """See the port."""
        if self._is_closing:
            return
        if self._is_handling:
            self._collected.append(frame)
            self._collected_bytes += len(frame)
            if self._collected_bytes > _COLLECTED_LIMIT_BYTES:
                self._write_collected()
        else:
            self._write(frame)

    def close(self) -> None:
        """See the port."""
        self.close_because("closed by this end")

    def close_because(self, reason: str) -> None:
        """As ``close``, with the reason that the handler will be told."""
        if self._collected:
            self._write_collected()
        if self._is_closing:
            return
        self._is_closing = True
        self._close_reason = reason
        if self._transport is not None:
            self._transport.close()

    def abort(self, reason: str) -> None:
        """Close at once; what is unsent is lost."""
        if not self._is_closing:
            self._close_reason = reason
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------------------ asyncio's Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the connection is open."""
        self._transport = stream = cast(asyncio.Transport, transport)
        self.remote_address = format_address(transport.get_extra_info("peername"))
        self.local_address = format_address(transport.get_extra_info("sockname"))
        opened_socket = transport.get_extra_info("socket")
        if opened_socket is not None:
            # A reply is one small write: Nagle's algorithm would hold it back for the next one.
            opened_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.set_write_buffer_limits(high=UNSENT_HIGH_WATER_BYTES)
        refusal = self._on_open(self)
        if refusal is not None:
            self.is_refused = True
            _log.warning("connection of %s refused: %s", self.remote_address, refusal)
            self.abort(refusal)
            return
        self._call(self._handler.connection_made, self)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with whatever has arrived: a part of a frame, one frame, many."""
        if self._is_closing:
            return
        self.was_active = True
        self._is_handling = True
        try:
            if (
                len(data) >= 4 + FRAME_MIN_LENGTH_BYTES
                and _read_length(data)[0] == len(data) - 4 <= FRAME_MAX_LENGTH_BYTES
                and self._splitter.is_empty
            ):
                # The usual case: exactly one whole frame.
                self._handler.frame_received(data[4:])
            else:
                for frame in self._splitter.feed(data):
                    self._handler.frame_received(frame)
                    if self._is_closing:
                        break
                self._count_unfinished(self._splitter.pending_bytes)
        except Exception as failure:
            self._report(failure)
        finally:
            self._is_handling = False
        if self._collected:
            self._write_collected()
        if self._splitter.error is not None:
            self._end_garbage(self._splitter.error)

    def eof_received(self) -> bool:
        """The peer will send nothing more: close (a RocketMQ client never half-closes)."""
        return False

    def pause_writing(self) -> None:
        """Called by asyncio when too much is unsent."""
        self._is_over_high_water = True
        if self._transport is not None and not self._is_closing:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Called by asyncio when the peer has read enough."""
        self._is_over_high_water = False
        self.was_active = True
        if self._transport is not None and not self._is_closing:
            self._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """Called by asyncio once, last."""
        if not self._is_closing and error is not None:
            self._close_reason = f"connection lost: {error}"
        self._is_closing = True
        self._collected.clear()
        self._count_unfinished(0)
        self._on_lost(self)
        if not self.is_refused:
            self._call(self._handler.connection_lost, self._close_reason)

    # ------------------------------------------------------------------------------ inside

    def _write_collected(self) -> None:
        collected, self._collected = self._collected, []
        self._collected_bytes = 0
        self._write(collected[0] if len(collected) == 1 else b"".join(collected))

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None:
            return
        self.was_active = True
        transport.write(data)
        if self._is_over_high_water and transport.get_write_buffer_size() > UNSENT_LIMIT_BYTES:
            unsent_bytes = self.unsent_bytes
            _log.warning("%s does not read: disconnected, %d bytes unsent", self.remote_address, unsent_bytes)
            self.abort("the other end does not read")

    def _count_unfinished(self, pending_bytes: int) -> None:
        change = pending_bytes - self._unfinished_bytes
        if not change:
            return
        self._unfinished_bytes = pending_bytes
        reason = self._on_unfinished(change)
        if reason is not None:
            _log.warning("%s is disconnected: %s", self.remote_address, reason)
            self.abort(reason)

    def _end_garbage(self, error: str) -> None:
        if not self._is_closing:
            _log.warning("%s sent garbage: %s", self.remote_address, error)
            self.close_because(error)

    def _call(self, method: Callable[[_Argument], None], argument: _Argument) -> None:
        try:
            method(argument)
        except Exception as failure:
            self._report(failure)

    def _report(self, failure: Exception) -> None:
        """An exception that leaves a handler is a bug: it is logged and ends this connection, not the node."""
        _log.error("the handler of %s failed", self.remote_address, exc_info=failure)
        self.close_because(f"the handler failed: {failure!r}")
