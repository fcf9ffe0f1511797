"""Splitters that cut a stream of bytes into frames.

Layout of a frame on the wire (RocketMQ: ``NettyDecoder``, a ``LengthFieldBasedFrameDecoder``)::

    | length (4 bytes, big-endian, signed) | content (length bytes): header-length word, header, body |
"""

from __future__ import annotations

from struct import Struct
from typing import Final, Protocol

from engine.runtime.port import FRAME_MAX_LENGTH_BYTES

LENGTH_PREFIX: Final = Struct(">i")
#: The minimum length of a frame: its header-length word.
FRAME_MIN_LENGTH_BYTES: Final = 4
#: The first bytes of other protocols. As lengths they would mean frames of hundreds of megabytes.
_FOREIGN: Final = {
    b"PRI ": "a gRPC client of RocketMQ 5 (it sent an HTTP/2 preface): not supported yet; clients of RocketMQ 4.x are",
    b"\x16\x03": "a client that speaks TLS, which is not on at this port",
}


def has_length_prefix(frame: bytes) -> bool:
    """Return whether the whole frame, as on the wire, begins with its length."""
    return len(frame) >= LENGTH_PREFIX.size and LENGTH_PREFIX.unpack_from(frame)[0] == len(frame) - LENGTH_PREFIX.size


class Splitter(Protocol):
    """The interface that cuts one direction of a connection into frames.

    A handler of a protocol without length prefixes has its own one, as attribute ``splitter``; it is fed once the
    connection is open.
    """

    error: str | None

    @property
    def is_empty(self) -> bool:
        """Return True if the next bytes may be read as a length prefix and its frame, without being fed."""
        ...

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that ``data`` completes."""
        ...


def has_own_splitter(handler: object) -> bool:
    """Return whether a handler's frames differ from those that a :class:`FrameSplitter` cuts."""
    return hasattr(handler, "splitter")


def splitter_of(handler: object) -> Splitter:
    """Return the handler's own splitter, or one for frames with a length prefix."""
    own: Splitter | None = getattr(handler, "splitter", None)
    return FrameSplitter() if own is None else own


class FrameSplitter:
    """A splitter for one direction of a connection.

    An invalid length ends the stream: ``error`` then says what was wrong, and later bytes are ignored, because the
    start of the next frame cannot be found.
    """

    __slots__ = ("_pending", "_wanted", "error")

    def __init__(self) -> None:
        self._pending = bytearray()
        #: How many bytes ``_pending`` needs before it is worth splitting again.
        self._wanted = 4
        self.error: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return True if no part of a frame waits for its rest: the next byte begins a frame."""
        return not self._pending and not self._has_ended

    @property
    def _has_ended(self) -> bool:
        # Read again each time: a compiled function that has seen None in ``error`` assumes that it stays None.
        return self.error is not None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that ``data`` completes, in order, without their length prefixes. Check ``error``
        afterwards.
        """
        if self._has_ended:
            return []
        pending = self._pending
        if not pending:
            frames, end = self._split(data)
            if end < len(data) and not self._has_ended:
                pending += memoryview(data)[end:]
            return frames
        pending += data
        if len(pending) < self._wanted:
            # A large frame arrives in many pieces: they are joined once, not split each time.
            return []
        frames, end = self._split(bytes(pending))
        del pending[:end]
        return frames

    def _split(self, data: bytes) -> tuple[list[bytes], int]:
        """Return the whole frames in ``data``, and the position after the last of them."""
        frames: list[bytes] = []
        read_length = LENGTH_PREFIX.unpack_from
        position, available = 0, len(data)
        self._wanted = 4
        while available - position >= 4:
            (length,) = read_length(data, position)
            if not FRAME_MIN_LENGTH_BYTES <= length <= FRAME_MAX_LENGTH_BYTES:
                self.error = _refusal(length, data[position : position + 4])
                break
            frame_end = position + 4 + length
            if frame_end > available:
                self._wanted = 4 + length
                break
            frames.append(data[position + 4 : frame_end])
            position = frame_end
        return frames, position


def _refusal(length: int, prefix: bytes) -> str:
    for start, sender in _FOREIGN.items():
        if prefix.startswith(start):
            return sender
    return f"frame length {length} is not allowed; allowed: {FRAME_MIN_LENGTH_BYTES} to {FRAME_MAX_LENGTH_BYTES} bytes"
