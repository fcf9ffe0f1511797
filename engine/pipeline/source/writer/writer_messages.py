"""Rows in the form in which they are sent, in a batch or alone; and rows that cannot be sent at all.

A broker's limit counts sent bytes (RocketMQ: ``maxMessageSize``, for a body, and for a batch as a whole). So a message
that does not fit into a batch is sent alone, and a body that is still too long is compressed with zlib, as RocketMQ's
producers do with all bodies from 4 KiB on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_rows import PROPERTY_SPARK_TRANSACTION, OutgoingRow, RowReader, wrong_row
from engine.protocol.message.batch_codec import encode_batched_message
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES, ZLIB_SYSTEM_FLAG, compress_body
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES, PROPERTY_UNIQUE_KEY, encode_properties
from engine.protocol.message.record_layout import FIXED_SIZE_BYTES
from engine.protocol.names import RETRY_GROUP_TOPIC_PREFIX

#: Size that brokers add to each message of a batch: properties WAIT and CLUSTER; generous, as the cluster's name is
#: unknown.
_ADDED_BYTES = 160
#: As long as any id: a number of a write may have 19 digits.
_SOME_UNIQUE_ID = "0" * 32
_SOME_PREFIX = f"{'0' * 16}/{'0' * 19}/{'0' * 6}/"


@dataclass(slots=True)
class Pending:
    """One message that is ready to be sent.

    :ivar content: content of the request: the message as encoded in a batch, or the body of one that is sent alone.
    :ivar sys_flag: says how the body of one that is sent alone is compressed.
    :ivar is_movable: whether any queue will do.
    :ivar travels_alone: RocketMQ does not accept in a batch a delayed message, one for a retry topic, or one that is
        too long.
    """

    row: OutgoingRow
    unique_id: str
    content: bytes
    sys_flag: int
    is_movable: bool
    travels_alone: bool

    @property
    def stored_bytes(self) -> int:
        """Return about how many bytes of the log the message will take."""
        return len(self.content) + len(self.row.topic) + FIXED_SIZE_BYTES + _ADDED_BYTES


def make_pending(row: OutgoingRow, unique_id: str, prefix: str, max_message_bytes: int) -> Pending:
    """Return ``row`` with its ids, ready to be sent. Raises ``ROCKETMQ_WRONG_ROW`` if no broker accepts it.

    :param prefix: prefix of the transaction, see :class:`~engine.pipeline.source.writer.writer_replay.WriteIdentity`.
    """
    row.properties[PROPERTY_UNIQUE_KEY] = unique_id
    row.properties[PROPERTY_SPARK_TRANSACTION] = prefix + row.fingerprint
    properties = encode_properties(row.properties).encode()
    if len(properties) + _ADDED_BYTES > PROPERTIES_MAX_BYTES:
        raise wrong_row(
            row.number,
            f"keys, tags and properties take {len(properties)} bytes; allowed: at most "
            f"{PROPERTIES_MAX_BYTES - _ADDED_BYTES}",
        )
    is_movable = row.queue_id is None and row.sharding_key is None
    if not row.is_delayed and not row.topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
        content = encode_batched_message(0, row.body, properties)
        if len(content) <= max_message_bytes:
            return Pending(row, unique_id, content, 0, is_movable, travels_alone=False)
    if len(row.body) > DECOMPRESSED_MAX_BYTES:
        raise wrong_row(
            row.number,
            f"'body' has {len(row.body)} bytes; allowed: at most {DECOMPRESSED_MAX_BYTES}, however well they compress: "
            "readers do not decompress more",
        )
    content, sys_flag = row.body, 0
    if len(content) > max_message_bytes:
        content, sys_flag = compress_body(content), ZLIB_SYSTEM_FLAG
    if len(content) > max_message_bytes:
        raise wrong_row(
            row.number,
            f"'body' has {len(row.body)} bytes, compressed {len(content)}; allowed: at most {max_message_bytes} "
            "(option maxMessageBytes, and maxMessageSize of the broker)",
        )
    return Pending(row, unique_id, content, sys_flag, is_movable, travels_alone=True)


def find_refusals(options: WriteOptions) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``DataFrame.mapInArrow``: all rows in order, with one more column.

    It is the string ``refusal``: why this row cannot be written with ``options``; null if it can.
    """

    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = RowReader(options.topic, copies_messages=options.copies_messages)
        for batch in batches:
            refusals = [_refusal(row, options) for row in reader.read_each(batch)]
            yield batch.append_column("refusal", pa.array(refusals, pa.string()))

    return check


def _refusal(row: OutgoingRow | RocketMQError, options: WriteOptions) -> str | None:
    if isinstance(row, RocketMQError):
        return row.text
    try:
        make_pending(row, _SOME_UNIQUE_ID, _SOME_PREFIX, options.max_message_bytes)
    except RocketMQError as error:
        return error.text
    return None
