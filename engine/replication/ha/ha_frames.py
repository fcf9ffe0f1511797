"""Frames between master and slave (RocketMQ: ``HAConnection``, ``HAClient``). They are not RemotingCommands and have no
length prefix::

    slave to master    | end of its log (8 bytes) |                                    "report"
    master to slave    | offset (8 bytes) | size (4 bytes) | size bytes of the log |   "piece"; size 0: "heartbeat"

All numbers are big-endian and signed.
"""

from __future__ import annotations

from struct import Struct

_REPORT = Struct(">q")
_PIECE_HEAD = Struct(">qi")
REPORT_BYTES = _REPORT.size
PIECE_HEAD_BYTES = _PIECE_HEAD.size

#: Largest piece that a slave accepts: the size of RocketMQ's read buffer (``HAClient.READ_MAX_BUFFER_SIZE``).
PIECE_MAX_BYTES = 4 * 1024 * 1024


def encode_report(end_offset: int) -> bytes:
    """Encode the report of a slave that has all bytes before ``end_offset``."""
    return _REPORT.pack(end_offset)


def decode_report(frame: bytes) -> int:
    """Return the end of the slave's log."""
    (end_offset,) = _REPORT.unpack(frame)
    return int(end_offset)


def encode_piece(offset: int, data: bytes) -> bytes:
    """Encode a piece with the bytes of the master's log from ``offset`` on; without data it is a heartbeat."""
    return _PIECE_HEAD.pack(offset, len(data)) + data


def decode_piece(frame: bytes) -> tuple[int, bytes]:
    """Decode a piece as ``(offset, data)``."""
    offset, _ = _PIECE_HEAD.unpack_from(frame)
    return offset, frame[PIECE_HEAD_BYTES:]


class _Splitter:
    """Split a byte stream into frames, as a :class:`~engine.runtime.frame_splitter.Splitter`."""

    #: Frames have no length prefix, so the shortcut for length-prefixed frames does not apply.
    is_empty = False

    def __init__(self) -> None:
        self._pending = b""
        self.error: str | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that ``data`` completes."""
        frames: list[bytes] = []
        pending, position = self._pending + data, 0
        while self.error is None:
            size = self._size_at(pending, position)
            if size is None or position + size > len(pending):
                break
            frames.append(pending[position : position + size])
            position += size
        self._pending = pending[position:]
        return frames

    def _size_at(self, pending: bytes, position: int) -> int | None:
        raise NotImplementedError


class ReportSplitter(_Splitter):
    """Split the stream from a slave into reports."""

    def _size_at(self, pending: bytes, position: int) -> int | None:
        return REPORT_BYTES


class PieceSplitter(_Splitter):
    """Split the stream from a master into pieces."""

    def _size_at(self, pending: bytes, position: int) -> int | None:
        if position + PIECE_HEAD_BYTES > len(pending):
            return None
        _, size = _PIECE_HEAD.unpack_from(pending, position)
        if not 0 <= size <= PIECE_MAX_BYTES:
            self.error = f"a piece of {size} bytes is not allowed; allowed: 0 to {PIECE_MAX_BYTES}"
            return None
        return PIECE_HEAD_BYTES + int(size)


def frame_name(data: bytes) -> str | None:
    """Return ``HA_REPORT``, ``HA_PIECE`` or ``HA_HEARTBEAT``; None if ``data`` is not one of these frames, or may be
    another kind of frame.
    """
    if len(data) == REPORT_BYTES:
        return "HA_REPORT"
    if len(data) < PIECE_HEAD_BYTES or _PIECE_HEAD.unpack_from(data)[1] != len(data) - PIECE_HEAD_BYTES:
        return None
    return "HA_PIECE" if len(data) > PIECE_HEAD_BYTES else "HA_HEARTBEAT"
