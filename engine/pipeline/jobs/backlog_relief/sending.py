"""Sends what was moved aside: batch by batch, each queue in its order, each message once.

What is sent next is committed before it is sent. A run that died in between is followed by one that sends the very same
messages in the same transaction, and the writer leaves out what the topic holds already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.backlog_relief.relief_folder import ReliefFolder
from engine.pipeline.jobs.backlog_relief.relief_state import MovedBatch, ReliefState, Sending
from engine.protocol.message_properties import PROPERTY_RETRY_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Where a message was before: "topic broker:queue offset".
PROPERTY_MOVED_FROM = "MOVED_FROM"
#: With which the sender chose the queue, where it did (RocketMQ: ``PROPERTY_SHARDING_KEY``).
PROPERTY_SHARDING_KEY = "__SHARDINGKEY"
#: Of a sending. Fixed: the name of a transaction holds the number of the partition, whatever machine does it.
PARTITIONS = 4


def _queue_name() -> Column:
    return F.concat(F.col("topic"), F.lit(" "), F.col("broker_name"), F.lit(":"), F.col("queue_id").cast("string"))


def rows_to_send(messages: DataFrame, topic: str) -> DataFrame:
    """Messages as rows for the writer, in the order in which they were stored.

    In their own topic they get back into their own queues. In another they are spread by the key that their sender
    had, else by the queue in which they were: what was in order stays so.
    """
    stays = F.col("topic") == topic
    moved_from = F.concat(F.col("queue"), F.lit(" "), F.col("queue_offset").cast("string"))
    # Under RETRY_TOPIC the group's listeners see what comes from their retry topic; elsewhere the writer drops it.
    said = F.create_map(F.lit(PROPERTY_MOVED_FROM), moved_from, F.lit(PROPERTY_RETRY_TOPIC), F.col("topic"))
    others = F.map_filter("properties", lambda name, _: ~name.isin(PROPERTY_MOVED_FROM, PROPERTY_RETRY_TOPIC))
    sharding_key = F.coalesce(F.element_at("properties", F.lit(PROPERTY_SHARDING_KEY)), F.col("queue"))
    ordered = (
        messages.withColumn("queue", _queue_name())
        .repartition(PARTITIONS, "queue")
        .sortWithinPartitions("queue", "queue_offset")
    )
    return ordered.select(
        F.lit(topic).alias("topic"),
        "body",
        "keys",
        "tags",
        F.map_concat(others, said).alias("properties"),
        F.when(stays, F.col("broker_name")).alias("broker_name"),
        F.when(stays, F.col("queue_id")).alias("queue_id"),
        F.when(~stays, sharding_key).alias("sharding_key"),
    )


def next_ranges(messages: DataFrame, messages_max: int) -> dict[str, tuple[int, int]]:
    """Of each queue the first messages: first and last offset. Not many more than ``messages_max`` in all."""
    named = messages.select(_queue_name().alias("queue"), "queue_offset")
    queues = max(1, named.select("queue").distinct().count())
    by_offset = Window.partitionBy("queue").orderBy("queue_offset")
    first = named.withColumn("rank", F.row_number().over(by_offset)).where(
        F.col("rank") <= max(1, messages_max // queues)
    )
    rows = first.groupBy("queue").agg(F.min("queue_offset"), F.max("queue_offset")).collect()
    return {row[0]: (int(row[1]), int(row[2])) for row in rows}


class Sender:
    """:param write: ``write(rows, transaction)`` stores rows by the data source's writer."""

    def __init__(
        self, folder: ReliefFolder, write: Callable[[DataFrame, str], None], reached: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._write = write
        self._reached = reached

    def finish_last(self) -> tuple[ReliefState, int]:
        """Send what an earlier run has begun; the state, and how many messages."""
        base, state = self._folder.latest()
        if state.sending is None:
            return state, 0
        sending = state.sending
        messages = self._messages(state.batches[sending.batch], sending.ranges)
        count = messages.count()
        self._write(rows_to_send(messages, sending.topic), _transaction(state, sending))
        self._reached("sent")
        state = state.finish(count)
        self._folder.commit(base, None, state)
        return state, count

    def send(self, topic: str, messages_max: int) -> tuple[ReliefState, int]:
        """Send the next portion of the oldest batch; the state, and how many messages: 0 if nothing is left.

        Raises :class:`~engine.pipeline.jobs.committed_folder.CommitTaken`: do it again.
        """
        state, count = self.finish_last()
        if count or not state.batches:
            return state, count
        base, state = self._folder.latest()
        number = min(state.batches)
        ranges = next_ranges(self._left(state.batches[number]), messages_max)
        self._folder.commit(base, None, state.begin(number, topic, ranges))
        return self.finish_last()

    def _left(self, batch: MovedBatch) -> DataFrame:
        messages = self._folder.read(batch.files)
        done = F.lit(False)
        for name, offset in batch.sent_up_to.items():
            done = done | ((_queue_name() == name) & (F.col("queue_offset") < offset))
        return messages.where(~done)

    def _messages(self, batch: MovedBatch, ranges: Mapping[str, tuple[int, int]]) -> DataFrame:
        wanted = F.lit(False)
        for name, (first, last) in ranges.items():
            wanted = wanted | ((_queue_name() == name) & F.col("queue_offset").between(first, last))
        return self._folder.read(batch.files).where(wanted)


def _transaction(state: ReliefState, sending: Sending) -> str:
    return f"backlog-relief/{state.identity}/{sending.number}"
