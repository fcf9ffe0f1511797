"""The commit log: every message of every topic, in the order in which they came (RocketMQ: ``CommitLog``).

Encoding, allocation of the position and the write are one synchronous step: RocketMQ takes ``putMessageLock`` there,
but an engine that runs on one thread needs no lock. Simplified: no write buffer outside the page cache
(``TransientStorePool``), no file allocated ahead (a sparse file takes microseconds to make).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from engine.protocol.byte_strings import BytesWriter
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES
from engine.protocol.message.record_layout import (
    BLANK_MAGIC,
    BLANK_MIN_SIZE_BYTES,
    CRC_POSITION,
    IDENTITY,
    MESSAGE_MAGIC,
    QUEUE_ID_POSITION,
    QUEUE_OFFSET_POSITION,
    SIZE_AND_MAGIC,
)
from engine.protocol.message.record_writer import envelope_size, host_flags, write_record
from engine.protocol.names import SCHEDULE_TOPIC, TOPIC_MAX_LENGTH
from engine.runtime.port import Clock, Disk
from engine.store.files.mapped_file import MappedFile
from engine.store.files.mapped_file_queue import MappedFileQueue
from engine.store.files.mapping_pool import MappingPool
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.block_sums import BlockSums
from engine.store.log.damaged_records import DamagedRecord, DamagedRecords
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.log.record_check import RecordDamage, damage_of
from engine.store.log.store_batch import StoreBatch
from engine.store.log.store_message import StoreMessage
from engine.store.log.stored_record import deliver_timestamp
from engine.store.queues.consume_queue_table import ConsumeQueueTable
from engine.store.queues.dispatch_request import DispatchRequest, belongs_in_consume_queue

FOLDER: Final = "commitlog"

#: The maximum sizes of an encoded message's parts other than the body (RocketMQ: ``CommitLog.MessageExtEncoder``).
ENVELOPE_MAX_BYTES: Final = 64 * 1024


class MessageRefused(Exception):
    """The message cannot be stored; ``status`` is what the sender receives."""

    def __init__(self, status: PutMessageStatus, remark: str) -> None:
        super().__init__(remark)
        self.status = status


class CommitLog:
    """A log that appends messages and reads them back.

    :ivar max_offset: the offset after the last byte written.
    :ivar flushed_offset: everything before it is durable.
    :ivar last_store_timestamp: store time of the newest message, ms.
    :ivar damaged_records: requested messages that turned out to be damaged.
    :ivar sums: block sums of what was appended or scanned since the start.
    :ivar nul_end: end of the newest message whose properties contain a NUL. After a crash of the machine such a message
        may look as if a sector of it were lost, so it must be known by then that it was on disk.
    :ivar on_flushed: awaited with an offset when the log is on disk up to there and that must be recorded before it
        counts as flushed. May raise ``DiskFault``.
    :ivar max_batch_size: the maximum stored size of a batch in bytes; a batch is in one file. The late RocketMQ 4.9 has
        no other bound either, but its files are 1 GiB. Small messages grow: each one gets an envelope of 91 bytes, its
        topic, and the properties of the batch.
    """

    def __init__(
        self, disk: Disk, pool: MappingPool, clock: Clock, config: MessageStoreConfig, consume_queues: ConsumeQueueTable
    ) -> None:
        self.files = MappedFileQueue(disk, pool, FOLDER, config.mapped_file_size_commit_log, _belongs_at)
        self.max_offset = 0
        self.flushed_offset = 0
        self.last_store_timestamp = 0
        self.nul_end = 0
        self.on_flushed: Callable[[int], Awaitable[None]] | None = None
        self.damaged_records = DamagedRecords()
        self.sums = BlockSums()
        self._now_ms = clock.now_ms
        self._consume_queues = consume_queues
        self._delay_levels_ms = config.delay_levels_ms
        self._max_message_size = config.max_message_size
        self.max_batch_size = config.mapped_file_size_commit_log - BLANK_MIN_SIZE_BYTES
        self._current: MappedFile | None = None

    @property
    def min_offset(self) -> int:
        """Return the start of the oldest file."""
        return self.files.start_offset

    def continue_at(self, offset: int, flushed_offset: int) -> None:
        """Append from ``offset`` on, after recovery has cleared everything past it."""
        self.max_offset = offset
        self.flushed_offset = flushed_offset
        self._current = self.files.find(offset)

    # --- appending ---------------------------------------------------------------------------------------------------

    def put_message(self, message: StoreMessage) -> tuple[PutMessageResult, DispatchRequest]:
        """Append one message. Raises :class:`MessageRefused`, ``DiskFull``, ``DiskFault``; then nothing was stored."""
        body = message.body
        text = message.properties_string
        properties = text.encode() if isinstance(text, str) else text
        self._check(message.topic, len(body), len(properties))
        born_host, store_host = _host_bytes(message.born_host), _host_bytes(message.store_host)
        v6_flags = host_flags(born_host, store_host)
        sys_flag = message.sys_flag | v6_flags
        queue = self._consume_queues.get_or_create(message.topic, message.queue_id)
        size = envelope_size(v6_flags, queue.topic_block) + len(body) + len(properties)
        file = self._file_with_room(size)
        offset = self.max_offset
        in_queue = belongs_in_consume_queue(sys_flag)
        queue_offset = queue.next_offset if in_queue else 0
        now_ms = self._now_ms()
        writer = BytesWriter()
        write_record(
            writer,
            size,
            message.queue_id,
            message.flag,
            queue_offset,
            offset,
            sys_flag,
            message.born_timestamp,
            born_host,
            now_ms,
            store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            body,
            queue.topic_block,
            properties,
        )
        data = writer.getvalue()
        file.file.write_at(offset - file.start_offset, data)
        self.sums.add(file, offset, data)
        self.max_offset = offset + size
        self.last_store_timestamp = now_ms
        if 0 in properties:
            self.nul_end = self.max_offset
        if in_queue:
            queue.next_offset = queue_offset + 1
        result = PutMessageResult(PutMessageStatus.PUT_OK, "", offset, queue_offset, now_ms, size, store_host)
        tags_code = message.tags_code
        if message.delay_level and message.topic == SCHEDULE_TOPIC:
            tags_code = deliver_timestamp(now_ms, message.delay_level, self._delay_levels_ms)
        return result, DispatchRequest(
            message.topic,
            message.queue_id,
            queue_offset,
            offset,
            size,
            tags_code,
            now_ms,
            sys_flag,
            message.keys,
            message.unique_key,
        )

    def put_batch(self, batch: StoreBatch) -> tuple[PutMessageResult, list[DispatchRequest]]:
        """Append a batch with one write. Raises as :meth:`put_message`; then nothing of it was stored."""
        if not belongs_in_consume_queue(batch.sys_flag):
            raise MessageRefused(PutMessageStatus.MESSAGE_ILLEGAL, "a batch cannot be transactional")
        born_host, store_host = _host_bytes(batch.born_host), _host_bytes(batch.store_host)
        v6_flags = host_flags(born_host, store_host)
        queue = self._consume_queues.get_or_create(batch.topic, batch.queue_id)
        envelope = envelope_size(v6_flags, queue.topic_block)
        file = self._file_with_room(self._checked_batch_size(batch, envelope))
        start = self.max_offset
        now_ms = self._now_ms()
        writer = BytesWriter()
        requests = _write_members(
            writer,
            batch,
            envelope=envelope,
            sys_flag=batch.sys_flag | v6_flags,
            hosts=(born_host, store_host),
            topic_block=queue.topic_block,
            queue_offset=queue.next_offset,
            offset=start,
            now_ms=now_ms,
        )
        data = writer.getvalue()
        size = len(data)
        file.file.write_at(start - file.start_offset, data)
        self.sums.add(file, start, data, len(requests))
        self.max_offset = start + size
        self.last_store_timestamp = now_ms
        for _, _, properties, _, _, _ in batch.members:
            if 0 in properties:
                self.nul_end = self.max_offset
                break
        queue_offset = queue.next_offset
        queue.next_offset += len(requests)
        offsets = [request.commit_log_offset for request in requests]
        result = PutMessageResult(PutMessageStatus.PUT_OK, "", start, queue_offset, now_ms, size, store_host, offsets)
        return result, requests

    def _checked_batch_size(self, batch: StoreBatch, envelope_size: int) -> int:
        """Return the stored size of the whole batch. Raises :class:`MessageRefused` if a message or the batch does not
        fit.
        """
        size, largest_body, longest_properties = 0, 0, 0
        for _, body, properties, _, _, _ in batch.members:
            size += envelope_size + len(body) + len(properties)
            largest_body = max(largest_body, len(body))
            longest_properties = max(longest_properties, len(properties))
        try:
            self._check(batch.topic, largest_body, longest_properties)
        except MessageRefused:
            for number, (_, body, properties, _, _, _) in enumerate(batch.members):
                self._check(batch.topic, len(body), len(properties), whose=f"message {number} of the batch: ")
            raise
        if size > self.max_batch_size:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"stored, the {len(batch.members)} messages of the batch would take {size} bytes; allowed: "
                f"{self.max_batch_size} (mappedFileSizeCommitLog); send them in several batches",
            )
        return size

    def _check(self, topic: str, body_size: int, properties_size: int, whose: str = "") -> None:
        """Raise :class:`MessageRefused` if the message does not fit its layout. ``whose`` begins the remark."""
        if properties_size > PROPERTIES_MAX_BYTES:
            raise MessageRefused(
                PutMessageStatus.PROPERTIES_SIZE_EXCEEDED,
                f"{whose}the properties take {properties_size} bytes; allowed: {PROPERTIES_MAX_BYTES}",
            )
        if body_size > self._max_message_size:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"{whose}the body takes {body_size} bytes; allowed: {self._max_message_size} (maxMessageSize)",
            )
        if not 0 < len(topic) <= TOPIC_MAX_LENGTH:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"the topic has {len(topic)} characters; allowed: 1 to {TOPIC_MAX_LENGTH}",
            )

    def _file_with_room(self, size: int) -> MappedFile:
        """Return the current file if ``size`` bytes and a blank fit after ``max_offset``, or else a new one."""
        file = self._current
        if file is None or self.max_offset + size + BLANK_MIN_SIZE_BYTES > file.end_offset:
            return self._roll(size)
        return file

    def _roll(self, size: int) -> MappedFile:
        """Return a file with room for ``size`` bytes, and move ``max_offset`` to its start. Raises as
        ``put_message``.
        """
        allowed = self.files.file_size - BLANK_MIN_SIZE_BYTES
        if size > allowed:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"stored, this would take {size} bytes; a commit-log file has room for {allowed}",
            )
        old = self._current
        if old is None:
            self._current = new = self.files.append_file(self.max_offset)
            return new
        # The blank first: if the disk has no room for the new file, the next message that fits overwrites it.
        rest = old.end_offset - self.max_offset
        if rest >= BLANK_MIN_SIZE_BYTES:
            old.file.write_at(self.max_offset - old.start_offset, SIZE_AND_MAGIC.pack(rest, BLANK_MAGIC))
        new = self.files.append_file(old.end_offset)
        self.max_offset = old.end_offset
        self._current = new
        return new

    def append_raw(self, offset: int, data: bytes) -> None:
        """Append data from ``offset`` of another log, of which this one is a copy.

        Raises ``DiskFull``, ``DiskFault``; then nothing was appended.
        """
        assert offset == self.max_offset or not self.files.files
        done = 0
        while done < len(data):
            at = offset + done
            file = self._current
            if file is None or at >= file.end_offset:
                file = self._current = self.files.append_file(at)
            count = min(len(data) - done, file.end_offset - at)
            file.file.write_at(at - file.start_offset, data[done : done + count])
            done += count
        if not self.max_offset:
            self.flushed_offset = offset
        self.max_offset = offset + len(data)

    # --- reading -----------------------------------------------------------------------------------------------------

    def read_up_to(self, offset: int, limit: int) -> bytes:
        """Return at most ``limit`` bytes from ``offset`` on, all from one file; none if they are deleted or not yet
        written.
        """
        file = self.files.find(offset)
        if file is None:
            return b""
        return file.file.read_at(offset - file.start_offset, min(limit, min(file.end_offset, self.max_offset) - offset))

    def read_record(self, offset: int, size: int, is_vouched: bool = True) -> bytes | None:
        """Return the stored message at ``offset``, or None if there is no whole message of that size.

        :param is_vouched: a queue or the index points to ``offset``, so a fault there is damage. A client may name any
            offset, even one inside a body that looks like a message.
        """
        data = self.read_bytes(offset, size)
        damage = damage_of(data, 0, size, offset)
        if damage is None:
            return data
        if is_vouched and damage is not RecordDamage.NO_MESSAGE:  # else there may never have been one
            self.note_damaged(offset, damage, data)
        return None

    def note_damaged(self, offset: int, damage: RecordDamage, data: bytes) -> None:
        """Record the message at ``offset`` as damaged, with its queue if ``data``, its bytes, can still be read."""
        try:
            message = decode_stored_message(data, check_crc=False)
        except MalformedMessage:
            self.damaged_records.note(DamagedRecord(offset, damage))
        else:
            place = message.topic, message.queue_id, message.queue_offset
            self.damaged_records.note(DamagedRecord(offset, damage, *place))

    def read_bytes(self, offset: int, size: int) -> bytes:
        """Return the ``size`` bytes at ``offset``; none if they are not all in one file of the log."""
        file = self.files.find(offset)
        if file is None or size < 0 or offset + size > min(file.end_offset, self.max_offset):
            return b""
        return file.file.read_at(offset - file.start_offset, size)

    def record_at(self, offset: int, is_vouched: bool = False) -> bytes | None:
        """Return the stored message that begins at ``offset``, or None if no whole one does (:meth:`read_record`)."""
        file = self.files.find(offset)
        if file is None or offset + SIZE_AND_MAGIC.size > min(file.end_offset, self.max_offset):
            return None
        size, magic = SIZE_AND_MAGIC.unpack(file.file.read_at(offset - file.start_offset, SIZE_AND_MAGIC.size))
        return self.read_record(offset, size, is_vouched) if magic == MESSAGE_MAGIC and size > 0 else None

    def put_place_right(self, offset: int, queue_id: int, queue_offset: int) -> None:
        """Rewrite the queue id and the queue offset of the message at ``offset``. Raises ``DiskFault``."""
        self.files.write(offset + QUEUE_ID_POSITION, queue_id.to_bytes(4, "big"))
        self.files.write(offset + QUEUE_OFFSET_POSITION, queue_offset.to_bytes(8, "big"))

    def disown(self, offset: int) -> None:
        """Mark the message at ``offset`` as damaged for all readers: its CRC gets the sign bit, which no valid CRC has.

        Raises ``DiskFault``.
        """
        place = offset + CRC_POSITION
        self.files.write(place, bytes((self.files.read(place, 1)[0] | 0x80,)))

    # --- flushing ----------------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Make everything durable that was written before the call. Raises ``DiskFault``."""
        end = self.max_offset
        for file, first, last in self.files.parts(self.flushed_offset, end):
            await file.file.flush(first, last)
            reached = file.start_offset + last
            if self.on_flushed is not None and self.nul_end > self.flushed_offset:
                await self.on_flushed(reached)
            self.flushed_offset = max(self.flushed_offset, reached)

    def clear_from(self, offset: int, *, was_clean: bool) -> int:
        """Clear the log from ``offset`` on, and return how many nonzero bytes were cleared. For recovery.

        The zeros are made durable: a sector of a later message that a power cut loses must not read as what was there
        before. After a crash (not ``was_clean``) that may be left to do of an earlier recovery.
        """
        cleared = self.files.clear_from(offset)
        if cleared or not was_clean:
            self.files.flush_now(offset, self.files.end_offset)
        return cleared

    def flush_now(self) -> None:
        """Flush as :meth:`flush` does, but block."""
        self.files.flush_now(self.flushed_offset, self.max_offset)
        self.flushed_offset = self.max_offset


