"""``spark.readStream.format("rocketmq")``: micro-batches with exact offsets, resumed from Spark's checkpoint.

Progress is Spark's: nothing is committed to the broker. The planner in the driver's Python process keeps its
connections between calls, since a stream asks for the newest offsets several times per second.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from engine.pipeline.source.batch_reader import wanted_queues
from engine.pipeline.source.cluster import Cluster
from engine.pipeline.source.errors import Briefly, RocketMQError, wrong_option
from engine.pipeline.source.offset_bounds import OffsetBounds
from engine.pipeline.source.offset_range import OffsetRange, RangesPartition, plan_partitions
from engine.pipeline.source.options import Bound, ReadOptions
from engine.pipeline.source.queue_offsets import LATEST, QueueKey, from_json_object, list_queues, to_json_object
from engine.pipeline.source.range_puller import report_loss
from engine.pipeline.source.range_reader import read_ranges
from engine.pipeline.source.read_limit import share_limit
from engine.pipeline.source.read_schema import arrow_schema_of
from engine.pipeline.source.worker_garbage import spare_loaded_modules

_log = logging.getLogger("glassmq.pipeline")

JsonOffsets = dict[str, dict[str, int]]


def make_stream_reader(schema: StructType, options: Mapping[str, str]) -> DataSourceStreamReader:
    """The reader of a stream. Raises :class:`RocketMQError` for wrong options."""
    read_options = ReadOptions.parse(options)
    if read_options.ending is not None:
        name = "endingOffsets" if read_options.ending.timestamp_ms is None else "endingTimestamp"
        raise wrong_option(name, "a stream has no end; use spark.read, or Trigger.AvailableNow")
    return RocketMQStreamReader(read_options, arrow_schema_of(schema))


class RocketMQStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Planned in the driver's Python process; copies of it read in the tasks."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self._options = options
        self._schema = schema
        self._cluster: Cluster | None = None
        #: Where the queues ended when ``Trigger.AvailableNow`` began; None for other triggers.
        self._targets: dict[QueueKey, int] | None = None
        #: Where they ended when the planner looked last.
        self._latest: dict[QueueKey, int] | None = None
        #: What was said last of queues that are gone.
        self._told_gone = ""

    def __getstate__(self) -> dict[str, Any]:
        """What travels to the tasks: not the connections."""
        return self.__dict__ | {"_cluster": None, "_targets": None, "_latest": None}

    @property
    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options.cluster)
        return self._cluster

    # --- offsets -----------------------------------------------------------------------------------------------------

    def initialOffset(self) -> JsonOffsets:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins."""
        options, cluster = self._options, self._connected
        with Briefly():
            queues = wanted_queues(cluster, options)
            bounds = OffsetBounds(cluster, queues, options.consumer_group, fails=options.fail_on_data_loss)
            return to_json_object(bounds.resolve(options.starting or Bound(LATEST), "startingOffsets"))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The option ``maxOffsetsPerTrigger``."""
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: JsonOffsets, limit: ReadLimit) -> JsonOffsets:  # noqa: N802 - Spark's name
        """Where the next micro-batch ends. A queue that is new, or of a topic that is new, is read from 0 on."""
        starts = from_json_object(start)
        with Briefly():
            ends = self._look_at_ends() if self._targets is None else dict(self._targets)
            self._check_starts(starts, ends)
        self._latest = ends
        # Of a queue that ends before its start the messages are gone; the tasks find that out and say so.
        lags = {queue: max(0, end - starts.get(queue, 0)) for queue, end in ends.items()}
        if isinstance(limit, ReadMaxRows):
            lags = share_limit(lags, limit.max_rows)
        return to_json_object(starts | {queue: starts.get(queue, 0) + lag for queue, lag in lags.items()})

    def reportLatestOffset(self) -> JsonOffsets | None:  # noqa: N802 - Spark's name
        """For the query's progress: with it a reader of the progress knows the lag of each queue."""
        return None if self._latest is None else to_json_object(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """From now on the queues end where they end now."""
        with Briefly():
            self._targets = self._look_at_ends()

    def _look_at_ends(self) -> dict[QueueKey, int]:
        return self._connected.max_offsets(self._queues_now())

    def _queues_now(self) -> list[QueueKey]:
        try:
            return wanted_queues(self._connected, self._options)
        except RocketMQError as error:
            # A pattern may match nothing yet.
            if self._options.pattern is None or error.condition != "ROCKETMQ_UNKNOWN_TOPIC":
                raise
            return []

    def _check_starts(self, starts: Mapping[QueueKey, int], ends: Mapping[QueueKey, int]) -> None:
        """What was read and is not told any more, or ends before what was read, must not vanish silently."""
        if missing := sorted(set(starts) - set(ends)):
            self._report_gone(missing)
        else:
            self._told_gone = ""
        for queue, start in starts.items():
            end = ends.get(queue, start)
            if end < start:
                report_loss(
                    self._options.fail_on_data_loss,
                    queue,
                    f"offset {start} is wanted next, the queue ends at {end - 1}",
                )

    def _look_for(self, topics: Sequence[str]) -> None:
        """Learn where the brokers of these topics are, as far as there are any."""
        for topic in topics:
            try:
                self._connected.queues([topic])
            except RocketMQError as error:
                if error.condition != "ROCKETMQ_UNKNOWN_TOPIC":
                    raise

    def _report_gone(self, queues: Sequence[QueueKey]) -> None:
        """The name server does not know these queues, or no master of their broker."""
        text = f"the name server tells nothing of {list_queues(queues)} any more"
        if self._options.fail_on_data_loss:
            raise RocketMQError(
                "ROCKETMQ_BROKER_AWAY", f"{text}; set the option failOnDataLoss to false to go on without"
            )
        # A stream asks several times per second.
        if text != self._told_gone:
            _log.warning("%s; the stream goes on without", text)
        self._told_gone = text

    # --- reading -----------------------------------------------------------------------------------------------------

    def partitions(self, start: JsonOffsets, end: JsonOffsets) -> Sequence[InputPartition]:
        """The tasks of one micro-batch."""
        starts, ends = from_json_object(start), from_json_object(end)
        cluster = self._connected
        ranges = [(queue, starts.get(queue, 0), stop) for queue, stop in ends.items() if stop > starts.get(queue, 0)]
        with Briefly():
            if any(not cluster.knows_master(queue.broker_name) for queue, _, _ in ranges):
                # After a restart Spark repeats the last micro-batch before it asks for anything else.
                self._look_for(sorted({queue.topic for queue, _, _ in ranges}))
            gone = [item for item in ranges if not cluster.knows_master(item[0].broker_name)]
            if gone and self._options.fail_on_data_loss:
                self._report_gone([queue for queue, _, _ in gone])
            for queue, first, stop in gone:
                # Spark has noted the end of this micro-batch: its messages are not asked for again.
                report_loss(False, queue, f"its broker has no master, so offsets {first} to {stop - 1} are never read")
            planned = [
                OffsetRange(queue, cluster.master(queue.broker_name), first, stop)
                for queue, first, stop in ranges
                if cluster.knows_master(queue.broker_name)
            ]
        return plan_partitions(planned, self._options.min_partitions, self._options.max_records_per_partition)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The record batches of one task."""
        spare_loaded_modules()
        if isinstance(partition, RangesPartition):
            with Briefly():
                yield from read_ranges(self._options, partition.ranges, self._schema, self._options.tags)

    def commit(self, end: JsonOffsets) -> None:
        """Spark keeps its progress in its checkpoint; the broker is told nothing."""

    def stop(self) -> None:
        """The query has ended."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
