"""What the entries of a group say: a piece of the commit log, or the whole content of a table's file.

Layouts: ``"L"``, the piece's offset (8 bytes), bytes; ``"F"``, length of the path (1 byte), path, content.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from engine.replication.majority.errors import EntryRefused

_OFFSET = struct.Struct(">cQ")
_PATH_LENGTH = struct.Struct(">cB")
_PIECE, _FILE = b"L", b"F"


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Whole messages, and blanks between them, as they lie at ``offset`` of every member's commit log."""

    offset: int
    data: bytes

    @property
    def end_offset(self) -> int:
        """Behind the last byte."""
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A table as its file holds it; the newest counts."""

    path: str
    content: bytes


def encode_entry(entry: LogPiece | SharedFile) -> bytes:
    """The data of a Raft entry."""
    if isinstance(entry, LogPiece):
        return _OFFSET.pack(_PIECE, entry.offset) + entry.data
    path = entry.path.encode()
    return _PATH_LENGTH.pack(_FILE, len(path)) + path + entry.content


def decode_entry(data: bytes) -> LogPiece | SharedFile:
    """The reverse. Raises :class:`EntryRefused`."""
    if data[:1] == _PIECE and len(data) > _OFFSET.size:
        return LogPiece(_OFFSET.unpack_from(data)[1], data[_OFFSET.size :])
    if data[:1] == _FILE and len(data) >= _PATH_LENGTH.size:
        end = _PATH_LENGTH.size + data[1]
        path = data[_PATH_LENGTH.size : end].decode(errors="replace")
        if path in SHARED_PATHS:
            return SharedFile(path, data[end:])
    raise EntryRefused(f"an entry of {len(data)} bytes is neither a piece of the commit log nor a table's file")


#: What a new leader has to know beside the messages (``SlaveSynchronize`` of a master's slave copies the same).
SHARED_PATHS = tuple(
    f"config/{name}.json" for name in ("topics", "subscriptionGroup", "consumerOffset", "delayOffset", "consumerFilter")
)