def _host_bytes(host: str | bytes) -> bytes:
    return host if isinstance(host, bytes) else encode_host(host)


def _write_members(
    writer: BytesWriter,
    batch: StoreBatch,
    *,
    envelope: int,
    sys_flag: int,
    hosts: tuple[bytes, bytes],
    topic_block: bytes,
    queue_offset: int,
    offset: int,
    now_ms: int,
) -> list[DispatchRequest]:
    """Write the messages of a batch from ``offset`` on and return the dispatch requests.

    This is the hottest loop of the broker: everything that the messages share is looked up once.
    """
    born_host, store_host = hosts
    topic, queue_id, born_timestamp = batch.topic, batch.queue_id, batch.born_timestamp
    reconsume_times = batch.reconsume_times
    requests: list[DispatchRequest] = []
    for flag, body, properties, tags_code, keys, unique_key in batch.members:
        size = envelope + len(body) + len(properties)
        # One argument per line would push the loop off the screen.
        # fmt: off
        write_record(writer, size, queue_id, flag, queue_offset, offset, sys_flag, born_timestamp, born_host, now_ms,
                     store_host, reconsume_times, 0, body, topic_block, properties)
        # fmt: on
        requests.append(
            DispatchRequest(topic, queue_id, queue_offset, offset, size, tags_code, now_ms, sys_flag, keys, unique_key)
        )
        offset += size
        queue_offset += 1
    return requests


def _belongs_at(head: bytes, offset: int) -> bool:
    """Return whether a file that begins with ``head`` begins with a message that was stored at ``offset``."""
    if len(head) < IDENTITY.size:
        return False
    _, magic, _, _, position = IDENTITY.unpack_from(head)
    return (magic, position) == (MESSAGE_MAGIC, offset)
