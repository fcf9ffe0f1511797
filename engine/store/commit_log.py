"""The commit log: every message of every topic, in the order in which they came (RocketMQ: ``CommitLog``).

Encoding, the choice of the place and the write are one synchronous step: where RocketMQ takes ``putMessageLock``, an
engine that runs on one thread needs nothing. Simplified: no write buffer outside the page cache
(``TransientStorePool``), no file allocated ahead (a sparse file takes microseconds to make).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from engine.protocol.addresses import encode_host
from engine.protocol.message_codec import (
    BLANK_MAGIC,
    BLANK_MIN_SIZE_BYTES,
    MESSAGE_MAGIC,
    encode_stored_parts,
)
from engine.protocol.message_properties import PROPERTIES_MAX_BYTES
from engine.protocol.names import SCHEDULE_TOPIC, TOPIC_MAX_LENGTH
from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6
from engine.runtime.port import Clock, Disk
from engine.store.consume_queue import ConsumeQueue
from engine.store.consume_queue_table import ConsumeQueueTable
from engine.store.dispatch_request import DispatchRequest, belongs_in_consume_queue
from engine.store.mapped_file import MappedFile
from engine.store.mapped_file_queue import MappedFileQueue
from engine.store.mapping_pool import MappingPool
from engine.store.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.store_config import MessageStoreConfig
from engine.store.store_message import StoreMessage
from engine.store.stored_record import deliver_timestamp, is_record_at

FOLDER = "commitlog"

#: What an encoded message may have beyond its body (RocketMQ: ``CommitLog.MessageExtEncoder``).
ENVELOPE_MAX_BYTES = 64 * 1024

# The store writes IPv4 messages with one precompiled struct of its own: a call of the codec with fourteen named
# arguments costs as much as the packing. A test holds both to the same bytes.
_FIXED_IPV4 = struct.Struct(">iiIiiqqiq8sq8siqi")
_FIXED_IPV4_BYTES = 88
_PROPERTIES_LENGTH = struct.Struct(">H")
_BLANK = struct.Struct(">ii")
_IPV4_HOST_BYTES = 8


class MessageRefused(Exception):
    """The message cannot be stored; ``status`` says what the sender is told."""

    def __init__(self, status: PutMessageStatus, remark: str) -> None:
        super().__init__(remark)
        self.status = status


class CommitLog:
    """Appends messages and reads them back.

    :ivar max_offset: behind the last byte written.
    :ivar flushed_offset: everything before it is durable.
    :ivar last_store_timestamp: of the newest message, ms.
    """

    def __init__(
        self, disk: Disk, pool: MappingPool, clock: Clock, config: MessageStoreConfig, consume_queues: ConsumeQueueTable
    ) -> None:
        self.files = MappedFileQueue(disk, pool, FOLDER, config.mapped_file_size_commit_log)
        self.max_offset = 0
        self.flushed_offset = 0
        self.last_store_timestamp = 0
        self._now_ms = clock.now_ms
        self._consume_queues = consume_queues
        self._delay_levels_ms = config.delay_levels_ms
        self._max_message_size = config.max_message_size
        self._max_record_size = config.max_message_size + ENVELOPE_MAX_BYTES
        self._current: MappedFile | None = None

    @property
    def min_offset(self) -> int:
        """Where the oldest file begins."""
        return self.files.start_offset

    def continue_at(self, offset: int, flushed_offset: int) -> None:
        """Append from ``offset`` on; what lies behind it has been cleared. For the end of recovery."""
        self.max_offset = offset
        self.flushed_offset = flushed_offset
        self._current = self.files.find(offset)

    # --- appending ---------------------------------------------------------------------------------------------------

    def put_message(self, message: StoreMessage) -> tuple[PutMessageResult, DispatchRequest]:
        """Append one message. Raises :class:`MessageRefused`, ``DiskFull``, ``DiskFault``; then nothing was stored."""
        properties = self._checked_properties(message)
        queue = self._consume_queues.get_or_create(message.topic, message.queue_id)
        now_ms = self._now_ms()
        in_queue = belongs_in_consume_queue(message.sys_flag)
        queue_offset = queue.next_offset if in_queue else 0
        offset = self.max_offset
        record, store_host = self._encode(message, properties, queue, queue_offset, offset, now_ms)
        size = len(record)
        file = self._current
        if file is None or offset + size + BLANK_MIN_SIZE_BYTES > file.end_offset:
            file = self._roll(size)
            if offset != self.max_offset:
                # The place moved to the next file, and with it the physical offset inside the record.
                offset = self.max_offset
                record, store_host = self._encode(message, properties, queue, queue_offset, offset, now_ms)
        file.file.write_at(offset - file.start_offset, record)
        self.max_offset = offset + size
        self.last_store_timestamp = now_ms
        if in_queue:
            queue.next_offset = queue_offset + 1
        result = PutMessageResult(PutMessageStatus.PUT_OK, "", offset, queue_offset, now_ms, size, store_host)
        return result, self._request(message, queue_offset, offset, size, now_ms)

    def put_messages(self, messages: Sequence[StoreMessage]) -> tuple[PutMessageResult, list[DispatchRequest]]:
        """Append messages of one topic and queue side by side in one file, with one write: all of them or none."""
        first = messages[0]
        properties = [self._checked_properties(message) for message in messages]
        if not all(
            message.topic == first.topic
            and message.queue_id == first.queue_id
            and belongs_in_consume_queue(message.sys_flag)
            for message in messages
        ):
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL, "a batch must go to one queue and cannot be transactional"
            )
        queue = self._consume_queues.get_or_create(first.topic, first.queue_id)
        now_ms = self._now_ms()
        encoded = self._encode_batch(messages, properties, queue, now_ms)
        size = sum(map(len, encoded))
        if size > self._max_record_size:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"stored, the batch would take {size} bytes; allowed: {self._max_record_size}",
            )
        file = self._current
        start = self.max_offset
        if file is None or start + size + BLANK_MIN_SIZE_BYTES > file.end_offset:
            file = self._roll(size)
            if start != self.max_offset:
                start = self.max_offset
                encoded = self._encode_batch(messages, properties, queue, now_ms)
        file.file.write_at(start - file.start_offset, b"".join(encoded))
        self.max_offset = start + size
        self.last_store_timestamp = now_ms
        first_queue_offset = queue.next_offset
        queue.next_offset += len(messages)
        requests = []
        offset = start
        for index, (message, record) in enumerate(zip(messages, encoded, strict=True)):
            requests.append(self._request(message, first_queue_offset + index, offset, len(record), now_ms))
            offset += len(record)
        result = PutMessageResult(
            PutMessageStatus.PUT_OK,
            "",
            start,
            first_queue_offset,
            now_ms,
            size,
            _host_bytes(first.store_host),
            tuple([request.commit_log_offset for request in requests]),
        )
        return result, requests

    def _encode_batch(
        self, messages: Sequence[StoreMessage], properties: list[bytes], queue: ConsumeQueue, now_ms: int
    ) -> list[bytes]:
        offset = self.max_offset
        queue_offset = queue.next_offset
        encoded = []
        for message, text in zip(messages, properties, strict=True):
            record, _ = self._encode(message, text, queue, queue_offset, offset, now_ms)
            encoded.append(record)
            offset += len(record)
            queue_offset += 1
        return encoded

    def _checked_properties(self, message: StoreMessage) -> bytes:
        """The properties as bytes. Raises :class:`MessageRefused` when the message does not fit its layout."""
        text = message.properties_string
        properties = text.encode() if isinstance(text, str) else text
        if len(properties) > PROPERTIES_MAX_BYTES:
            raise MessageRefused(
                PutMessageStatus.PROPERTIES_SIZE_EXCEEDED,
                f"the properties take {len(properties)} bytes; allowed: {PROPERTIES_MAX_BYTES}",
            )
        if len(message.body) > self._max_message_size:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"the body takes {len(message.body)} bytes; allowed: {self._max_message_size}",
            )
        if not 0 < len(message.topic) <= TOPIC_MAX_LENGTH:
            raise MessageRefused(
                PutMessageStatus.MESSAGE_ILLEGAL,
                f"the topic has {len(message.topic)} characters; allowed: 1 to {TOPIC_MAX_LENGTH}",
            )
        return properties

    def _encode(
        self,
        message: StoreMessage,
        properties: bytes,
        queue: ConsumeQueue,
        queue_offset: int,
        offset: int,
        now_ms: int,
    ) -> tuple[bytes, bytes]:
        """``(stored form, store host as bytes)``."""
        body = message.body
        born_host = _host_bytes(message.born_host)
        store_host = _host_bytes(message.store_host)
        if len(born_host) != _IPV4_HOST_BYTES or len(store_host) != _IPV4_HOST_BYTES:
            return _encode_ipv6(message, properties, queue_offset, offset, now_ms, born_host, store_host), store_host
        topic_block = queue.topic_block
        body_length = len(body)
        fixed = _FIXED_IPV4.pack(
            _FIXED_IPV4_BYTES + body_length + len(topic_block) + 2 + len(properties),
            MESSAGE_MAGIC,
            zlib.crc32(body) & 0x7FFFFFFF,
            message.queue_id,
            message.flag,
            queue_offset,
            offset,
            message.sys_flag,
            message.born_timestamp,
            born_host,
            now_ms,
            store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            body_length,
        )
        length = _PROPERTIES_LENGTH.pack(len(properties))
        return b"".join((fixed, body, topic_block, length, properties)), store_host

    def _request(
        self, message: StoreMessage, queue_offset: int, offset: int, size: int, now_ms: int
    ) -> DispatchRequest:
        tags_code = message.tags_code
        if message.delay_level and message.topic == SCHEDULE_TOPIC:
            tags_code = deliver_timestamp(now_ms, message.delay_level, self._delay_levels_ms)
        return DispatchRequest(
            message.topic,
            message.queue_id,
            queue_offset,
            offset,
            size,
            tags_code,
            now_ms,
            message.sys_flag,
            message.keys,
            message.unique_key,
        )

    def _roll(self, size: int) -> MappedFile:
        """A file with room for ``size`` bytes at ``max_offset``, which moves there. Raises as ``put_message``."""
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
        # The blank first: should the disk have no room for the new file, the next message that fits overwrites it.
        rest = old.end_offset - self.max_offset
        if rest >= BLANK_MIN_SIZE_BYTES:
            old.file.write_at(self.max_offset - old.start_offset, _BLANK.pack(rest, BLANK_MAGIC))
        new = self.files.append_file(old.end_offset)
        self.max_offset = old.end_offset
        self._current = new
        return new

    # --- reading -----------------------------------------------------------------------------------------------------

    def read_record(self, offset: int, size: int) -> bytes | None:
        """The stored message at ``offset``, or None when no message of that size lies there."""
        file = self.files.find(offset)
        if file is None or offset + size > min(file.end_offset, self.max_offset):
            return None
        data = file.file.read_at(offset - file.start_offset, size)
        return data if is_record_at(data, 0, size, offset) else None

    def record_at(self, offset: int) -> bytes | None:
        """The stored message that begins at ``offset``, or None when none does."""
        file = self.files.find(offset)
        if file is None or offset + _BLANK.size > min(file.end_offset, self.max_offset):
            return None
        size, magic = _BLANK.unpack(file.file.read_at(offset - file.start_offset, _BLANK.size))
        return self.read_record(offset, size) if magic == MESSAGE_MAGIC and size > 0 else None

    # --- flushing ----------------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Make everything durable that was written before the call. Raises ``DiskFault``."""
        end = self.max_offset
        for file, first, last in self.files.parts(self.flushed_offset, end):
            await file.file.flush(first, last)
            self.flushed_offset = max(self.flushed_offset, file.start_offset + last)

    def flush_now(self) -> None:
        """As :meth:`flush`, but blocks."""
        self.files.flush_now(self.flushed_offset, self.max_offset)
        self.flushed_offset = self.max_offset


def _host_bytes(host: str | bytes) -> bytes:
    return host if isinstance(host, bytes) else encode_host(host)


def _encode_ipv6(
    message: StoreMessage,
    properties: bytes,
    queue_offset: int,
    offset: int,
    now_ms: int,
    born_host: bytes,
    store_host: bytes,
) -> bytes:
    sys_flag = message.sys_flag
    if len(born_host) != _IPV4_HOST_BYTES:
        sys_flag |= BORN_HOST_V6
    if len(store_host) != _IPV4_HOST_BYTES:
        sys_flag |= STORE_HOST_V6
    return encode_stored_parts(
        topic=message.topic.encode(),
        body=message.body,
        properties=properties,
        queue_id=message.queue_id,
        flag=message.flag,
        queue_offset=queue_offset,
        physical_offset=offset,
        sys_flag=sys_flag,
        born_timestamp=message.born_timestamp,
        born_host=born_host,
        store_timestamp=now_ms,
        store_host=store_host,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
    )
