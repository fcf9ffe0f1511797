"""One end of a TCP connection. This is the hot path of the broker: every request and every reply passes through it.

A read is handled as follows: the bytes are split into frames, each frame is passed to the handler, and everything that
the handler sends meanwhile is collected and written together at the end. No task is created, and nothing is awaited.
Frames beyond one turn's share wait for the next turn (``frame_turns``), and those of a peer that does not read wait
until it has read (``unsent_budget``); meanwhile nothing more is read from it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final, TypeVar, cast

from engine.runtime.connection_limits import UNSENT_LIMIT_BYTES, UNSENT_UNCOUNTED_BYTES
from engine.runtime.frame_splitter import FRAME_MIN_LENGTH_BYTES, LENGTH_PREFIX, splitter_of
from engine.runtime.live.frame_turns import TURN_BYTES, TURN_FRAMES, TURN_MS
from engine.runtime.live.open_connections import OpenConnections
from engine.runtime.port import FRAME_MAX_LENGTH_BYTES, FrameHandler

_Argument = TypeVar("_Argument")
_log = logging.getLogger("glassmq.network")

#: While frames are handled, up to this many bytes of replies are collected before they are written: only then it shows
#: whether the peer reads. Larger pieces would save no time.
_COLLECTED_LIMIT_BYTES: Final = 64 * 1024
_read_length = LENGTH_PREFIX.unpack_from


def format_address(socket_address: object) -> str:
    """Return ``"ip:port"``; an IPv6 address is in brackets, an IPv4-mapped IPv6 address becomes IPv4."""
    if not isinstance(socket_address, tuple) or len(socket_address) < 2:
        return "unknown:0"
    ip, port = str(socket_address[0]).removeprefix("::ffff:"), socket_address[1]
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


class LiveConnection(asyncio.Protocol):
    """The port's ``Connection`` and asyncio's protocol in one object, which saves a call per frame."""

    def __init__(self, handler: FrameHandler, connections: OpenConnections) -> None:
        """Create a connection. ``connections`` are those that share its bounds; they may refuse it."""
        self.remote_address = "unknown:0"
        self.local_address = "unknown:0"
        #: Set whenever something was read or written; the sweep for idle connections resets it.
        self.was_active = True
        #: How many consecutive sweeps found it inactive.
        self.idle_sweeps = 0
        #: True if there were too many connections already; its handler is never called.
        self.is_refused = False
        self._handler = handler
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._splitter = splitter_of(handler)
        #: Frames that wait for their turn, or for the peer to read.
        self._frames: deque[bytes] = deque()
        #: The size of these and of an unfinished frame in bytes.
        self._unhandled_bytes = 0
        #: True while it waits for a turn.
        self._has_turn = False
        self._is_reading = True
        self._is_closing = False
        #: The other end is gone, and frames that it sent before wait for their turn.
        self._is_lost = False
        self._is_handling = False
        #: More than UNSENT_UNCOUNTED_BYTES were unsent, and the peer has not taken most of them yet.
        self._is_counted = False
        self._collected: list[bytes] = []
        self._collected_bytes = 0
        self._close_reason = "closed by the other end"

    # ------------------------------------------------------------------------------ the port's Connection

    @property
    def is_closing(self) -> bool:
        return self._is_closing

    @property
    def unsent_bytes(self) -> int:
        if self._transport is None:
            return 0
        return self._collected_bytes + self._transport.get_write_buffer_size()

    @property
    def has_room(self) -> bool:
        return not self._is_counted or self.unsent_bytes <= self._connections.budget.share_bytes

    def send_frame(self, frame: bytes) -> None:
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
        self.close_because("closed by this end")

    def close_because(self, reason: str) -> None:
        """Close as ``close`` does, with the reason that the handler receives."""
        if self._collected:
            self._write_collected()
        if self._is_closing:
            return
        self._is_closing = True
        self._close_reason = reason
        if self._transport is not None:
            self._transport.close()

    def abort(self, reason: str) -> None:
        """Close immediately; unsent data is lost."""
        if not self._is_closing:
            self._close_reason = reason
        self._is_closing = True
        self._frames.clear()
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    # ------------------------------------------------------------------------------ asyncio's Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Handle asyncio's notification that the connection is open."""
        self._transport = stream = cast(asyncio.Transport, transport)
        self.remote_address = format_address(transport.get_extra_info("peername"))
        self.local_address = format_address(transport.get_extra_info("sockname"))
        opened_socket = transport.get_extra_info("socket")
        if opened_socket is not None:
            # A reply is one small write: Nagle's algorithm would delay it until the next one.
            opened_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.set_write_buffer_limits(high=UNSENT_UNCOUNTED_BYTES)
        refusal = self._connections.opened(self)
        if refusal is not None:
            self.is_refused = True
            _log.warning("connection of %s refused: %s", self.remote_address, refusal)
            self.abort(refusal)
            return
        self._call(self._handler.connection_made, self)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes: a part of a frame, one frame, or many."""
        if self._is_closing:
            return
        self.was_active = True
        if (
            len(data) >= 4 + FRAME_MIN_LENGTH_BYTES
            and _read_length(data)[0] == len(data) - 4 <= FRAME_MAX_LENGTH_BYTES
            and self._splitter.is_empty
            and not self._frames
        ):
            # The usual case: exactly one whole frame.
            self._is_handling = True
            try:
                self._handler.frame_received(data[4:])
            except Exception as failure:
                self._report(failure)
            finally:
                self._is_handling = False
            if self._collected:
                self._write_collected()
            if self._is_counted:
                self._read_or_wait()
            return
        is_first = not self._frames
        self._frames.extend(self._splitter.feed(data))
        self._count_unhandled(self._unhandled_bytes + len(data))
        if is_first and not self._connections.turns.is_busy:
            self.take_turn()
        else:
            self._read_or_wait()

    def take_turn(self) -> None:
        """Handle one share of the waiting frames."""
        frames, handled_bytes, end_s = self._frames, 0, monotonic() + TURN_MS / 1_000
        self._has_turn = False
        self._is_handling = True
        try:
            for _ in range(min(len(frames), TURN_FRAMES)):
                if (self._is_closing and not self._is_lost) or (self._is_counted and self._waits_for_reader()):
                    break
                frame = frames.popleft()
                handled_bytes += 4 + len(frame)
                self._handler.frame_received(frame)
                if handled_bytes >= TURN_BYTES or monotonic() >= end_s:
                    break
        except Exception as failure:
            self._report(failure)
        finally:
            self._is_handling = False
        if self._collected:
            self._write_collected()
        self._count_unhandled(self._unhandled_bytes - handled_bytes)
        if not self._is_lost:
            self._read_or_wait()
        elif frames:
            self._wait_for_turn()
        else:
            self._end()

    def eof_received(self) -> bool:
        """Close, because the peer sends nothing more (a RocketMQ client never half-closes)."""
        return False

    def pause_writing(self) -> None:
        """Handle asyncio's notification, within a write, that enough is unsent to be counted."""
        self._is_counted = True

    def resume_writing(self) -> None:
        """Handle asyncio's notification that the peer has read nearly all."""
        self._is_counted = False
        self._connections.budget.forget(self)
        self.was_active = True
        if not self._is_reading:
            self._read_or_wait()

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the connection; asyncio calls this once, last."""
        if not self._is_closing and error is not None:
            self._close_reason = f"connection lost: {error}"
        # A peer may send oneway requests and disconnect without reading earlier replies: its requests still count.
        self._is_lost = bool(self._frames) and not self._is_closing
        self._is_closing, self._transport = True, None
        self._collected.clear()
        self._is_counted = False
        if self._is_lost:
            self._wait_for_turn()
        else:
            self._end()

    # --------------------------------------------------------------------------- internals

    def _end(self) -> None:
        """End this connection for the other connections and the handler."""
        self._frames.clear()
        self._count_unhandled(0)
        self._connections.lost(self)
        if not self.is_refused:
            self._call(self._handler.connection_lost, self._close_reason)

    def _wait_for_turn(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            self._connections.turns.add(self)

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
        if not self._is_counted:
            return
        self._connections.budget.count(self)
        if transport.get_write_buffer_size() > UNSENT_LIMIT_BYTES:
            _log.warning("%s does not read: disconnected, %d bytes unsent", self.remote_address, self.unsent_bytes)
            self.abort("the other end does not read")

    def _waits_for_reader(self) -> bool:
        return self._connections.waits_for_readers and not self.has_room

    def _read_or_wait(self) -> None:
        """Continue after a turn: wait for the next one, or for the peer to read; or read on."""
        if self._is_closing or self._transport is None:
            return
        waits_for_reader = self._is_counted and self._waits_for_reader()
        if self._frames:
            if not waits_for_reader:
                self._wait_for_turn()
        elif self._splitter.error is not None:
            self._end_stream(self._splitter.error)
            return
        must_read = not self._frames and not waits_for_reader
        if must_read is not self._is_reading:
            self._is_reading = must_read
            (self._transport.resume_reading if must_read else self._transport.pause_reading)()

    def _count_unhandled(self, unhandled_bytes: int) -> None:
        change, self._unhandled_bytes = unhandled_bytes - self._unhandled_bytes, unhandled_bytes
        reason = self._connections.unhandled(change) if change else None
        if reason is not None:
            _log.warning("%s is disconnected: %s", self.remote_address, reason)
            self.abort(reason)

    def _end_stream(self, error: str) -> None:
        if not self._is_closing:
            _log.warning("%s is disconnected: %s", self.remote_address, error)
            self.close_because(error)

    def _call(self, method: Callable[[_Argument], None], argument: _Argument) -> None:
        try:
            method(argument)
        except Exception as failure:
            self._report(failure)

    def _report(self, failure: Exception) -> None:
        """Log an exception that a handler did not catch, which is a bug, and end this connection, not the node."""
        _log.error("the handler of %s failed", self.remote_address, exc_info=failure)
        self._frames.clear()
        self.close_because(f"the handler failed: {failure!r}")
