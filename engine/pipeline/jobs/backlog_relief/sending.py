"""The sender: sends what was moved aside, batch by batch, each queue in order, each message once.

The next sending is committed before it is sent. If a run dies in between, the next run sends exactly the same messages
as a write with the same number, and the writer leaves out what the topic holds already.

A message that no broker accepts (its body is too long even when compressed, or its properties leave no room for
MOVED_FROM) must not block the others: it is recorded, and stays in the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know
from pyspark.sql.types import StringType, StructField, StructType

from engine.pipeline.jobs.backlog_relief.relief_folder import MovedBatch, ReliefFolder, ReliefState
from engine.pipeline.source.writer.writer_messages import find_refusals
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES, PROPERTY_RETRY_TOPIC

#: Original place of a message: "topic broker:queue offset".
PROPERTY_MOVED_FROM = "MOVED_FROM"
#: The key by which the sender chose the queue, if it did (RocketMQ: ``PROPERTY_SHARDING_KEY``).
PROPERTY_SHARDING_KEY = "__SHARDINGKEY"
#: Partitions of a sending. Fixed, because the name of a transaction contains the number of the partition.
PARTITIONS = 4
#: More than the properties that are added to a message need: its original place, topic, unique id and transaction.
_SAID_BYTES = 1_024


def _queue_name() -> Column:
    return F.concat(F.col("topic"), F.lit(" "), F.col("broker_name"), F.lit(":"), F.col("queue_id").cast("string"))


def _is_within(ranges: Mapping[str, tuple[int, int]]) -> Column:
    """Return whether a message is in one of the ``ranges``: queue -> first and last offset."""
    found = F.lit(False)
    for name, (first, last) in ranges.items():
        found = found | ((_queue_name() == name) & F.col("queue_offset").between(first, last))
    return found


def rows_to_send(messages: DataFrame, topic: str, queues: Collection[str]) -> DataFrame:
    """Return messages as rows for the writer, in the order in which they were stored, with the column ``moved_from``.

    In their own topic they return to their own queues. In another topic, or if their queue is not among the writable
    ``queues``, they are spread by their sender's key, else by their original queue, so that their order is kept.
    """
    stays = (F.col("topic") == topic) & F.col("queue").isin(*queues)
    moved_from = F.concat(F.col("queue"), F.lit(" "), F.col("queue_offset").cast("string"))
    # The group's listeners see messages from their retry topic under RETRY_TOPIC; elsewhere the writer drops it.
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
        moved_from.alias("moved_from"),
    )


def takes_a_closer_look(max_message_bytes: int) -> Column:
    """Return whether lengths alone do not decide if a broker accepts a message of :func:`rows_to_send`."""
    names, values = F.map_keys("properties"), F.map_values("properties")
    properties_bytes = F.octet_length(F.concat_ws("", names, values)) + 2 * F.size("properties")
    is_long = properties_bytes > PROPERTIES_MAX_BYTES - _SAID_BYTES
    return is_long | (F.octet_length("body") > max_message_bytes)


def next_ranges(messages: DataFrame, messages_max: int) -> dict[str, tuple[int, int]]:
    """Return first and last offset of the next messages of each queue, not many more than ``messages_max`` in all."""
    named = messages.select(_queue_name().alias("queue"), "queue_offset")
    queues = max(1, named.select("queue").distinct().count())
    by_offset = Window.partitionBy("queue").orderBy("queue_offset")
    first = named.withColumn("rank", F.row_number().over(by_offset)).where(
        F.col("rank") <= max(1, messages_max // queues)
    )
    rows = first.groupBy("queue").agg(F.min("queue_offset"), F.max("queue_offset")).collect()
    return {row[0]: (int(row[1]), int(row[2])) for row in rows}


def refused_rows(not_sent: DataFrame, most: int) -> list[list[str | int]]:
    """Return rows for the table of messages that were not sent: which message, why, and its length."""
    is_body = F.col("refusal").contains("'body'")
    properties = F.concat_ws("", F.map_keys("properties"), F.map_values("properties"))
    why = F.when(is_body, "body too long").otherwise("properties too long")
    length = F.when(is_body, F.octet_length("body")).otherwise(F.octet_length(properties))
    return [list(row) for row in not_sent.select("moved_from", why, length).orderBy("moved_from").limit(most).collect()]


@dataclass(frozen=True, slots=True)
class ReliefSender:
    """Send messages that were moved aside.

    :ivar options: options of the data source's writer: which cluster, and what its brokers accept.
    :ivar queues: returns the names of a topic's writable queues.
    :ivar reached: called at each step with its name; tests crash there.
    """

    folder: ReliefFolder
    options: Mapping[str, str]
    queues: Callable[[str], Collection[str]]
    reached: Callable[[str], None]

    def finish_last(self) -> tuple[ReliefState, int]:
        """Finish the sending that an earlier run began; return the state and the number of messages."""
        base, state = self.folder.latest()
        if state.sending is None:
            return state, 0
        sending = state.sending
        messages = self.folder.read(state.batches[sending.batch].files).where(_is_within(sending.ranges))
        rows = rows_to_send(messages, sending.topic, self.queues(sending.topic))
        options = {
            **self.options,
            "copiesMessages": "true",
            "transactionId": f"backlog-relief/{state.identity}",
            "transactionNumber": str(sending.number),
        }
        limit = WriteOptions.parse(options).max_message_bytes
        count, may_be_refused = messages.agg(F.count("*"), F.bool_or(takes_a_closer_look(limit))).first() or (0, False)
        not_sent = 0
        if may_be_refused:
            rows, not_sent = self._set_aside(rows, options, sending.number)
        rows.drop("moved_from").write.format("rocketmq").options(**options).mode("append").save()
        self.reached("sent")
        state = state.finish(count - not_sent, not_sent)
        self.folder.commit(base, None, state)
        return state, count

    def _set_aside(self, rows: DataFrame, options: Mapping[str, str], number: int) -> tuple[DataFrame, int]:
        """Return the rows that a broker accepts, and the number of others, which are recorded."""
        schema = StructType([*rows.schema.fields, StructField("refusal", StringType())])
        checked = rows.mapInArrow(find_refusals(WriteOptions.parse(options)), schema)
        refused = checked.where(F.col("refusal").isNotNull()).select(
            "moved_from", "refusal", "body", "keys", "tags", "properties"
        )
        not_sent = self.folder.keep_not_sent(refused, number)
        return checked.where(F.col("refusal").isNull()).drop("refusal"), not_sent

    def send(self, topic: str, messages_max: int) -> tuple[ReliefState, int]:
        """Send the next portion of the oldest batch; return the state and the number of messages, 0 if nothing is left.

        Raises :class:`~engine.pipeline.jobs.committed_folder.CommitTaken`: call it again.
        """
        state, count = self.finish_last()
        if count or not state.batches:
            return state, count
        base, state = self.folder.latest()
        number = min(state.batches)
        ranges = next_ranges(self._left(state.batches[number]), messages_max)
        self.folder.commit(base, None, state.begin(number, topic, ranges))
        return self.finish_last()

    def _left(self, batch: MovedBatch) -> DataFrame:
        done = {name: (0, offset - 1) for name, offset in batch.sent_up_to.items()}
        return self.folder.read(batch.files).where(~_is_within(done))
