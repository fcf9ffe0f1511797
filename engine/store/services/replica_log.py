"""The log of a slave, which appends its master's data and makes the messages visible (RocketMQ:
``DefaultMessageStore.appendToCommitLog``, ``ReputMessageService``).

Pieces are bytes of the master's files, cut anywhere: a message is dispatched when its last byte has arrived. Both logs
are identical byte by byte, so their files must have the same size.
"""

from __future__ import annotations

import logging

from engine.protocol.message.record_layout import BLANK_MAGIC, BLANK_MIN_SIZE_BYTES, MESSAGE_MAGIC, SIZE_AND_MAGIC
from engine.store.log.commit_log import CommitLog
from engine.store.log.record_check import may_lack_sector
from engine.store.log.stored_record import parse_record
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.services.message_dispatcher import MessageDispatcher

_log = logging.getLogger("glassmq.store")


class WrongPiece(Exception):
    """Data from the master does not continue the log here."""


class ReplicaLog:
    """A slave's copy of the master's log."""

    def __init__(self, log: CommitLog, dispatcher: MessageDispatcher, delay_levels_ms: tuple[int, ...]) -> None:
        self._log = log
        self._dispatcher = dispatcher
        self._delay_levels_ms = delay_levels_ms
        #: Where the first invisible message begins: after recovery the end of the log.
        self._read_to = log.max_offset

    @property
    def end_offset(self) -> int:
        """Return the offset after the last byte."""
        return self._log.max_offset

    def cut_to_whole(self) -> None:
        """Cut the beginning of a message whose rest has not arrived: the next sender sends all of it."""
        if self._log.files.files:
            self._log.continue_at(self._read_to, min(self._log.flushed_offset, self._read_to))

    def append(self, offset: int, data: bytes) -> None:
        """Append ``data`` from ``offset`` of the master's log. Raises :class:`WrongPiece`, ``DiskFull``,
        ``DiskFault``.
        """
        log = self._log
        if not log.files.files and data:
            # An empty slave begins where its master's newest file does.
            self._read_to = offset
        elif offset != log.max_offset:
            raise WrongPiece(f"the master sends byte {offset}; this log ends at {log.max_offset}")
        if data:
            log.append_raw(offset, data)
            self._dispatch()

    def _dispatch(self) -> None:
        requests: list[DispatchRequest] = []
        while (request := self._next()) is not None:
            requests.append(request)
            self._read_to = request.end_offset
        if requests:
            self._log.last_store_timestamp = requests[-1].store_timestamp
            self._dispatcher.add_all(requests)

    def _next(self) -> DispatchRequest | None:
        """Return the next message that has arrived completely, or None."""
        log = self._log
        while True:
            file = log.files.find(self._read_to)
            if file is None or self._read_to + BLANK_MIN_SIZE_BYTES > log.max_offset:
                return None
            size, magic = SIZE_AND_MAGIC.unpack(log.read_bytes(self._read_to, SIZE_AND_MAGIC.size))
            rest = file.end_offset - self._read_to
            if magic == BLANK_MAGIC and size != rest:
                raise WrongPiece(
                    f"the master's file ends {size} bytes after {self._read_to}, this one's {rest}: give both the "
                    "same mappedFileSizeCommitLog, and begin with an empty folder"
                )
            if magic not in (BLANK_MAGIC, MESSAGE_MAGIC) or not 0 < size <= rest:
                raise WrongPiece(f"what the master sent for byte {self._read_to} is not a message")
            if self._read_to + size > log.max_offset:
                return None
            if magic == MESSAGE_MAGIC:
                data = log.read_bytes(self._read_to, size)
                request = parse_record(data, 0, self._read_to, self._delay_levels_ms)
                if request is not None:
                    if may_lack_sector(data, self._read_to - file.start_offset):
                        log.nul_end = request.end_offset
                    return request
                _log.error("the message at byte %d came damaged from the master", self._read_to)
            self._read_to += size
