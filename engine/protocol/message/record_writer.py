"""The writer of stored messages, field by field (RocketMQ: ``CommitLog.MessageExtEncoder``). The layout is in
:mod:`engine.protocol.message.record_layout`.
"""

from __future__ import annotations

import zlib
from typing import Final

from engine.protocol.byte_strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from engine.protocol.message.record_layout import FIXED_PART, HOST_SIZES, MESSAGE_MAGIC, PROPERTIES_LENGTH

#: Sizes of born host and store host -> the flags that indicate them.
_HOST_FLAGS: Final = {sizes: flags for flags, sizes in HOST_SIZES.items()}


def host_flags(born_host: bytes, store_host: bytes) -> int:
    """Return the bits of the system flag that say how long these hosts are."""
    return _HOST_FLAGS[len(born_host), len(store_host)]


def envelope_size(host_flags: int, topic_block: bytes) -> int:
    """Return the size of a stored message without its body and its properties, in bytes."""
    return FIXED_PART[host_flags].size + len(topic_block) + PROPERTIES_LENGTH.size


def body_crc(body: bytes) -> int:
    """Return the CRC-32 of ``body`` without the sign bit, as RocketMQ stores it."""
    return zlib.crc32(body) & 0x7FFFFFFF


def write_record(
    writer: BytesWriter,
    size: int,
    queue_id: int,
    flag: int,
    queue_offset: int,
    commit_log_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    body: bytes,
    topic_block: bytes,
    properties: bytes,
) -> None:
    """Append a message to ``writer``: ``size`` bytes, its :func:`envelope_size` included.

    ``sys_flag`` has the :func:`host_flags`; ``topic_block`` is the length byte and the topic. Raises ``ValueError`` for
    a number that does not fit its field; the caller has checked the properties' length.
    """
    write_i32_be(writer, size)
    write_i32_be(writer, MESSAGE_MAGIC)
    write_i32_be(writer, body_crc(body))
    write_i32_be(writer, queue_id)
    write_i32_be(writer, flag)
    write_i64_be(writer, queue_offset)
    write_i64_be(writer, commit_log_offset)
    write_i32_be(writer, sys_flag)
    write_i64_be(writer, born_timestamp)
    writer.write(born_host)
    write_i64_be(writer, store_timestamp)
    writer.write(store_host)
    write_i32_be(writer, reconsume_times)
    write_i64_be(writer, prepared_transaction_offset)
    write_i32_be(writer, len(body))
    writer.write(body)
    writer.write(topic_block)
    write_i16_be(writer, len(properties))
    writer.write(properties)
