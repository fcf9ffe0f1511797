"""The extension of a consume queue, with the bit maps for filters (RocketMQ: ``ConsumeQueueExt``). Off unless
``enable_consume_queue_ext`` is set.

    | int16 size | int64 tags code | int64 store time, ms | int16 length of the map | map |             20 bytes + map

The entry then contains, instead of its tags code, the *address* of the unit: its position in these files minus 2^63. No
tags code and no delivery time is that small, so the value itself shows which of the two it is. A file ends with size
-1.

A unit that cannot be read - files deleted, taken from a copy, or the setting is off now - only costs time: its message
is read instead. A unit of *another* message would be worse, because it could hide a matching message. Therefore units
are durable before the entries that point to them, and after a start new ones begin after every address in use.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from engine.runtime.port import Disk
from engine.store.files.mapped_file import MappedFile
from engine.store.files.mapped_file_queue import MappedFileQueue
from engine.store.files.mapping_pool import MappingPool

FOLDER: Final = "consumequeue_ext"

_BASE_ADDRESS: Final = -(2**63)
#: The greatest address; greater numbers are tags codes, which have 32 bits, or times.
MAX_ADDRESS: Final = -(2**31) - 1
#: The maximum distance of an address from the end of the files; addresses further past it come from a damaged entry.
_PLAUSIBLE_BYTES: Final = 1 << 40

_HEAD: Final = struct.Struct(">hqqh")
#: The size of a unit without its bit map.
UNIT_HEAD_BYTES: Final = _HEAD.size
_SIZE: Final = struct.Struct(">h")
_END_MARK: Final = _SIZE.pack(-1)
#: The space that RocketMQ keeps free at the end of a file.
_END_BLANK_BYTES: Final = 4


class ConsumeQueueExtUnit(NamedTuple):
    """One unit of the extension. ``bit_map`` is empty if no group filters the topic by an expression."""

    tags_code: int
    store_timestamp: int
    bit_map: bytes


def is_ext_address(tags_code: int) -> bool:
    """Return True if an entry contains the address of a unit."""
    return tags_code <= MAX_ADDRESS


class ConsumeQueueExt:
    """The units of one consume queue.

    :ivar end_offset: where the next unit goes; everything before it is final.
    """

    def __init__(self, disk: Disk, pool: MappingPool, topic: str, queue_id: int, file_size: int) -> None:
        self.files = MappedFileQueue(disk, pool, f"{FOLDER}/{topic}/{queue_id}", file_size)
        self.end_offset = 0
        self._flushed_offset = 0

    def put(self, unit: ConsumeQueueExtUnit) -> int:
        """Append ``unit`` and return its address. Raises ``DiskFull``, ``DiskFault``."""
        size = _HEAD.size + len(unit.bit_map)
        data = _HEAD.pack(size, unit.tags_code, unit.store_timestamp, len(unit.bit_map)) + unit.bit_map
        assert size + _END_BLANK_BYTES <= self.files.file_size, "the configuration checks that a file has room"
        file = self.files.find(self.end_offset)
        if file is not None and file.end_offset - self.end_offset < size + _END_BLANK_BYTES:
            if file.end_offset - self.end_offset >= len(_END_MARK):
                self.files.write(self.end_offset, _END_MARK)
            self.end_offset = file.end_offset
            file = None
        if file is None:
            self.files.append_file(self.end_offset)
        offset = self.end_offset
        self.files.write(offset, data)
        self.end_offset = offset + size
        return offset + _BASE_ADDRESS

    def get(self, address: int) -> ConsumeQueueExtUnit | None:
        """Return the unit at ``address``, or None."""
        offset = address - _BASE_ADDRESS
        if not is_ext_address(address) or not self.files.start_offset <= offset < self.end_offset:
            return None
        data = self.files.read(offset, _HEAD.size)
        if len(data) < _HEAD.size:
            return None
        size, tags_code, store_timestamp, map_length = _HEAD.unpack(data)
        if size != _HEAD.size + map_length or map_length < 0 or offset + size > self.end_offset:
            return None
        return ConsumeQueueExtUnit(tags_code, store_timestamp, self.files.read(offset + _HEAD.size, map_length))

    # --- start -------------------------------------------------------------------------------------------------------

    def load(self) -> list[str]:
        """Find the files and the position of the next unit. Return remarks for people."""
        remarks = self.files.load()
        if self.files.files:
            last = self.files.files[-1]
            end = self._end_of_units(last)
            # Units that entries point to may follow a hole: leave the file alone and begin the next one.
            self.end_offset = end if self.files.used_end(last) <= end else last.end_offset
        self._flushed_offset = self.end_offset
        return remarks

    def _end_of_units(self, file: MappedFile) -> int:
        """Return the position after the last unit that can be reached from the start of ``file``."""
        data = file.file.read_at(0, file.size_bytes)
        position = 0
        while position + _SIZE.size <= len(data):
            (size,) = _SIZE.unpack_from(data, position)
            if size < 0:
                return file.end_offset
            if size < _HEAD.size or position + size > len(data):
                break
            position += size
        return file.start_offset + position

    def continue_behind(self, address: int) -> None:
        """Place the next unit after ``address``, to which an entry of the queue points, whatever is stored there."""
        offset = address - _BASE_ADDRESS
        if self.end_offset <= offset < self.end_offset + _PLAUSIBLE_BYTES:
            behind = offset - offset % self.files.file_size + self.files.file_size
            self.end_offset = self._flushed_offset = max(behind, self.files.end_offset)

    # --- flush and retention -----------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Make all units durable. Raises ``DiskFault``."""
        end = self.end_offset
        await self.files.flush(self._flushed_offset, end)
        self._flushed_offset = max(self._flushed_offset, end)

    def flush_now(self) -> None:
        """Flush as :meth:`flush` does, but block."""
        self.files.flush_now(self._flushed_offset, self.end_offset)
        self._flushed_offset = self.end_offset

    def remove_before(self, address: int) -> int:
        """Delete the files that end before ``address``, but never the last one, and return how many were deleted."""
        offset = address - _BASE_ADDRESS
        count = sum(file.end_offset <= offset for file in self.files.files[:-1])
        self.files.remove_first(count)
        return count
