"""A walk through one file of the commit log that separates valid messages from damage. RocketMQ scans its log only at a
start (``CommitLog.recoverNormally``) and stops at the first damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from engine.protocol.message.record_layout import (
    BLANK_MAGIC,
    BLANK_MIN_SIZE_BYTES,
    FIXED_SIZE_BYTES,
    MAGIC_POSITION,
    MESSAGE_MAGIC_BYTES,
    SIZE_AND_MAGIC,
)
from engine.store.files.mapped_file import MappedFile
from engine.store.log.record_check import RecordDamage, damage_of

_CHUNK_BYTES = 256 * 1024


class Stretch(NamedTuple):
    """A stretch of the log: one whole message, or, if ``data`` is empty, the bytes before the next one."""

    offset: int
    size_bytes: int
    data: bytes
    damage: RecordDamage | None


class CommitLogWalk:
    """One walk through ``file`` up to byte ``end`` of the log. It keeps no view, so the caller may wait at any point.

    :param is_newest: messages are still appended to ``file``; the others are full, and zeros in them are damage.
    """

    def __init__(self, file: MappedFile, end: int, *, is_newest: bool) -> None:
        self._file = file
        self._is_newest = is_newest
        self._end = min(end, file.end_offset)
        self._chunk = b""
        self._chunk_offset = file.start_offset

    def stretches(self) -> Iterator[Stretch]:
        """Yield the stretches in order. Zeros at the end of the newest file are not damage: they are not
        written yet.
        """
        offset = self._file.start_offset
        while offset + BLANK_MIN_SIZE_BYTES <= self._end and not self._file.is_removed:
            size, magic = SIZE_AND_MAGIC.unpack(self._read(offset, SIZE_AND_MAGIC.size))
            if magic == BLANK_MAGIC and size == self._file.end_offset - offset:
                return
            data = self._read(offset, size)
            damage = damage_of(data, 0, size, offset)
            if damage is not None:
                behind = self._next_whole(offset + 1)
                if behind is None and self._is_newest and self._is_zero_from(offset):
                    return
                data, size = b"", (self._end if behind is None else behind) - offset
            yield Stretch(offset, size, data, damage)
            offset += size

    def _next_whole(self, offset: int) -> int | None:
        """Return where the next valid message begins."""
        while offset + FIXED_SIZE_BYTES <= self._end:
            chunk = self._read(offset, min(_CHUNK_BYTES, self._end - offset))
            magic_at = chunk.find(MESSAGE_MAGIC_BYTES, MAGIC_POSITION)
            while magic_at >= 0:
                candidate = offset + magic_at - MAGIC_POSITION
                size, _ = SIZE_AND_MAGIC.unpack_from(chunk, magic_at - MAGIC_POSITION)
                if damage_of(self._read(candidate, size), 0, size, candidate) is None:
                    return candidate
                magic_at = chunk.find(MESSAGE_MAGIC_BYTES, magic_at + 1)
            # The magic may cross the end of the chunk, and its size precedes it.
            offset += max(1, len(chunk) - len(MESSAGE_MAGIC_BYTES) - MAGIC_POSITION + 1)
        return None

    def _is_zero_from(self, offset: int) -> bool:
        for start in range(offset, self._end, _CHUNK_BYTES):
            if self._read(start, min(_CHUNK_BYTES, self._end - start)).strip(b"\0"):
                return False
        return True

    def _read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes, or none if there are not as many. Reads ahead."""
        if length < 0 or offset + length > self._end:
            return b""
        at = offset - self._chunk_offset
        if at < 0 or at + length > len(self._chunk):
            count = min(max(length, _CHUNK_BYTES), self._end - offset)
            self._chunk = self._file.file.read_at(offset - self._file.start_offset, count)
            self._chunk_offset, at = offset, 0
        return self._chunk[at : at + length]
