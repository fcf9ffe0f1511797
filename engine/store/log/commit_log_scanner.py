"""A scanner that finds every whole message of the commit log (RocketMQ: ``CommitLog.recoverNormally``,
``recoverAbnormally``).

RocketMQ stops at the first bytes that are not a message and cuts the log there. That is right at the end of the log,
where a crash interrupted a write, but one bad sector in the middle then destroys everything after it. This scanner
searches on: a message contains its own offset, so one found further on is genuine, and only the bytes between are lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.protocol.message.record_layout import (
    BLANK_MAGIC,
    BLANK_MIN_SIZE_BYTES,
    FIXED_SIZE_BYTES,
    MAGIC_POSITION,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_BYTES,
    SIZE_AND_MAGIC,
)
from engine.store.files.mapped_file import MappedFile
from engine.store.files.mapped_file_queue import BLOCK_SIZE_BYTES, MappedFileQueue
from engine.store.log.record_check import may_lack_sector, rest_of_sector
from engine.store.log.stored_record import parse_record, predecessor_of
from engine.store.queues.dispatch_request import DispatchRequest


class CommitLogScanner:
    """One scan, with these results after its end:

    :ivar end_offset: the offset after the last whole message.
    :ivar damaged_ranges: ``(start, end)`` of ranges without a message that precede one.
    :ivar damaged_bytes: their total size. Both grow during the scan.
    :ivar torn: offsets of messages that count as damage because a sector of them may be lost.
    """

    def __init__(
        self,
        files: MappedFileQueue,
        delay_levels_ms: tuple[int, ...],
        quiet_end: int | None,
        torn_from: int | None = None,
    ) -> None:
        """Prepare a scan of ``files``.

        :param quiet_end: position from which zeros mean the end of the log, as after a normal shutdown. None: a crash
            may have lost pages anywhere, so the search continues after zeros.
        :param torn_from: position from which a crash of the machine may have lost sectors. None: nowhere.
        """
        self._files = files
        self._delay_levels_ms = delay_levels_ms
        self._quiet_end = quiet_end
        self._torn_from = torn_from
        self._block = b""
        self._block_offset = 0
        #: The position at which the next message or blank must begin if nothing is damaged.
        self._continues_at = 0
        self.end_offset = 0
        self.damaged_ranges: list[tuple[int, int]] = []
        self.damaged_bytes = 0
        self.torn: list[int] = []

    def scan(self, start_file: int) -> Iterator[DispatchRequest]:
        """Yield all whole messages from the file with number ``start_file`` on, in order."""
        files = self._files.files[start_file:]
        if files:
            self.end_offset = self._continues_at = files[0].start_offset
        for file in files:
            yield from self._scan_file(file, file.start_offset)
            file.close()  # unmap: data that was only read for the check need not stay in memory
        self._block = b""

    def predecessor(self, request: DispatchRequest) -> int | None:
        """Return the predecessor of ``request``, the message found last
        (:func:`~engine.store.log.stored_record.predecessor_of`).
        """
        return predecessor_of(self._block, request.commit_log_offset - self._block_offset)

    def scan_between(self, start: int, end: int) -> Iterator[DispatchRequest]:
        """Yield all whole messages from position ``start``, where one begins, to ``end``, in order.

        A caller that waits in between must stop if the oldest file has been deleted meanwhile.
        """
        for file, position, _ in self._files.parts(start, end):
            for request in self._scan_file(file, file.start_offset + position):
                if request.commit_log_offset >= end:
                    return
                yield request

    def _scan_file(self, file: MappedFile, offset: int) -> Iterator[DispatchRequest]:
        while offset + BLANK_MIN_SIZE_BYTES <= file.end_offset:
            at = self._cover(file, offset, SIZE_AND_MAGIC.size)
            size, magic = SIZE_AND_MAGIC.unpack_from(self._block, at)
            if magic == BLANK_MAGIC and size == file.end_offset - offset:
                self._whole_from(offset)
                self._continues_at = file.end_offset
                return
            request = self._parse(file, offset, size) if magic == MESSAGE_MAGIC else None
            if request is None:
                is_quiet = self._quiet_end is not None and offset >= self._quiet_end
                if is_quiet and size == 0 and magic == 0:
                    return
                found = self._search(file, offset + 1)
                if found is None:
                    return
                offset = found
                continue
            self._whole_from(offset)
            offset = self.end_offset = self._continues_at = request.end_offset
            yield request
        self._continues_at = file.end_offset

    def _whole_from(self, offset: int) -> None:
        """Record as damage the bytes between the expected position and ``offset``, where something whole begins."""
        if offset > self._continues_at:
            self.damaged_ranges.append((self._continues_at, offset))
            self.damaged_bytes += offset - self._continues_at

    def _parse(self, file: MappedFile, offset: int, size: int) -> DispatchRequest | None:
        if size < FIXED_SIZE_BYTES or offset + size > file.found_end_offset:
            return None
        at = self._cover(file, offset, size)
        request = parse_record(self._block, at, offset, self._delay_levels_ms)
        if request is not None and self._torn_from is not None and offset >= self._torn_from:
            position = offset - file.start_offset
            length = min(size + rest_of_sector(position + size), file.end_offset - offset)
            at = self._cover(file, offset, length)
            if may_lack_sector(self._block[at : at + size], position, self._block[at + size : at + length]):
                self.torn.append(offset)
                return None
        return request

    def _search(self, file: MappedFile, offset: int) -> int | None:
        """Return the position in ``file`` of the next whole message at or after ``offset``, or None."""
        while offset + FIXED_SIZE_BYTES <= file.end_offset:
            at = self._cover(file, offset, FIXED_SIZE_BYTES)
            magic_at = self._block.find(MESSAGE_MAGIC_BYTES, at + MAGIC_POSITION)
            if magic_at < 0:
                # The magic may cross the end of the block: go on with its last three bytes.
                offset = max(offset + 1, self._block_offset + len(self._block) - 3 - MAGIC_POSITION)
                continue
            candidate = self._block_offset + magic_at - MAGIC_POSITION
            size, _ = SIZE_AND_MAGIC.unpack_from(self._block, magic_at - MAGIC_POSITION)
            if self._parse(file, candidate, size) is not None:
                return candidate
            offset = candidate + 1
        return None

    def _cover(self, file: MappedFile, offset: int, length: int) -> int:
        """Load ``length`` bytes from ``offset`` of the log, which are in ``file``, into the block.

        Returns their position in the block. Reads ahead, so that most calls read nothing.
        """
        at = offset - self._block_offset
        if at < 0 or at + length > len(self._block):
            count = min(max(length, BLOCK_SIZE_BYTES), file.end_offset - offset)
            self._block = file.file.read_at(offset - file.start_offset, count)
            self._block_offset = offset
            at = 0
        return at
