"""Entries of a group: a piece of the commit log, the content of a table's file, or the topics that are deleted.

Layouts::

    "L" | offset of the piece (8 bytes) | bytes
    "F" | length of the path (1 byte) | path | content of the file
    "Z" | length of the path (1 byte) | path | content of the file, compressed by zlib
    "J" | length of the path (1 byte) | path | line of the file's journal
    "D" | end of the leader's commit log (8 bytes) | names of topics, separated by line breaks
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from engine.replication.majority.errors import EntryRefused

_OFFSET = struct.Struct(">cQ")
_PATH_LENGTH = struct.Struct(">cB")
_PIECE, _FILE, _COMPRESSED_FILE, _LINE, _DELETED = b"L", b"F", b"Z", b"J", b"D"
#: Longer files are compressed: their text shrinks to a tenth, and an entry holds at most 4 MiB.
_COMPRESSED_FROM_BYTES = 1_048_576
#: Largest size of an uncompressed file: more than the tables of a broker can reach at their bounds.
_FILE_MAX_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Whole messages, and the blanks between them, as they are stored at ``offset`` of every member's commit log."""

    offset: int
    data: bytes

    @property
    def end_offset(self) -> int:
        """Return the offset after the last byte."""
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A table as the content of its file; the newest one counts."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SharedLine:
    """A change to a table, as a line in the journal of its file (:mod:`engine.store.files.change_journal`)."""

    path: str
    line: bytes


@dataclass(frozen=True, slots=True)
class TopicsDeleted:
    """The consume queues of ``topics`` are deleted; messages after ``log_end_offset`` belong to topics created
    again.
    """

    log_end_offset: int
    topics: tuple[str, ...]


TableEntry = SharedFile | SharedLine | TopicsDeleted
GroupEntry = LogPiece | TableEntry


def encode_entry(entry: GroupEntry) -> bytes:
    """Encode the data of a Raft entry."""
    match entry:
        case LogPiece():
            return _OFFSET.pack(_PIECE, entry.offset) + entry.data
        case TopicsDeleted():
            return _OFFSET.pack(_DELETED, entry.log_end_offset) + "\n".join(entry.topics).encode()
        case SharedLine():
            kind, content = _LINE, entry.line
        case SharedFile() if len(entry.content) > _COMPRESSED_FROM_BYTES:
            kind, content = _COMPRESSED_FILE, zlib.compress(entry.content, 1)
        case _:
            kind, content = _FILE, entry.content
    path = entry.path.encode()
    return _PATH_LENGTH.pack(kind, len(path)) + path + content


def decode_entry(data: bytes) -> GroupEntry:
    """Decode the data of a Raft entry. Raises :class:`EntryRefused`."""
    kind = data[:1]
    if kind in (_PIECE, _DELETED) and len(data) > _OFFSET.size:
        offset, rest = _OFFSET.unpack_from(data)[1], data[_OFFSET.size :]
        return LogPiece(offset, rest) if kind == _PIECE else TopicsDeleted(offset, _topics_in(rest))
    if kind in (_FILE, _COMPRESSED_FILE, _LINE) and len(data) >= _PATH_LENGTH.size:
        end = _PATH_LENGTH.size + data[1]
        path, content = data[_PATH_LENGTH.size : end].decode(errors="replace"), data[end:]
        if path in SHARED_PATHS:
            if kind == _LINE:
                return SharedLine(path, content)
            return SharedFile(path, _decompressed(content) if kind == _COMPRESSED_FILE else content)
    raise EntryRefused(
        f"an entry of {len(data)} bytes that begins with {kind!r} is not a piece of the commit log, a table's file, a "
        "line of a table's journal or a deletion that this version knows"
    )


def _topics_in(data: bytes) -> tuple[str, ...]:
    try:
        return tuple(data.decode().split("\n"))
    except UnicodeDecodeError as error:
        raise EntryRefused(f"the names of deleted topics cannot be read: {error}") from error


def _decompressed(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, _FILE_MAX_BYTES)
    except zlib.error as error:
        raise EntryRefused(f"a table's file cannot be decompressed: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise EntryRefused(f"a table's file of more than {_FILE_MAX_BYTES} bytes, or not a whole one")
    return content


#: What a new leader needs besides the messages (RocketMQ's ``SlaveSynchronize`` copies the same to a slave).
SHARED_PATHS = tuple(
    f"config/{name}.json" for name in ("topics", "subscriptionGroup", "consumerOffset", "delayOffset", "consumerFilter")
)
