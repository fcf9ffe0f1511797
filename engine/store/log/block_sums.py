"""Checksums of the commit log's blocks, with which a read verifies that nothing changed. RocketMQ has no such
checksums.

Checking a message takes about 1.5 us, as much as all the rest of reading a small one. A CRC over a block takes 1 us for
4 KiB, detects every changed bit, and replaces that check for messages that were checked before: data that this process
appended or scanned (:mod:`engine.store.log.commit_log_walk`) has a sum, which a read compares with the current bytes,
wherever they come from. If a block has no sum, or a different one, each message is checked on its own. The sums are in
memory only and say nothing about earlier changes.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from typing import Final

from engine.store.files.mapped_file import MappedFile
from engine.store.queues.consume_queue import Entry

BLOCK_BYTES: Final = 4 * 1024
#: 4 GiB of log, 4 MB of memory. Beyond that, the sums of the files known for longest are dropped.
BLOCKS_MAX = 1 << 20
#: The maximum size of messages (in a batch: on average) that get a sum: checking a larger one takes no longer than
#: summing it.
MESSAGE_MAX_BYTES: Final = 4 * 1024


class BlockSums:
    """The sums of blocks: block ``n`` of a file begins at byte ``n * BLOCK_BYTES`` of it. One block is being filled;
    the others are complete.
    """

    __slots__ = ("_crc", "_end", "_of_files", "_start")

    def __init__(self) -> None:
        #: First byte of a file in the log -> the CRC of each of its whole blocks; 0: none.
        self._of_files: dict[int, array[int]] = {}
        #: The block that is being filled: its first byte in the log, the position after the last byte in the sum, and
        #: the CRC.
        self._start = self._end = -1
        self._crc = 0

    def add(self, file: MappedFile, offset: int, data: bytes, messages: int = 1) -> None:
        """Add ``data`` at ``offset`` of the log, in ``file``, as good: it was just written, or checked. Call in
        order.
        """
        size = len(data)
        if size > MESSAGE_MAX_BYTES * messages:
            return
        position = 0
        while position < size:
            at = offset + position
            in_block = (at - file.start_offset) % BLOCK_BYTES
            count = min(size - position, BLOCK_BYTES - in_block)
            if in_block == 0:
                self._start, self._end, self._crc = at, at, 0
            if at == self._end:  # else the beginning of the block is unknown
                self._crc = zlib.crc32(data[position : position + count], self._crc)
                self._end = at + count
                if in_block + count == BLOCK_BYTES:
                    self._keep(file)
            position += count

    def _keep(self, file: MappedFile) -> None:
        """Keep the sum of the block that was being filled, which is complete."""
        sums = self._of_files.get(file.start_offset)
        if sums is None:
            count = file.size_bytes // BLOCK_BYTES
            while self._of_files and sum([len(known) for known in self._of_files.values()]) + count > BLOCKS_MAX:
                del self._of_files[next(iter(self._of_files))]
            sums = self._of_files[file.start_offset] = array("I", bytes(4 * count))
        sums[(self._start - file.start_offset) // BLOCK_BYTES] = self._crc

    def hold(self, file: MappedFile, wanted: Sequence[Entry]) -> bool:
        """Return whether the blocks with the messages of ``wanted`` in ``file`` are unchanged since they were
        summed.
        """
        file_start, done = file.start_offset, 0
        sums = self._of_files.get(file_start)
        filled = -1
        if file_start <= self._start < file.end_offset:
            filled = (self._start - file_start) // BLOCK_BYTES
        for offset, size, _ in wanted:
            first, last = (offset - file_start) // BLOCK_BYTES, (offset + size - 1 - file_start) // BLOCK_BYTES
            # Entries that do not follow each other, or are before the file, are damaged.
            if size <= 0 or first < max(0, done - 1):
                return False
            if first <= filled <= last and offset + size > self._end:
                return False
            for block in range(max(first, done), last + 1):
                if not self._holds(file, block, sums, block == filled):
                    return False
            done = last + 1
        return True

    def _holds(self, file: MappedFile, block: int, sums: array[int] | None, is_being_filled: bool) -> bool:
        if is_being_filled:
            size, crc = self._end - self._start, self._crc
        elif sums is not None and 0 <= block < len(sums):
            size, crc = BLOCK_BYTES, sums[block]
        else:
            return False
        return crc != 0 and zlib.crc32(file.file.read_at(block * BLOCK_BYTES, size)) == crc
