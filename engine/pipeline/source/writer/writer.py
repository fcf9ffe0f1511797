"""``df.write.format("rocketmq")`` and ``df.writeStream.format("rocketmq")``: the writers that Spark calls in driver and
tasks.

Both accept Arrow record batches, because rows as Python tuples cost ten times as much. A batch write has no commit of
its own: a message is visible to consumers once it is sent, so a write that fails half-way leaves what it has sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import Briefly, RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_replay import identify, write_notes
from engine.pipeline.source.writer.writer_rows import RowReader, check_columns
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.errors import ProtocolError

#: Every Nth micro-batch, the place from which a repetition would have to search is noted.
_NOTE_EVERY_BATCHES = 10


@dataclass
class SentPartition(WriterCommitMessage):
    """Result of a task for the driver.

    :ivar name: name of the query, see :class:`~engine.pipeline.source.writer.writer_replay.WriteIdentity`.
    :ivar firsts: the lowest offset of the partition's messages in each queue.
    """

    name: str
    firsts: dict[QueueKey, int] = field(default_factory=dict)


class MessageWriter(DataSourceArrowWriter):
    """Writes a DataFrame.

    :param planned: ends of the queues before the write began; a task that is tried again searches no further back.
    """

    def __init__(self, options: WriteOptions, planned: Mapping[QueueKey, int]) -> None:
        self._options = options
        self._planned = dict(planned)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SentPartition:
        """Write a partition in a task. Raises :class:`RocketMQError`."""
        return _send_partition(self._options, iterator, self._planned, is_stream=False)


class MessageStreamWriter(DataSourceStreamArrowWriter):
    """Writes the micro-batches of a query."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SentPartition:
        """Write a partition of a micro-batch in a task. Raises :class:`RocketMQError`."""
        return _send_partition(self._options, iterator, {}, is_stream=True)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Note the place of a micro-batch; called in the driver when all its tasks have ended.

        The note is where this micro-batch begins, not where it ends: Spark may still fail to record that it is done.
        """
        if batchId % _NOTE_EVERY_BATCHES:
            return
        firsts: dict[QueueKey, int] = {}
        sent = [message for message in messages if isinstance(message, SentPartition)]
        for partition in sent:
            for queue, offset in partition.firsts.items():
                firsts[queue] = min(offset, firsts.get(queue, offset))
        if not firsts:
            return
        # An older note is also valid, only slower to read from.
        with suppress(RocketMQError, ProtocolError), closing(Cluster(self._options.cluster)) as cluster:
            for topic in dict.fromkeys(queue.topic for queue in firsts):
                cluster.writable_queues(topic)  # finds the brokers
            write_notes(cluster, sent[0].name, firsts)


def make_writer(schema: StructType, options: Mapping[str, str], overwrite: bool) -> MessageWriter:
    """Return the writer of a batch. Raises :class:`RocketMQError` for wrong options and columns, and if the topic
    cannot be written to.
    """
    parsed = _check(schema, options, overwrite)
    planned: Mapping[QueueKey, int] = {}
    # A write with a name may be a repetition of one that began long ago.
    if parsed.topic is not None and parsed.transaction_id is None:
        with closing(Cluster(parsed.cluster)) as cluster:
            planned = cluster.max_offsets(cluster.writable_queues(parsed.topic))
    return MessageWriter(parsed, planned)


def make_stream_writer(schema: StructType, options: Mapping[str, str], overwrite: bool) -> MessageStreamWriter:
    """Return the writer of a stream. Raises :class:`RocketMQError` for wrong options and columns."""
    return MessageStreamWriter(_check(schema, options, overwrite))


def _check(schema: StructType, options: Mapping[str, str], overwrite: bool) -> WriteOptions:
    if overwrite:
        raise RocketMQError("ROCKETMQ_WRONG_OPTION", "a topic cannot be overwritten; write with mode('append')")
    parsed = WriteOptions.parse(options)
    check_columns(schema, parsed.topic)
    return parsed


def _send_partition(
    options: WriteOptions, batches: Iterator[pa.RecordBatch], planned: Mapping[QueueKey, int], *, is_stream: bool
) -> SentPartition:
    with Briefly(), closing(Cluster(options.cluster)) as cluster:
        identity = identify(options, is_stream=is_stream)
        reader = RowReader(options.topic, copies_messages=options.copies_messages)
        sender = PartitionSender(options, identity, cluster, planned)
        for batch in batches:
            sender.send(reader.read(batch))
        sender.finish()
    return SentPartition(identity.name, sender.firsts)
