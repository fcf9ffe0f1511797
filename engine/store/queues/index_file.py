"""One file of the index from keys to messages: a hash table with chains, on disk (RocketMQ: ``IndexFile``).

    header  40 bytes  int64 begin timestamp | int64 end timestamp | int64 begin physical offset
                      | int64 end physical offset | int32 used slots | int32 next entry number (starts at 1)
    slots   4 bytes each: number of the newest entry with this hash modulo the slot count, 0 for none
    entries 20 bytes each: int32 key hash | int64 physical offset | int32 seconds since begin timestamp
                      | int32 number of the next older entry of the same slot

A key is ``topic#key``; hashes may collide, so a reader must compare the key of each message found.

After a clock was set back, messages arrive that are older than the begin timestamp. RocketMQ writes 0 seconds for them
and no longer finds them by their time. Here the space of entry 0, which the format leaves unused, contains the oldest
time (int64); 0 seconds then means any time from there to the end of the first second. The end timestamp is the newest
time, not the last one.

The file that is being written keeps its header and slots in memory and writes them when it is flushed. A scattered
write per key would cost more than all the rest. Nothing is lost: after a crash the newest file is rebuilt from the
commit log in any case, because it is unknown which of its pages reached the disk.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Final

from engine.protocol.byte_strings import BytesWriter, write_i32_be, write_i64_be
from engine.runtime.port import Disk
from engine.store.files.mapping_pool import MappingPool, PooledFile

HEADER: Final = struct.Struct(">qqqqii")
HEADER_FIELDS: Final = ("begin_timestamp", "end_timestamp", "begin_offset", "end_offset", "used_slots", "index_count")
ENTRY: Final = struct.Struct(">iqii")
ENTRY_FIELDS: Final = ("key_hash", "commit_log_offset", "seconds", "previous")
SLOT_SIZE_BYTES: Final = 4
HEADER_SIZE_BYTES: Final = HEADER.size
ENTRY_SIZE_BYTES: Final = ENTRY.size
assert (HEADER_SIZE_BYTES, ENTRY_SIZE_BYTES) == (40, 20)
_MAX_SECONDS: Final = 0x7FFFFFFF
_OLDEST: Final = struct.Struct(">q")


class IndexFile:
    """A hash table of fixed size.

    :ivar begin_timestamp: store time of the first message in it, ms; the entries count from there.
    :ivar oldest_timestamp, end_timestamp: store times of the oldest and the newest message in it, ms.
    :ivar begin_offset, end_offset: commit-log offsets of the first and the last message (of their first byte).
    :ivar index_count: number that the next entry gets.
    """

    __slots__ = (
        "_entries_at",
        "_index_num",
        "_pooled",
        "_slot_num",
        "_slots",
        "begin_offset",
        "begin_timestamp",
        "end_offset",
        "end_timestamp",
        "index_count",
        "is_dirty",
        "name",
        "oldest_timestamp",
        "path",
        "used_slots",
    )

    def __init__(self, disk: Disk, pool: MappingPool, folder: str, name: str, slot_num: int, index_num: int) -> None:
        self.name = name
        self.path = f"{folder}/{name}"
        self._slot_num = slot_num
        self._index_num = index_num
        self._entries_at = HEADER_SIZE_BYTES + slot_num * SLOT_SIZE_BYTES
        self._pooled = PooledFile(disk, pool, self.path, index_file_size(slot_num, index_num))
        header: tuple[int, ...] = HEADER.unpack(self._pooled.file.read_at(0, HEADER_SIZE_BYTES))
        self.begin_timestamp, self.end_timestamp, self.begin_offset, self.end_offset = header[:4]
        self.used_slots = header[4]
        self.index_count = max(1, header[5])
        self.oldest_timestamp = self.begin_timestamp
        if self.index_count > 1:
            (oldest,) = _OLDEST.unpack(self._pooled.file.read_at(self._entries_at, _OLDEST.size))
            self.oldest_timestamp = min(oldest, self.begin_timestamp) if oldest else self.begin_timestamp
        #: The slots, once a key has been put; None until they are read from the file.
        self._slots: array[int] | None = None
        self.is_dirty = False

    @property
    def is_full(self) -> bool:
        """Return True if no further key fits."""
        return self.index_count >= self._index_num

    @property
    def room(self) -> int:
        """Return how many further keys fit."""
        return self._index_num - self.index_count

    @property
    def is_plausible(self) -> bool:
        """Return False if the header cannot be valid: the file is torn or has another format."""
        if self.index_count == 1:
            return self.used_slots == 0
        return (
            1 < self.index_count <= self._index_num
            and 0 < self.used_slots < self.index_count
            and 0 <= self.begin_offset <= self.end_offset
            and self.begin_timestamp > 0
        )

    def put_keys(self, hashes: Sequence[int], offsets: Sequence[int], timestamps: Sequence[int]) -> None:
        """Add keys, at least one, in the order of the log: their hashes, and the offsets and store times of their
        messages.

        There must be ``room``. Raises ``DiskFull``, ``DiskFault``.
        """
        slots = self._slots
        if slots is None:
            slots = self._slots = self._read_slots()
        number = first = self.index_count
        if number == 1:
            self.begin_offset = offsets[0]
            self.begin_timestamp = self.oldest_timestamp = self.end_timestamp = timestamps[0]
        slot_num, begin_ms, used_slots = self._slot_num, self.begin_timestamp, self.used_slots
        writer = BytesWriter()
        for key_hash, offset, timestamp in zip(hashes, offsets, timestamps, strict=True):
            slot = key_hash % slot_num
            previous = slots[slot]
            if not 0 < previous < number:
                previous = 0
                used_slots += 1
            write_i32_be(writer, key_hash)
            write_i64_be(writer, offset)
            write_i32_be(writer, min(max(0, (timestamp - begin_ms) // 1000), _MAX_SECONDS))
            write_i32_be(writer, previous)
            slots[slot] = number
            number += 1
        self._pooled.file.write_at(self._entries_at + first * ENTRY_SIZE_BYTES, writer.getvalue())
        self.used_slots = used_slots
        self.index_count = number
        self.end_offset = offsets[-1]
        self.oldest_timestamp = min(self.oldest_timestamp, *timestamps)
        self.end_timestamp = max(self.end_timestamp, *timestamps)
        self.is_dirty = True

    def _read_slots(self) -> array[int]:
        slots = array("i", self._pooled.file.read_at(HEADER_SIZE_BYTES, self._slot_num * SLOT_SIZE_BYTES))
        assert slots.itemsize == SLOT_SIZE_BYTES
        if sys.byteorder == "little":
            slots.byteswap()
        return slots

    def _write_table(self) -> None:
        """Write the header and the slots."""
        header = HEADER.pack(
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.index_count,
        )
        file = self._pooled.file
        if self._slots is not None:
            slots = array("i", self._slots)
            if sys.byteorder == "little":
                slots.byteswap()
            file.write_at(HEADER_SIZE_BYTES, slots.tobytes())
        file.write_at(0, header)
        if self.oldest_timestamp < self.begin_timestamp:
            file.write_at(self._entries_at, _OLDEST.pack(self.oldest_timestamp))
        if self.is_full:
            self._slots = None  # it will not change any more, so it need not stay in memory

    def find(self, key_hash: int, begin_ms: int, end_ms: int) -> Iterator[int]:
        """Yield commit-log offsets of entries with this hash, stored from ``begin_ms`` to ``end_ms``, newest first.

        An entry's time is known to the second only, and that of an entry from before the begin timestamp not at all; an
        entry matches if any time that it may have is in the range.
        """
        number = self._slot(key_hash % self._slot_num)
        bound = self.index_count
        while 0 < number < bound:
            entry = self._pooled.file.read_at(self._entries_at + number * ENTRY_SIZE_BYTES, ENTRY_SIZE_BYTES)
            found_hash, commit_log_offset, seconds, previous = ENTRY.unpack(entry)
            latest_ms = self.begin_timestamp + seconds * 1000 + 999
            earliest_ms = latest_ms - 999 if seconds else self.oldest_timestamp
            if found_hash == key_hash and earliest_ms <= end_ms and latest_ms >= begin_ms:
                yield commit_log_offset
            bound = number  # a chain only leads to older entries, so a damaged one must not lead in circles
            number = previous

    def _slot(self, slot: int) -> int:
        if self._slots is not None:
            return self._slots[slot]
        position = HEADER_SIZE_BYTES + slot * SLOT_SIZE_BYTES
        return int.from_bytes(self._pooled.file.read_at(position, SLOT_SIZE_BYTES), "big", signed=True)

    def overlaps(self, begin_ms: int, end_ms: int) -> bool:
        """Return True if the file may contain messages stored from ``begin_ms`` to ``end_ms``."""
        # RocketMQ keeps the last time, which after a clock was set back may be older than the first one.
        newest_ms = max(self.begin_timestamp, self.end_timestamp)
        return self.index_count > 1 and self.oldest_timestamp <= end_ms and newest_ms >= begin_ms

    async def flush(self) -> None:
        """Make the file durable. Raises ``DiskFault``."""
        self._write_table()
        self.is_dirty = False
        try:
            await self._pooled.file.flush(0, self._pooled.size_bytes)
        except BaseException:
            self.is_dirty = True
            raise

    def flush_now(self) -> None:
        """Flush as :meth:`flush` does, but block."""
        self._write_table()
        self._pooled.file.flush_now()
        self.is_dirty = False

    def close(self) -> None:
        """Unmap the file."""
        self._pooled.close()


def index_file_size(slot_num: int, index_num: int) -> int:
    """Return the size of an index file in bytes."""
    return HEADER_SIZE_BYTES + slot_num * SLOT_SIZE_BYTES + index_num * ENTRY_SIZE_BYTES
